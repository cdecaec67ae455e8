"""Define what every kernel relies on: dtypes, limits of GPUs, and the names of configs.

This module does not import torch, so that a sweep can be planned on a machine without it.
"""

DTYPES = {"float32": 4, "float16": 2, "bfloat16": 2}  # torch's name -> bytes per element

# Compute capabilities: CUDA C++ Programming Guide, "Compute Capabilities".
MIN_CAPABILITY = (8, 0)  # bfloat16; Triton supports nothing older
CLUSTER_CAPABILITY = (9, 0)  # thread block clusters and bulk copies (TMA)

CONFIG_MARK = "__"  # separates the file's stem from the config in a variant's name

WARP = 32  # threads per warp; kWarp in types.cuh
VEC_BYTES = 16  # bytes of the widest load or store
LONGEST_ROW = 2**30  # elements; kernels round up to whole tiles and count those in 32 bits
MAX_CACHED_BYTES = 16 * 2**20  # larger outputs are stored with the hint to leave L2 first
MAX_BLOCKS = 2**31 - 1  # thread blocks in the x dimension of a grid, at most


def split_config(name: str) -> tuple[str, str]:
    """Return (the file's stem, the config) of a variant's name; the config is "" if it has none."""
    stem, _, config = name.partition(CONFIG_MARK)
    return stem, config


def max_cluster_blocks(major: int) -> int:
    """Return the largest cluster size, in blocks, on GPUs of this major compute capability.

    Source: CUDA C++ Programming Guide, "Thread Block Clusters".
    """
    return {8: 1, 9: 16, 10: 16}.get(major, 8)
