"""Time calls: clocks, sampling, proof of cold buffers, controls."""
