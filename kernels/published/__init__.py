"""Kernels of the write-ups and torch's own, as they were published."""
