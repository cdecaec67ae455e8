"""Find, open, lock and watch the GPU."""
