"""Draw shapes at random, so that kernels meet sizes that nobody tuned them for.

M and N are independent and log-uniform; a pair counts where M·N is within its bounds, too. The
dtypes take turns. From turn to turn N is odd, even, or a multiple of 8, which is 16 bytes in every
dtype. The draw follows from the entry, the dtypes and the seed. Every machine draws the same:
Python keeps the numbers of `random.Random.random`, and decimal rounds logarithms correctly.
"""

import random
from collections.abc import Sequence
from decimal import Decimal

from .validate import ConfigError

KINDS_OF_N = ((2, 1), (2, 0), (8, 0))  # (divisor, remainder): odd, even, words of 16 bytes
MAX_DRAWS = 10_000  # for one shape; sweeps/random.yaml needs 2 on average


def draw(entry: dict, dtypes: Sequence[str], seed: int) -> list[tuple[str, int, int]]:
    """Return `entry["random"]` different (dtype, M, N) within the bounds of the entry.

    Raises ConfigError if the bounds do not have so many.
    """
    bounds = {name: (entry[name]["from"], entry[name]["to"]) for name in ("M", "N", "elements")}
    generator, shapes = random.Random(seed), {}
    for number in range(entry["random"]):
        turn, place = divmod(number, len(dtypes))
        divisor, remainder = KINDS_OF_N[turn % len(KINDS_OF_N)]
        for _ in range(MAX_DRAWS):
            M = _log_uniform(generator, *bounds["M"])
            N = _log_uniform(generator, *bounds["N"]) // divisor * divisor + remainder
            shape = dtypes[place], M, N
            inside = _within(N, *bounds["N"]) and _within(M * N, *bounds["elements"])
            if inside and shape not in shapes:
                break
        else:
            given = ", ".join(f"{name} from {a} to {b}" for name, (a, b) in bounds.items())
            raise ConfigError(
                f"random: only {number} of {entry['random']} shapes found with {given}; "
                "draw fewer, or widen the bounds"
            )
        shapes[shape] = None
    return list(shapes)


def _log_uniform(generator: random.Random, low: int, high: int) -> int:
    """Return low … high, each x with the probability of [x, x + 1) of a log-uniform number."""
    ratio = Decimal(high + 1) / low
    return int(low * (Decimal(generator.random()) * ratio.ln()).exp())


def _within(value: int, low: int, high: int) -> bool:
    return low <= value <= high
