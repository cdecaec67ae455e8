"""The variants as test parameters, rows of special values, and the check of what they return."""

import pytest
import torch

import kernels
from kernels.registry import discover
from measure import fingerprint, inputs
from measure.check import correctness


def in_family(*families: str) -> list[str]:
    """Return the variants of these folders of kernels/."""
    return [name for name in kernels.names() if kernels.family(name) in families]


# The families that the project itself maintains, with tests of particular files.
OWN_FAMILIES = "published", "frontier"
CUDA = [name for name in in_family("published") if "cuda" in kernels.packages(name)]
IN_CUDA = [name for name in in_family("frontier") if "cuda" in kernels.packages(name)]
FRONTIER = [name for name in IN_CUDA if "softmax" in kernels.ops(name)]
# Kernels that were handed in. Nothing is expected of them by name, and they may refuse any input.
CONTRIBUTED = in_family("contributed")

# Kernels of other projects, tested in test_peers.py and test_peers_gpu.py: softmax, and others.
PEERS = [name for name in in_family("peers") if "softmax" in kernels.ops(name)]
PEERS_OF_LOGITS = [name for name in in_family("peers") if name not in PEERS]
OURS = [name for name in kernels.names("softmax") if name not in PEERS and name not in FRONTIER]
OURS += ["frontier"]  # test_emulated.py and test_frontier_gpu.py test its parts in every config

INF, NAN = torch.inf, torch.nan


def loaded(name: str) -> kernels.Variant:
    """The variant; skips the test, and says why, where a package of others is not installed."""
    try:
        return kernels.load(name)
    except ImportError as error:
        if kernels.split_config(name)[0] not in (*PEERS, *PEERS_OF_LOGITS, *CONTRIBUTED):
            raise
        pytest.skip(f"{name}: {error}")


def forget() -> None:
    """Forget the files that this process added to the variants, and what is read once of any."""
    discover._added.clear()
    for name in ("add_variant", "ops", "source_files", "kernel_sha256", "packages"):
        getattr(kernels, name).cache_clear()
    for function in (fingerprint.fingerprint, fingerprint.versions, fingerprint.peer_distributions):
        function.cache_clear()
    discover._files.cache_clear()


def run(name: str, x: torch.Tensor, out=None) -> torch.Tensor:
    """Return the softmax by a variant, which must take x."""
    variant = kernels.load(name)
    reason = variant.unsupported(x)
    assert reason is None, reason
    return variant.softmax(x, out)


def rows_problem(y: torch.Tensor, read, op: str, *truncates: bool) -> str | None:
    """None, or how y differs in float64 from ``op`` of what is read: x, or g and y."""
    return correctness.check_rows(y, tuple(read), op, *truncates).problem


def assert_rows_right(y: torch.Tensor, x: torch.Tensor, op: str = "softmax", out=None) -> None:
    """Assert that y is ``op`` of the rows of x in float64, and ``out`` if one is given."""
    wrong = correctness.check_result(y, x, out) or rows_problem(y, (x,), op)
    assert wrong is None, (tuple(x.shape), x.stride(), wrong)


def special_gradients(op: str, cols: int, device: torch.device) -> torch.Tensor:
    """Return g and y, float32 (2, 5, cols): inf in g, NaN in g, NaN in y, a p of 1, random."""
    g, y = inputs.draw_for(op, "normal", torch.float32, 5, cols, 2, device)
    g[0, cols // 2] = INF
    g[1, cols - 1] = NAN
    y[2] = NAN
    y[3, : cols - 1] = 0 if op == "softmax_backward" else -INF
    y[3, cols - 1] = 1 if op == "softmax_backward" else 0
    return torch.stack((g, y))


def largest_error(y: torch.Tensor, x: torch.Tensor, op: str = "softmax") -> float:
    """The largest relative error of the (log-)softmax y of x."""
    expected = getattr(torch, op)(x.double(), -1)
    return ((y.double() - expected) / expected).abs().max().item()
