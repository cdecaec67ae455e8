"""The README's example: a transformer gives the same with torch's functions and with these."""

import runpy

import pytest
import torch

from measure.fingerprint import ROOT
from tests.marks import slow

EXAMPLE = ROOT / "examples" / "transformer.py"
# The largest element of a gradient is known to so much: bfloat16 keeps 8 bits of every sum's terms.
APART = {torch.float32: 1e-4, torch.bfloat16: 0.05}


# the second test runs both types
@pytest.mark.parametrize("dtype", [torch.float32, slow(torch.bfloat16)], ids=str)
def test_same_loss_and_gradients(dtype, launches, device):
    compare = runpy.run_path(str(EXAMPLE))["compare"]
    torchs, ours = compare(device.type, dtype)
    assert (torchs["softmax"], ours["softmax"]) == ("torch", "kernels")
    assert float(ours["loss"]) == pytest.approx(float(torchs["loss"]), rel=APART[dtype])
    assert float(torchs["largest_difference"]) == 0
    assert 0 < float(ours["largest_difference"]) < APART[dtype]
    assert len(launches) >= 6  # two layers and the loss, forward and backward
    assert bool(ours["step_ms"]) == (device.type == "cuda")


def test_what_was_found_is_kept_and_shown(tmp_path, capsys):
    main = runpy.run_path(str(EXAMPLE))["main"]
    main(["--record", str(tmp_path / "found.csv")])
    shown = capsys.readouterr().out
    assert "| kernels | bfloat16 |" in shown
    main(["--table", str(tmp_path / "found.csv")])
    assert capsys.readouterr().out == shown
