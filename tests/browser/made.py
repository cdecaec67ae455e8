"""Pages to open: written from synthetic rows, as the pipeline writes results/report.html."""

from pathlib import Path

import pandas as pd
from PIL import Image

from analysis import claims, frame, published, ranking
from analysis.html import document
from analysis.merge import mark_ranked
from analysis.report.document import Inputs
from tests.analysis import synthetic

REPOSITORY = Path(__file__).resolve().parents[2]
# What a CSV file must not be able to do to the page.
MARKUP = "</script><script>window.evil = 1</script><img src=x onerror='window.evil = 1'>"
NAME = "**A** ![a](http://example.com/a.png) [b](http://example.com/b) <i>c</i>"


def rows() -> list[dict[str, str]]:
    """Two GPUs, two operations, two dtypes, and a row that failed with a hostile message."""
    found = synthetic.sweep_rows()
    found += synthetic.sweep_rows([256, 4096, 131072], dtype="float16")
    some = ["torch_softmax", "triton_row"]
    found += synthetic.sweep_rows([512, 5000], some, op="log_softmax", M=2048)
    found += synthetic.sweep_rows([512, 65536], synthetic.VARIANTS, gpu="a100", gpu_name=NAME)
    point = {"variant": "cuda_x", "op": "log_softmax", "M": 2048, "N": 512}
    return [*found, synthetic.row(**point, status="crash", message=MARKUP)]


def measurements(some: list[dict[str, str]], sweep: str = "online_softmax") -> pd.DataFrame:
    """The rows as a merged file would give them."""
    leading = {"sweep": sweep, "origin": "measured"}
    return frame.from_rows(mark_ranked(leading | row for row in some))


def write(some: list[dict[str, str]], folder: Path) -> Path:
    """Write summary.csv, claims.csv and report.html of the rows; returns the page."""
    data = measurements(some)
    tables = published.load(REPOSITORY / "data" / "published")
    ranking.write(data, folder / "summary.csv")
    claims.write(data, tables, folder / "claims.csv")
    summary, found = ranking.read(folder / "summary.csv"), claims.read(folder / "claims.csv")
    inputs = Inputs(data, summary, found, tables, "snakemake --cores 1 --use-conda")
    Image.new("RGB", (1400, 2000)).save(folder / "hero.png")  # of the real one's size
    document.write(inputs, folder, folder / "report.html")
    return folder / "report.html"
