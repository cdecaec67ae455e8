"""Other projects' kernels on logits, without a GPU: what they are given, and their limits."""

import importlib
import sys

import pytest
import torch
from torch.nn import functional

import kernels
from measure import inputs
from measure.check import correctness
from tests.kernels.helpers.fake_peers import fake
from tests.kernels.helpers.variants import PEERS_OF_LOGITS

CPU = torch.device("cpu")
NAMES = [name for name in PEERS_OF_LOGITS if name != "peer_compile_logits"]  # it needs a compiler
CASES = [(name, op) for name in NAMES for op in sorted(kernels.ops(name))]


class Kernel:
    """Stand in for a kernel of Triton: compute by torch, from the arguments alone."""

    def __init__(self, compute):
        self.compute = compute

    def __getitem__(self, grid):
        return lambda *arguments, **settings: self.compute(grid, *arguments, **settings)


def log_probs(x, index):
    log_p = torch.log_softmax(x.float(), 1)
    return log_p, log_p.gather(1, index[:, None])[:, 0]


def trl_forward(grid, x, index, mask, log_prob, entropy, log_sum, mean, *strides, **settings):
    assert grid == (settings["rows_per_batch"],) == (len(x),)
    assert strides == (0, x.stride(0), 0, 1, 0, 0)
    log_p, picked = log_probs(x, index)
    log_prob.copy_(picked)
    entropy.copy_(torch.special.entr(log_p.exp()).sum(1))


def trl_backward(grid, x, index, mask, log_z, mean, g, h, dx, *strides, **settings):
    assert grid == (len(x), -(-x.shape[1] // settings["BLOCK_SIZE"]))
    assert strides == (0, x.stride(0), 0, 1, 0, 0, 0, dx.stride(0))
    assert (settings["HAS_LOGPROB_GRAD"], settings["HAS_ENTROPY_GRAD"]) == (True, False)
    one_hot = functional.one_hot(index, x.shape[1])
    dx.copy_(g[:, None] * (one_hot - (x.float() - log_z[:, None]).exp()))


def liger_loss(grid, **tensors):
    assert grid == (len(tensors["X_ptr"]),)
    assert (tensors["X_stride"], tensors["reduction"]) == (tensors["X_ptr"].stride(0), "none")
    assert not tensors["HAS_GRADIENTS"]
    assert (tensors["loss_ptr"] == 0).all()
    tensors["loss_ptr"].copy_(-log_probs(tensors["X_ptr"], tensors["Y_ptr"])[1])


def liger_log_prob(grid, x, index, out, mask, temperature, *sizes, **settings):
    assert (grid, sizes[-2:]) == ((1, len(x)), tuple(x.shape))
    assert x.is_contiguous()
    out.copy_(log_probs(x, index)[1])


def quack_forward(x, target, target_logit, loss, log_sum, dx, weight, ignored):
    assert (target_logit, weight, ignored) == (None, None, -100)
    log_p, picked = log_probs(x, target)
    loss.copy_(-picked)
    if log_sum is not None:
        log_sum.copy_(torch.logsumexp(x.float(), 1))
    if dx is not None:
        dx.copy_(log_p.exp() - functional.one_hot(target, x.shape[1]))


def quack_backward(x, target, g, log_sum, dx, weight, ignored):
    one_hot = functional.one_hot(target, x.shape[1])
    dx.copy_(g[:, None] * ((x.float() - log_sum[:, None]).exp() - one_hot))


@pytest.fixture
def load(monkeypatch):
    """Return the function that loads a variant, with stand-ins for the packages of all."""
    before = dict(sys.modules)
    ours = {f"kernels.peers.{name}" for name in (*PEERS_OF_LOGITS, "peer_quack")}
    for name in list(sys.modules):
        if name in ours or name.split(".")[0] in ("trl", "liger_kernel", "quack"):
            del sys.modules[name]
    trl = {"_forward_kernel": Kernel(trl_forward), "_backward_kernel": Kernel(trl_backward)}
    fake(sys.modules, "trl.kernels.logprob_entropy", _BLOCK_SIZE=32, **trl)
    loss = {"liger_cross_entropy_kernel": Kernel(liger_loss), "MAX_FUSED_SIZE": 64}
    fake(sys.modules, "liger_kernel.ops.cross_entropy", **loss)
    log_prob = Kernel(liger_log_prob)
    fake(sys.modules, "liger_kernel.ops.grpo_loss", _selective_log_softmax_kernel=log_prob)
    fake(sys.modules, "liger_kernel.utils", infer_device_arch=lambda: "hopper")
    quack = {"cross_entropy_fwd_out": quack_forward, "cross_entropy_bwd_out": quack_backward}
    fake(sys.modules, "quack.cross_entropy", **quack)
    fake(sys.modules, "quack.softmax", _softmax_fwd=None)
    yield kernels.load
    sys.modules.clear()
    sys.modules.update(before)
    importlib.invalidate_caches()


@pytest.mark.parametrize(("name", "op"), CASES)
def test_a_peers_kernel_is_given_the_operands(name, op, load):
    """With and without ``out``, and with rows of x that are not contiguous."""
    call = load(name).function(op)
    drawn = inputs.draw_for(op, "normal", torch.float32, 5, 96, 1, CPU)
    wide = torch.zeros(5, 100)
    for apart in (False, True):
        tensors = drawn
        if apart:
            tensors = tuple(wide[:, :96].copy_(t) if t.shape == (5, 96) else t for t in drawn)
        finding = correctness.check_call(call, tensors, torch.arange(5), op)
        assert finding.problem is None


def test_limits(load):
    words = "M = 65536: Liger launches"
    assert words in load("peer_liger_logits").unsupported(torch.empty(65536, 1, device="meta"))
    unsupported = load("peer_quack_logits").unsupported
    odd, rows = torch.zeros(4 * 97)[:388].view(4, 97), torch.zeros(4, 1040)
    assert "NVIDIA GPUs only" in unsupported(odd)
    assert "rows that are multiples of 4 bytes" in unsupported(odd.half())
    assert "multiples of 16 bytes" in unsupported(rows[:, 1:1025])
    assert "multiples of 8 bytes" in unsupported(rows[:, 1:1023])
