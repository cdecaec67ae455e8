"""A variant looks the same everywhere, and unlike any other known one."""

import itertools
import math

import pytest

from analysis import palette
from analysis.html.data import ON_DARK, ON_WHITE
from tests.analysis import synthetic


def test_known_variants_have_different_looks():
    assert len(set(palette.KNOWN.values())) == len(palette.KNOWN)
    assert set(synthetic.VARIANTS) <= set(palette.KNOWN)


def test_an_unknown_variant_never_looks_like_a_known_one():
    known = set(palette.KNOWN.values())
    assert all(palette.style(f"mine_{i}") not in known for i in range(500))


def test_thirty_unknown_variants_are_all_different_and_unlike_known_ones():
    names = [f"mine_{i}" for i in range(30)]
    found = palette.styles([*names, *palette.KNOWN])
    assert len(set(found.values())) == len(found)
    assert {name: found[name] for name in palette.KNOWN} == palette.KNOWN


COLOURS = sorted({each.colour for each in (*palette.KNOWN.values(), *palette.OTHERS)})
# The least distance of two colours in OKLab: grey and purple have 0.118, orange and olive 0.124.
# Two that were taken for each other had 0.039.
LEAST = 0.1


def oklab(colour: str) -> tuple[float, ...]:
    """Lightness and two axes of colour, in which distances are as they are seen.

    After https://bottosson.github.io/posts/oklab/
    """
    parts = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    linear = [p / 12.92 if p <= 0.04045 else ((p + 0.055) / 1.055) ** 2.4 for p in parts]
    cones = [sum(w * p for w, p in zip(row, linear, strict=True)) ** (1 / 3) for row in CONES]
    return tuple(sum(w * c for w, c in zip(row, cones, strict=True)) for row in AXES)


CONES = (
    (0.4122214708, 0.5363325363, 0.0514459929),
    (0.2119034982, 0.6806995451, 0.1073969566),
    (0.0883024619, 0.2817188376, 0.6299787005),
)
AXES = (
    (0.2104542553, 0.7936177850, -0.0040720468),
    (1.9779984951, -2.4285922050, 0.4505937099),
    (0.0259040371, 0.7827717662, -0.8086757660),
)


@pytest.mark.parametrize("drawn", [{}, ON_WHITE, ON_DARK], ids=["figure", "white", "dark"])
def test_any_two_colours_are_clearly_apart(drawn):
    for a, b in itertools.combinations(COLOURS, 2):
        one, other = drawn.get(a, a), drawn.get(b, b)
        assert math.dist(oklab(one), oklab(other)) > LEAST, f"{a} and {b}, drawn {one} and {other}"
