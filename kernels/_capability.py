"""Compute capabilities that kernels need: CUDA C++ Programming Guide, "Compute Capabilities"."""

OLDEST = (8, 0)  # bfloat16; Triton compiles for none before it
CLUSTERS_SINCE = (9, 0)  # blocks of a cluster, and the copy engine
