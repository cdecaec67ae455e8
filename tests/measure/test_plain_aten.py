"""The baseline is plain ATen: torch's overrides are disabled, and other replacements refused."""

import json

import pytest
import torch

import operations
from measure.check import plain_aten
from measure.device.opened import open_device
from measure.errors import NoRowError
from tests.processes import run_code

OVERRIDDEN = """
import json, tempfile, warnings
from pathlib import Path
import torch
from torch._native import registry

warnings.simplefilter("ignore")
calls = []

def override(x, dim, half_to_float, *, out):
    calls.append(1)
    return out.fill_(0.5)

names = "_softmax.out", "_log_softmax.out"
for name in names:
    registration = "test", "aten", name, "CPU", None, override
    registry.register_op_override(*registration, unconditional_override=True)
registry.reenable_op_overrides(enable_dispatch_keys="CPU")
x = torch.rand(4, 4)
torch.softmax(x, dim=-1, out=torch.empty(4, 4))
before = len(calls)

from measure import pipeline, provenance
import operations
from measure.journal import Journal
from measure.point import Point

point = Point(gpu="cpu", dtype="float32", M=8, N=8, variant="torch_softmax", blocks=6)
journal = Journal(Path(tempfile.mkdtemp()))
pipeline.measure(point, journal)
operations.load("log_softmax").baseline(x, torch.empty(4, 4))
row = {name: journal.row[name] for name in ("status", "native_overrides")}
print(json.dumps(row | {"before": before, "after": len(calls) - before}))
"""


@pytest.mark.skipif(not hasattr(torch.backends, "python_native"), reason="torch has no overrides")
def test_an_override_of_torch_is_disabled_before_a_point_is_measured():
    answer = json.loads(run_code(OVERRIDDEN).splitlines()[-1])
    assert answer == {"status": "ok", "native_overrides": "disabled", "before": 1, "after": 0}


def test_a_torch_without_overrides_is_plain_and_the_row_says_so(monkeypatch):
    monkeypatch.setattr(torch.backends, "python_native", None, raising=False)
    assert plain_aten.columns(open_device("cpu"), operations.load("softmax")) == {
        "native_overrides": "absent"
    }


@pytest.mark.filterwarnings("ignore:Warning only once for all operators")
@pytest.mark.parametrize("key", ["CPU", "AutogradCPU"])
def test_another_replacement_of_the_baseline_gives_no_row(key):
    library = torch.library.Library("aten", "IMPL", key)
    library.impl("_softmax_backward_data.out", lambda *_, grad_input: grad_input)
    try:
        with pytest.raises(
            NoRowError, match=r"aten::_softmax_backward_data.out .*test_plain_aten\.py"
        ):
            plain_aten.columns(open_device("cpu"), operations.load("softmax_backward"))
    finally:
        library._destroy()
    plain_aten.columns(open_device("cpu"), operations.load("softmax_backward"))
