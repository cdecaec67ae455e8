"""What is timed: fifteen matrices, two kernels, float32, uniform input."""

from measure.point import Point

VARIANTS = ("torch_softmax", "triton_row")

# (M, N), by size, for kernels of about 3 µs to 3 ms on an H200, where a copy moves 4.1 TB/s: each
# takes about 1.6 times as long as the one before, and every third of them has every N. The largest
# reads and writes 6.4 GB each; its elements still fit 32-bit indices.
SHAPES = (
    (1024, 256),
    (1024, 1024),
    (1536, 2048),
    (1280, 4096),
    (1024, 8192),
    (65536, 256),
    (32768, 1024),
    (24576, 2048),
    (20480, 4096),
    (16384, 8192),
    (819200, 256),
    (327680, 1024),
    (262144, 2048),
    (229376, 4096),
    (196608, 8192),
)


def points(gpu: str, most: int | None = None) -> list[Point]:
    """Every point, the smallest matrix first; the first ``most`` of them, if given."""
    found = [
        Point(gpu=gpu, dtype="float32", M=rows, N=cols, variant=variant)
        for rows, cols in SHAPES
        for variant in VARIANTS
    ]
    return found[:most]
