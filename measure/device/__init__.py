"""Find, lock and watch the GPU; read the figures of compiled kernels."""
