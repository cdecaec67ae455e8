"""Figures of a GPU (map, time, throughput, speed-up, profile, published), and of all GPUs."""
