"""The GPU: which are here, its lock, telemetry, and what compilers made of a kernel."""
