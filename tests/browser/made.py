"""Pages to open: written from synthetic rows, as the pipeline writes results/report.html."""

import functools
from pathlib import Path

import pandas as pd

from analysis import claims, flags, frame, html, published, schema, summary
from analysis.html import bundle
from tests.analysis import synthetic

bundle.script = functools.cache(bundle.script)  # 2 s, and the same in every page
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


def many(count: int) -> list[dict[str, str]]:
    """So many rows of one GPU."""
    sizes = range(128, 128 * 1000, 128)
    return [synthetic.row(variant=v, N=n) for n in sizes for v in synthetic.VARIANTS][:count]


def measurements(some: list[dict[str, str]], sweep: str = "online_softmax") -> pd.DataFrame:
    """The rows as a merged file would give them."""
    lines = [
        {"sweep": sweep, "origin": "measured", "ranked": flags.ranked(row["flags"], flags.UNRANKED)}
        | row
        for row in some
    ]
    names = [*schema.COLLECTED, *schema.header()]
    return frame.typed(pd.DataFrame(lines, columns=names, dtype="str"))


def write(some: list[dict[str, str]], folder: Path) -> Path:
    """Write summary.csv, claims.csv and report.html of the rows; returns the page."""
    data = measurements(some)
    tables = published.load(REPOSITORY / "data" / "published")
    summary.write(data, folder / "summary.csv")
    claims.write(data, tables, folder / "claims.csv")
    html.write(
        data,
        summary.read(folder / "summary.csv"),
        claims.read(folder / "claims.csv"),
        tables,
        "snakemake --cores 1 --use-conda",
        folder / "report.html",
    )
    return folder / "report.html"
