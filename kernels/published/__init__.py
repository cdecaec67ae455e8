"""Reproduce published kernels: those of the write-ups, and torch's own."""
