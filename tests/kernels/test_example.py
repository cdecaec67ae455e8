"""The examples: a model gives the same with torch's functions and with these."""

import runpy

import pytest
import torch

from measure import ROOT
from tests.marks import slow

# The largest element of a gradient is known to so much: bfloat16 keeps 8 bits of every sum's terms.
APART = {torch.float32: 1e-4, torch.bfloat16: 0.05}


@pytest.mark.parametrize("example", ["transformer", "hugging_face", "token_log_probs"])
@pytest.mark.parametrize("dtype", [torch.float32, slow(torch.bfloat16)], ids=str)
def test_same_loss_and_gradients(example, dtype, launches, device, monkeypatch):
    if example == "hugging_face":
        pytest.importorskip("transformers")
    monkeypatch.syspath_prepend(ROOT / "examples")  # a script finds it so
    compare = runpy.run_path(str(ROOT / "examples" / f"{example}.py"))["compare"]
    torchs, ours = (line.strip("| ").split(" | ") for line in compare(device.type, dtype))
    assert (torchs[0], ours[0]) == ("torch", "kernels")
    assert float(ours[2]) == pytest.approx(float(torchs[2]), rel=APART[dtype])
    assert float(torchs[3]) == 0
    assert float(ours[3]) < APART[dtype]
    if example != "token_log_probs":
        assert len(launches) >= 6  # two layers and the loss, forward and backward
    assert ours[4].endswith("GiB at most") == (device.type == "cuda")
