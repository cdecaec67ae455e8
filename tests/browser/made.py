"""Pages to open: written from rows, as the pipeline writes results/report.html."""

from pathlib import Path

import pandas as pd

from analysis import claims, published
from analysis.report import write
from measure import ROOT
from tests.analysis import synthetic

# A CSV file must not be able to do this to the page.
MARKUP = "</script><script>window.evil = 1</script><img src=x onerror='window.evil = 1'>"
NAME = "**A** ![a](http://example.com/a.png) [b](http://example.com/b) <i>c</i>"


def rows() -> list[dict[str, str]]:
    """Two GPUs, two operations, two dtypes, and a row that failed with a hostile message."""
    lines = synthetic.sweep_rows()
    lines += synthetic.sweep_rows([256, 4096, 131072], dtype="float16")
    some = ["torch_softmax", "triton_row"]
    lines += synthetic.sweep_rows([512, 5000], some, op="log_softmax", M=2048)
    lines += synthetic.sweep_rows([64, 65536], ["triton_row"], M=16)  # no competitor
    lines += synthetic.sweep_rows([512, 65536], synthetic.VARIANTS, gpu="a100", gpu_name=NAME)
    point = {"variant": "cuda_x", "op": "log_softmax", "M": 2048, "N": 512}
    return [*lines, synthetic.row(**point, status="crash", message=MARKUP)]


def page(data: pd.DataFrame, folder: Path, workloads: list[list] | None = None) -> Path:
    """Write the report of measurements to `folder`; return its page."""
    tables = published.load(ROOT / "data/published")
    checked = claims.check(data, tables)
    options = {"folder": folder, "command": "make run", "workloads": workloads or []}
    return write.write(data, checked, tables, **options)[1]
