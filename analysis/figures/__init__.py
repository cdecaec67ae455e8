"""Figures of one gpu, dtype and sweep (time, throughput, speed-up, published), and the overview."""
