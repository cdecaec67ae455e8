"""Colour and marker of a variant: the same in every figure, and safe for the colour-blind.

Colours are those of Okabe and Ito (https://jfly.uni-koeln.de/color/), grey, and indigo, wine and
olive of Paul Tol (https://sronpersonalpages.nl/~pault/). Okabe and Ito's yellow is left out: on
white it is too pale. Variants of one family share a colour and differ in the marker.
"""

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass

BLACK, GREY = "#000000", "#7f7f7f"
ORANGE, SKY, GREEN = "#E69F00", "#56B4E9", "#009E73"
BLUE, VERMILION, PURPLE, WINE = "#0072B2", "#D55E00", "#CC79A7", "#882255"
INDIGO, OLIVE = "#332288", "#999933"


@dataclass(frozen=True)
class Style:
    """matplotlib's colour and marker of one variant."""

    colour: str
    marker: str


# The first variant of each family has a marker that the first variants of other families lack.
KNOWN = {
    "torch_softmax": Style(BLACK, "o"),
    "torch_naive": Style(GREY, "s"),
    "torch_jit": Style(GREY, "^"),
    "triton_fused": Style(ORANGE, "D"),
    "triton_tiled": Style(SKY, "v"),
    "triton_tiled_nocache": Style(SKY, "<"),
    "triton_online": Style(VERMILION, "^"),
    "triton_online_nocache": Style(VERMILION, ">"),
    "triton_persistent": Style(GREEN, "P"),
    "triton_row": Style(PURPLE, "s"),
    "cuda_oneflow": Style(BLUE, "X"),
    "cuda_oneflow_warp": Style(BLUE, "s"),
    "cuda_oneflow_smem": Style(BLUE, "^"),
    "cuda_oneflow_uncached": Style(BLUE, "v"),
    "cuda_fastertransformer": Style(WINE, "d"),
    "cuda_fastertransformer_v1": Style(WINE, "<"),
    "cuda_fastertransformer_v2": Style(WINE, ">"),
    "frontier": Style(INDIGO, "*"),
    "frontier_short": Style(INDIGO, "s"),
    "frontier_rows": Style(INDIGO, "^"),
    "frontier_spread": Style(INDIGO, "D"),
    "frontier_packed": Style(INDIGO, "p"),
    "frontier_staged": Style(INDIGO, "v"),
    "peer_quack": Style(OLIVE, "p"),
    "peer_liger": Style(OLIVE, "s"),
    "peer_compile": Style(OLIVE, "^"),
    "peer_compile__max": Style(OLIVE, "v"),
    "peer_helion": Style(OLIVE, "<"),
    "peer_helion__pretuned": Style(OLIVE, ">"),
    "peer_flaggems": Style(OLIVE, "D"),
    "peer_flashinfer": Style(OLIVE, "X"),
}

# Styles of any other name: those that no known variant has.
_COLOURS = (ORANGE, SKY, GREEN, BLUE, VERMILION, PURPLE, WINE, INDIGO, OLIVE)
_MARKERS = ("D", "v", "P", "h", "<", ">", "p", "o", "s", "^", "X")
_EVERY = [Style(colour, marker) for marker in _MARKERS for colour in _COLOURS]
OTHERS = [style for style in _EVERY if style not in KNOWN.values()]


def style(variant: str) -> Style:
    """Return the style of `variant`; that of an unknown variant depends on its name alone."""
    return KNOWN.get(variant) or OTHERS[_place(variant)]


def styles(variants: Iterable[str]) -> dict[str, Style]:
    """Return a style for each of `variants`, all different as long as OTHERS has enough.

    Where two unknown names have one style, the second by alphabet takes the next free style.
    """
    variants = set(variants)
    chosen = {variant: KNOWN[variant] for variant in variants & set(KNOWN)}
    taken: set[int] = set()
    for variant in sorted(variants - set(KNOWN)):
        place = _place(variant)
        while place in taken and len(taken) < len(OTHERS):
            place = (place + 1) % len(OTHERS)
        taken.add(place)
        chosen[variant] = OTHERS[place]
    return chosen


def order(variant: str) -> tuple[int, str]:
    """Return a sort key: known variants in the order above, then the others by name."""
    return (list(KNOWN).index(variant) if variant in KNOWN else len(KNOWN), variant)


def _place(variant: str) -> int:
    digest = hashlib.sha256(variant.encode()).digest()
    return int.from_bytes(digest[:8], "big") % len(OTHERS)
