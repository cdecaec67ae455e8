"""Define what every kernel relies on: dtypes, the limits of GPUs, and the name of a config.

This module imports no torch, so that a sweep can be planned on a machine without it.
"""

DTYPES = {"float32": 4, "float16": 2, "bfloat16": 2}  # torch's name -> bytes of an element

# Compute capabilities: CUDA C++ Programming Guide, "Compute Capabilities".
MIN_CAPABILITY = (8, 0)  # bfloat16; Triton supports no older one
CLUSTER_CAPABILITY = (9, 0)  # thread block clusters and bulk copies (TMA)

CONFIG_MARK = "__"  # Mark in a variant's name, between its file's stem and a config

WARP = 32  # threads of a warp; kWarp in types.cuh
VEC_BYTES = 16  # widest load or store
LONGEST_ROW = 2**30  # elements: kernels round up to whole tiles, and count these in 32 bits
MAX_CACHED_BYTES = 16 * 2**20  # largest output whose lines L2 keeps like any others
MAX_BLOCKS = 2**31 - 1  # blocks of a launch in x, at most


def split_config(name: str) -> tuple[str, str]:
    """Return (stem of the file, config) of a variant's name; the config is "" if it has none."""
    stem, _, config = name.partition(CONFIG_MARK)
    return stem, config


def max_cluster_blocks(major: int) -> int:
    """Return the most blocks of a cluster on GPUs of this major compute capability.

    Source: CUDA C++ Programming Guide, "Thread Block Clusters".
    """
    return {8: 1, 9: 16, 10: 16}.get(major, 8)
