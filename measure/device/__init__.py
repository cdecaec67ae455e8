"""The GPU: discovery, lock, telemetry, and figures of compiled kernels."""
