"""Colour and marker of a variant: the same in every figure, and safe for the colour-blind.

Colours are those of Okabe and Ito (https://jfly.uni-koeln.de/color/), without their yellow, which
is too pale for a line on white, plus grey and a wine red. Relatives share a colour and differ in
the marker.
"""

import hashlib
from dataclasses import dataclass

BLACK, GREY = "#000000", "#7f7f7f"
ORANGE, SKY, GREEN = "#E69F00", "#56B4E9", "#009E73"
BLUE, VERMILION, PURPLE, WINE = "#0072B2", "#D55E00", "#CC79A7", "#882255"


@dataclass(frozen=True)
class Style:
    """matplotlib's colour and marker of one variant."""

    colour: str
    marker: str


KNOWN = {
    "torch_softmax": Style(BLACK, "o"),
    "torch_naive": Style(GREY, "s"),
    "torch_jit": Style(GREY, "^"),
    "triton_fused": Style(ORANGE, "o"),
    "triton_tiled": Style(SKY, "o"),
    "triton_tiled_nocache": Style(SKY, "X"),
    "triton_online": Style(VERMILION, "o"),
    "triton_online_nocache": Style(VERMILION, "X"),
    "triton_persistent": Style(GREEN, "o"),
    "triton_row": Style(PURPLE, "o"),
    "cuda_oneflow": Style(BLUE, "o"),
    "cuda_oneflow_warp": Style(BLUE, "s"),
    "cuda_oneflow_smem": Style(BLUE, "^"),
    "cuda_oneflow_uncached": Style(BLUE, "X"),
    "cuda_fastertransformer": Style(WINE, "o"),
    "cuda_fastertransformer_v1": Style(WINE, "s"),
    "cuda_fastertransformer_v2": Style(WINE, "^"),
    "frontier": Style(GREEN, "*"),
}

# For any other name: markers that no known variant has, so that none is mistaken for one.
_COLOURS = (ORANGE, SKY, GREEN, BLUE, VERMILION, PURPLE, WINE)
_MARKERS = ("D", "v", "P", "h", "<", ">", "p")


def style(variant: str) -> Style:
    """The style of `variant`; of an unknown one it depends on the name alone.

    Two unknown names may share a style (49 there are); lines are labelled directly, so the
    figure stays readable.
    """
    if variant in KNOWN:
        return KNOWN[variant]
    digest = int.from_bytes(hashlib.sha256(variant.encode()).digest()[:8], "big")
    colour, marker = digest % len(_COLOURS), digest // len(_COLOURS) % len(_MARKERS)
    return Style(_COLOURS[colour], _MARKERS[marker])


def order(variant: str) -> tuple[int, str]:
    """Sort key: known variants in the order above, then the others by name."""
    return (list(KNOWN).index(variant) if variant in KNOWN else len(KNOWN), variant)
