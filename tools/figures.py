"""Copy the figures of the documents from results/figures, or print links to those of every GPU.

`make docs` calls `python -m tools.figures copy`, and puts `links` into docs/gallery.md.
"""

import shutil
from pathlib import Path

from measure import ROOT
from tools.inserts import print_block

DRAWN, SHOWN = ROOT / "results/figures", ROOT / "docs/figures"
SHARED = ("hero", "gpus_float32_online_softmax")
SHARED += ("a100/float32_online_softmax_time", "a100/float32_online_softmax_throughput")
OF_GPU = ("map", "float32_fused_softmax_throughput", "float32_online_softmax_speedup")
OF_GPU += ("float32_random_profile", "float32_oneflow_published")


def gpus() -> list[str]:
    """Return the recorded GPUs."""
    return sorted(path.name for path in (ROOT / "data/recorded").iterdir())


def copy() -> str:
    """Copy every figure of the documents that is drawn; delete the figures of GPUs before."""
    for path in SHOWN.glob("*/*.png"):
        path.unlink()
    of_gpus = (Path(gpu, kind) for gpu in gpus() for kind in OF_GPU)
    there = (name for name in of_gpus if (DRAWN / f"{name}.png").exists())
    names = [Path(name) for name in (*SHARED, *there)]
    for name in names:
        (SHOWN / name).parent.mkdir(exist_ok=True)
        shutil.copyfile(DRAWN / f"{name}.png", SHOWN / f"{name}.png")
    return f"{len(names)} figures copied"


def links() -> str:
    """Return the figures of each recorded GPU, for docs/gallery.md."""
    return "\n".join(
        f"![{kind.replace('_', ' ')}, {gpu.upper()}](figures/{gpu}/{kind}.png)"
        for kind in OF_GPU
        for gpu in gpus()
        if (SHOWN / gpu / f"{kind}.png").exists()
    )


if __name__ == "__main__":
    print_block({"copy": copy, "links": links})
