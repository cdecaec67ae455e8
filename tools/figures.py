"""Copy the figures of the documents from results/recorded, or print links to those of every GPU.

`make docs` calls `python -m tools.figures copy`, and puts `links` into docs/gallery.md.
"""

import shutil

from measure import ROOT
from tools.inserts import print_block

DRAWN, SHOWN = ROOT / "results/recorded/figures", ROOT / "docs/figures"
SHARED = ("all/hero", "all/gpus_float32_online_softmax")
SHARED += ("a100/float32_online_softmax_time", "a100/float32_online_softmax_throughput")
OF_GPU = ("map", "float32_fused_softmax_throughput", "float32_online_softmax_speedup")
OF_GPU += ("float32_frontier_throughput", "float32_random_profile", "float32_oneflow_published")


def gpus() -> list[str]:
    """Return the recorded GPUs."""
    return sorted(path.name for path in (ROOT / "data/recorded").iterdir())


def copy() -> str:
    """Copy every figure of the documents that is drawn, and delete those of GPUs that is not."""
    of_gpus = (f"{gpu}/{kind}" for gpu in gpus() for kind in OF_GPU)
    names = [*SHARED, *(name for name in of_gpus if (DRAWN / f"{name}.png").exists())]
    for name in names:
        target = SHOWN / f"{name}.png"
        target.parent.mkdir(exist_ok=True)
        shutil.copyfile(DRAWN / f"{name}.png", target)
    for path in SHOWN.glob("*/*.png"):
        if f"{path.parent.name}/{path.stem}" not in names:
            path.unlink()
    return f"{len(names)} figures copied"


def links() -> str:
    """Return the figures of each recorded GPU for docs/gallery.md, a line for each kind."""
    lines = []
    for kind in OF_GPU:
        there = [gpu for gpu in gpus() if (SHOWN / gpu / f"{kind}.png").exists()]
        title = kind.replace("_", " ")
        lines.append(
            " ".join(f"![{title}, {gpu.upper()}](figures/{gpu}/{kind}.png)" for gpu in there)
        )
    return "\n".join(filter(None, lines))


if __name__ == "__main__":
    print_block({"copy": copy, "links": links})
