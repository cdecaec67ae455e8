"""Timing: clocks, buffers out of cache, controls."""
