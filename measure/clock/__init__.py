"""Time calls: clocks, buffers outside the cache, controls."""
