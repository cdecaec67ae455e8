"""Which published tables there are, and which of them are short enough for bars."""

import subprocess
import sys

import pytest

from measure.fingerprint import ROOT
from workflow import published

FOLDER = ROOT / "data" / "published"


def test_the_tables_and_their_sizes():
    assert [(t.sweep, t.kinds, t.values) for t in published.tables(FOLDER)] == [
        ("online_softmax", (("a100", "float32"),), 60),
        ("fused_softmax", (("rtx3090", "float32"),), 30),
        ("oneflow", (("a100", "float32"),), 10),
    ]


@pytest.mark.parametrize(
    ("chosen", "drawn"),
    [
        (("h200", "float32", "oneflow"), True),
        (("a100", "float32", "oneflow"), True),
        (("h200", "float16", "oneflow"), False),  # the table is of float32
        (("cpu", "float32", "oneflow"), False),  # not beside a GPU's times
        (("h200", "float32", "oneflow_wide"), False),  # no published table
        (("h200", "float32", "online_softmax"), False),  # 60 values
    ],
)
def test_which_sets_are_drawn_as_bars(chosen, drawn):
    assert published.with_bars([chosen], FOLDER) == ([chosen] if drawn else [])


def test_planning_needs_no_pandas():
    program = (
        "import sys; from workflow import published, sweep; "
        "print([m for m in ('torch', 'triton', 'pandas', 'matplotlib') if m in sys.modules])"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "[]"
