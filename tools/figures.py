"""Draw and copy the figures of the documents, or print them for docs/gallery.md.

`make docs` calls `python -m tools.figures copy`, which takes those of SHOWN_FIGURES from
results/recorded and draws those of docs/explanation/why_kernels_differ.md. It puts `gallery` into
docs/gallery.md.
"""

from PIL import Image, PngImagePlugin

from analysis.figures import style
from measure import ROOT
from tools import why
from tools.inserts import print_block

DRAWN, SHOWN = ROOT / "results/recorded/figures", ROOT / "docs/figures"
# Figure -> what it shows.
SHOWN_FIGURES = {
    "all/hero": "Torch, `frontier` and its rivals, at shapes of real models among others.",
    "all/softmax_grid": (
        "The usual winner at sizes of similar M and N, and its lead over the next kernel."
    ),
    "h200/random_profile": (
        "The share of random shapes at which each kernel is within a given slowdown of the "
        "fastest: of all, and of those that the runner-up runs."
    ),
    "h200/random_logits_profile": "The same for log-probabilities of tokens.",
    "all/float32_online_softmax_throughput": (
        "The sizes of an article, here and on its A100, as shares of a peak."
    ),
    "all/float32_online_softmax_gain": "What kernels gain over torch there, as a ratio and in µs.",
    "h200/float32_online_softmax_speedup": (
        "Every kernel of that sweep at those sizes; QuACK and Liger are in others."
    ),
    "h200/bfloat16_workloads_logits_speedup": (
        "Token log-probabilities and losses at shapes of real models, on the H200."
    ),
    "a100/float32_online_softmax_time": "The times that the article publishes.",
    "a100/float32_online_softmax_throughput": "The same times as throughput.",
    "all/float32_fused_softmax_throughput": "The sizes of the fused-softmax articles.",
    "all/float32_oneflow_published": "OneFlow against FasterTransformer.",
    "h200/float32_frontier_throughput": "`frontier` beside torch, with equal bytes at each N.",
    "all/bfloat16_frontier_gain": "What `frontier` gains over torch there, in bfloat16.",
}
# Figures of studies/data, which no longer change: `git show 1dde8cd4:studies/figures.py` drew them.
FROZEN_FIGURES = {
    "side_by_side": "Tools that time kernels, on the same thirty points.",
    "aa_bias": "The steps after which torch agrees with itself.",
}


def copy() -> str:
    """Draw and copy the figures of the documents; delete those that none shows."""
    for name, draw in why.FIGURES.items():
        style.save(draw(), DRAWN / "why" / name)
    names = [*SHOWN_FIGURES, *(f"why/{name}" for name in why.FIGURES)]
    for name in names:
        copy_figure(name)
    for path in SHOWN.glob("*/*.png"):
        if f"{path.parent.name}/{path.stem}" not in names:
            path.unlink()
    return f"{len(names)} figures copied"


def copy_figure(name: str) -> None:
    """Copy a figure, reduced to 256 colours, with its title."""
    target = SHOWN / f"{name}.png"
    target.parent.mkdir(exist_ok=True)
    with Image.open(DRAWN / f"{name}.png") as drawn:
        title = PngImagePlugin.PngInfo()
        title.add_text("Title", drawn.text["Title"])
        # MAXCOVERAGE keeps rare colours of a scale, which a choice by frequency would merge;
        # one step of k-means moves them to where the pixels are.
        method = Image.Quantize.MAXCOVERAGE
        copied = drawn.convert("RGB").quantize(256, method, kmeans=1, dither=Image.Dither.NONE)
        copied.save(target, dpi=drawn.info["dpi"], optimize=True, pnginfo=title)


def gallery() -> str:
    """Return each figure below its finding, which is also the text for those who cannot see it."""
    blocks = []
    for name, words in (SHOWN_FIGURES | FROZEN_FIGURES).items():
        with Image.open(SHOWN / f"{name}.png") as shown:
            title = shown.text["Title"]
        blocks.append(f"**{title}.** {words}\n\n![{title}](figures/{name}.png)")
    return "\n\n".join(blocks)


if __name__ == "__main__":
    print_block({"copy": copy, "gallery": gallery})
