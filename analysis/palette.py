"""Colour and marker of a variant: the same in every figure, and safe for the colour-blind.

This project's kernels have colours of Okabe and Ito (https://jfly.uni-koeln.de/color/), and indigo
and wine of Paul Tol (https://sronpersonalpages.nl/~pault/). Each other project has one to itself,
chosen to be far from those of its rivals for people without red or without green cones. Variants of
one family share a colour and differ in the marker.
"""

import hashlib
from collections.abc import Iterable, Mapping
from typing import NamedTuple

BLACK, GREY, INDIGO = "#000000", "#7f7f7f", "#332288"
ORANGE, SKY, GREEN = "#E69F00", "#56B4E9", "#009E73"
BLUE, VERMILION, PURPLE, WINE = "#0072B2", "#D55E00", "#CC79A7", "#882255"


class Style(NamedTuple):
    """matplotlib's colour and marker of one variant."""

    colour: str
    marker: str


_FAMILIES = (
    (BLACK, "torch_softmax o"),
    (GREY, "torch_naive s, torch_jit ^"),
    (ORANGE, "triton_fused D"),
    (SKY, "triton_tiled v, triton_tiled_nocache <"),
    (VERMILION, "triton_online ^, triton_online_nocache >"),
    (GREEN, "triton_persistent P"),
    (PURPLE, "triton_row s"),
    (BLUE, "cuda_oneflow X, cuda_oneflow_warp s, cuda_oneflow_smem ^, cuda_oneflow_uncached v"),
    (WINE, "cuda_fastertransformer d, cuda_fastertransformer_v1 <, cuda_fastertransformer_v2 >"),
    (INDIGO, "frontier D, frontier_short s, frontier_rows ^, frontier_spread *"),
    (INDIGO, "frontier_packed p, frontier_staged v, frontier_triton <, frontier_logits d"),
    ("#b58a00", "peer_quack p, peer_quack_logits d, peer_quack_return_dx h"),
    ("#1291a8", "peer_liger s, peer_liger_logits D"),
    ("#b05a42", "peer_compile ^, peer_compile__max v, peer_compile_logits >"),
    ("#e0218a", "peer_helion <, peer_helion__pretuned >, peer_helion__max h"),
    ("#4aa06a", "peer_flaggems D"),
    ("#5695d9", "peer_flashinfer X"),
    ("#8062dd", "peer_tileops P"),
    ("#bc3bdc", "peer_trl X"),
    (INDIGO, "cuda_backward X"),
    (SKY, "triton_backward ^"),
)
KNOWN = {
    name: Style(colour, marker)
    for colour, names in _FAMILIES
    for name, marker in (words.split() for words in names.split(", "))
}
# Styles of any other name: no known variant has them, and no other project its colour.
_COLOURS = (ORANGE, SKY, GREEN, BLUE, VERMILION, PURPLE, WINE, INDIGO)
_EVERY = (Style(colour, marker) for marker in "DvPh<>pos^X" for colour in _COLOURS)
OTHERS = [style for style in _EVERY if style not in KNOWN.values()]
# Styles of GPUs, where a line is a GPU; published tables come first.
GPUS = (Style(BLACK, "o"), Style(BLUE, "s"), Style(VERMILION, "^"), Style(GREEN, "D"))
GPUS += (Style(PURPLE, "P"), Style(ORANGE, "v"))


def styles(variants: Iterable[str], baselines: Iterable[str] = ()) -> dict[str, Style]:
    """Return a style for each of `variants`, all different as long as OTHERS has enough.

    `baselines` look like torch_softmax: torch's own functions, of other operations. That of any
    other unknown variant depends on its name alone. Where two unknown names have one style,
    the second by alphabet takes the next free style.
    """
    fixed = dict.fromkeys(baselines, KNOWN["torch_softmax"]) | KNOWN
    chosen: dict[str, Style] = {}
    for name in sorted(set(variants)):
        place = int(hashlib.sha256(name.encode()).hexdigest()[:16], 16) % len(OTHERS)
        free = [look for look in OTHERS[place:] + OTHERS[:place] if look not in chosen.values()]
        chosen[name] = fixed.get(name) or (free or OTHERS)[0]
    return chosen


def order(variant: str) -> tuple[int, str]:
    """Return a sort key: known variants in the order above, then the others by name."""
    return (list(KNOWN).index(variant) if variant in KNOWN else len(KNOWN), variant)


def most_first(values: Mapping[str, float]) -> list[str]:
    """Return variants by their values, the largest first, and equal ones in `order`."""
    values = dict(values)
    return sorted(values, key=lambda name: (-values[name], order(name)))
