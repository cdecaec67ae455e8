"""Other projects' kernels without a GPU: absent packages, pins, limits, arguments."""

import sys
from types import ModuleType, SimpleNamespace

import pytest
import torch

import kernels
from kernels.__main__ import LISTED_PACKAGES
from measure import status
from measure.point import Point
from tests.kernels.variants import PEERS
from tests.marks import slow
from tools import pins

PACKAGES = {  # variant -> module that it needs
    "peer_quack": "quack",
    "peer_liger": "liger_kernel",
    "peer_flaggems": "flag_gems",
    "peer_helion": "helion",
}
GROUPS = {"peer_flaggems": "--no-deps --group flaggems"}  # the others': --group peers
COMPILED = ["peer_compile", "peer_compile__max"]
HELION = ["peer_helion", "peer_helion__max"]
compiled, by_helion = (
    pytest.mark.parametrize("name", [name, slow(searched)]) for name, searched in (COMPILED, HELION)
)
# one case each, left to `make test-all`: a search takes seconds, Helion's a minute
SEARCHED = [COMPILED[1], HELION[1]]
ONCE = [name for name in PEERS if name not in SEARCHED]
# peer_helion__max runs the same lines as peer_helion
PROMPT = [*ONCE, slow(COMPILED[1])]
H200_SHARED = 232_448  # bytes that a block may have


@pytest.fixture
def modules():
    """sys.modules without the peers and their packages; afterwards as it was, as to these."""

    def remove() -> dict:
        ours = {f"kernels.peers.{name}" for name in PACKAGES}
        names = [n for n in sys.modules if n in ours or n.split(".")[0] in PACKAGES.values()]
        return {name: sys.modules.pop(name) for name in names}

    before = remove()
    yield sys.modules
    remove()
    sys.modules.update(before)


def fake(modules, name: str, **members) -> None:
    """A module of this name, and the packages that it lies in."""
    parts = name.split(".")
    for end in range(1, len(parts) + 1):
        modules.setdefault(".".join(parts[:end]), ModuleType(".".join(parts[:end])))
    vars(modules[name]).update(members)


class Launched:
    """A stand-in for a Triton kernel, which notes (grid, arguments, settings) of each launch."""

    fn = object()

    def __init__(self, calls):
        self.calls = calls

    def __getitem__(self, grid):
        def launch(out, *arguments, **settings):
            self.calls.append((grid, out, *arguments, settings))
            (x,) = (a for a in arguments if isinstance(a, torch.Tensor))
            out.copy_(torch.softmax(x, dim=-1))

        return launch


def quack(modules):
    """(variant, arguments of every call) on a stand-in that has QuACK's signature."""
    calls = []

    def _softmax_fwd(x, out):
        calls.append((x, out))
        torch.softmax(x, dim=-1, out=out)

    fake(modules, "quack.softmax", _softmax_fwd=_softmax_fwd)
    return kernels.load("peer_quack"), calls


def liger(modules):
    """Likewise for Liger."""
    calls = []
    kernel = Launched(calls)
    fake(modules, "liger_kernel.ops.softmax", _softmax_single_block_forward_kernel=kernel)
    fake(modules, "liger_kernel.ops.utils", calculate_settings=lambda n: (2 * n, 7))
    return kernels.load("peer_liger"), calls


def flaggems(modules):
    """Likewise for FlagGems: a launcher over heuristics over the kernel."""
    calls = []
    launcher = SimpleNamespace(fn=Launched(calls))
    fake(modules, "flag_gems.ops.softmax", softmax_kernel_inner=launcher)
    return kernels.load("peer_flaggems"), calls


def helion(modules, name="peer_helion"):
    """(variant, settings of every kernel, shapes of every search), with two tiles of rows."""
    asked, searched = [], []

    class Kernel:
        def __init__(self, function, **settings):
            asked.append(settings)
            self.function = function

        def __call__(self, x, out):
            return self.function(x, out)

        def autotune(self, args, *, force):
            assert not force  # it would search again what is in Helion's cache
            searched.append([tuple(tensor.shape) for tensor in args])
            return "found"

    def tile(rows):
        return [slice(0, 2), slice(2, rows)]

    fake(modules, "helion.language", tile=tile)
    fake(modules, "helion", kernel=Kernel, language=modules["helion.language"])
    return kernels.load(name), asked, searched


@pytest.mark.parametrize(("name", "package"), PACKAGES.items())
def test_an_absent_package_is_unavailable_and_says_how_to_get_it(name, package, modules):
    modules[package] = None  # importing it fails, installed or not
    with pytest.raises(ImportError) as caught:
        kernels.load(name)
    assert status.status_of(caught.value) == "unavailable"
    message = status.message_of(caught.value)
    assert package in message
    assert f"pip install {GROUPS.get(name, '--group peers')}" in message


def test_every_package_of_a_peer_is_listed_and_pinned_in_its_group():
    assert set(PACKAGES.values()) <= set(LISTED_PACKAGES)
    for name in PEERS:
        group = pins.groups()[GROUPS.get(name, "peers").split()[-1]]
        pinned = {requirement.name.replace("-", "_") for requirement in group}
        needed = kernels.packages(name) - set(sys.stdlib_module_names) - {"torch", "kernels"}
        assert needed == {PACKAGES[name]} if name in PACKAGES else not needed
        for module in needed:
            assert {module, f"{module}_kernels"} & pinned, f"{module} has no pin"


@pytest.mark.parametrize("op", ["softmax", "log_softmax"])
@by_helion
def test_what_helion_is_given_is_right_tile_by_tile(name, op, modules):
    variant, asked, _ = helion(modules, name)
    x = torch.randn(5, 50)
    for dtype, tolerance in ((torch.float32, 1e-6), (torch.bfloat16, 1e-2)):
        rows = x.to(dtype)
        for given in (torch.empty(5, 60, dtype=dtype)[:, :50], None):
            y = variant.function(op)(rows, given)
            assert given is None or y is given
            assert y.dtype == dtype
            right = getattr(torch, op)(rows.double(), dim=-1)
            torch.testing.assert_close(y.double(), right, rtol=tolerance, atol=tolerance)
    assert all(settings["static_shapes"] for settings in asked)


def test_helion_without_a_search_is_one_kernel_with_its_defaults(modules):
    variant, asked, searched = helion(modules)
    for rows in (4, 5):
        variant.softmax(torch.randn(rows, 50))
    assert asked == [{"static_shapes": True, "autotune_effort": "none"}]
    assert not searched


@pytest.mark.slow
def test_helion_searches_once_for_a_dtype_and_a_length_of_row(modules):
    variant, asked, searched = helion(modules, HELION[1])
    for rows in (4, 5):
        variant.softmax(torch.randn(rows, 50))
    assert searched == [[(4, 50), (4, 50)]]
    search, run = asked
    assert search["autotune_effort"] == "quick"
    assert search["autotune_budget_seconds"] <= Point.timeout_s / 2
    assert run == {"static_shapes": True, "config": "found"}
    variant.softmax(torch.randn(4, 60))
    variant.softmax(torch.randn(4, 50, dtype=torch.bfloat16))
    variant.log_softmax(torch.randn(4, 50))
    assert len(searched) == 4


def mode(name: str) -> str:
    """Return torch.compile's mode for a config."""
    return kernels.load("peer_compile").module._MODES[kernels.split(name)[1]]


@pytest.mark.parametrize("op", ["softmax", "log_softmax"])
@compiled
def test_a_compiled_call_writes_to_out(name, op, monkeypatch):
    from kernels.peers import peer_compile

    asked = []
    monkeypatch.setattr(torch, "compile", lambda f, **how: asked.append(how) or f)
    peer_compile._compiled.cache_clear()
    variant = kernels.load(name)
    x, out = torch.randn(4, 50), torch.empty(4, 60)[:, :50]
    for given in (out, None, out):
        y = variant.function(op)(x, given)
        assert given is None or y is given
        torch.testing.assert_close(y, getattr(torch, op)(x, dim=-1))
    peer_compile._compiled.cache_clear()
    assert asked == [{"mode": mode(name), "dynamic": False, "fullgraph": True}]


@pytest.mark.parametrize("peer", [quack, liger, flaggems])
def test_a_peers_kernel_is_given_x_and_out(peer, modules):
    variant, calls = peer(modules)
    x, out = torch.randn(4, 64), torch.empty(4, 64)
    assert variant.softmax(x, out) is out
    for y in (out, variant.softmax(x)):
        torch.testing.assert_close(y, torch.softmax(x, dim=-1))
    assert any(argument is x for argument in calls[0])
    assert any(argument is out for argument in calls[0])


def test_liger_is_launched_with_its_own_settings_and_any_row_stride(modules):
    variant, calls = liger(modules)
    x, out = torch.randn(4, 80)[:, :50], torch.empty(4, 60)[:, :50]
    variant.softmax(x, out)
    ((grid, _, out_stride, _, *rest),) = calls
    settings = {"BLOCK_SIZE": 100, "num_warps": 7}
    assert (grid, out_stride, rest) == ((4,), 60, [80, 50, settings])


def test_flaggems_works_on_copies_of_non_contiguous_rows(modules):
    variant, calls = flaggems(modules)
    x, wide = torch.randn(4, 60)[:, :50], torch.full((4, 60), 9.0)
    out = wide[:, :50]
    assert variant.softmax(x, out) is out
    torch.testing.assert_close(out, torch.softmax(x, dim=-1))
    assert (wide[:, 50:] == 9).all()
    ((grid, written, read, *sizes),) = calls
    assert (written.stride(), read.stride()) == ((50, 1), (50, 1))
    assert (grid, sizes) == ((4, 1, 1), [4, 50, {}])


NO_GPU = "NVIDIA GPUs only"


def test_without_a_gpu_a_peer_is_unsupported(modules):
    variants = [peer(modules)[0] for peer in (quack, liger, flaggems, helion)]
    variants += map(kernels.load, [*COMPILED, HELION[1]])
    assert {kernels.split(variant.name)[0] for variant in variants} == set(PEERS)
    for variant in variants:
        assert NO_GPU in variant.unsupported(torch.randn(4, 64))


def test_limits_of_quack(modules):
    unsupported = quack(modules)[0].unsupported
    for dtype, start, cols, words in (
        (torch.float32, 0, 1022, "multiples of 4"),
        (torch.bfloat16, 0, 1020, "multiples of 8"),
        (torch.float32, 2, 1020, "do not begin"),
        (torch.float32, 4, 1020, NO_GPU),  # no other limit applies
        (torch.float16, 4, 1016, "do not begin"),
        (torch.float16, 8, 1016, NO_GPU),
    ):
        x = torch.zeros(4, 1040, dtype=dtype)[:, start : start + cols]
        assert words in unsupported(x)
    x = torch.zeros(4, 1022)[:, :1020]
    assert "do not begin" in unsupported(x)  # the row stride
    assert NO_GPU in unsupported(x[:1])


@pytest.mark.parametrize(
    ("capability", "shared", "longest"),
    [
        ((9, 0), H200_SHARED, 917_504),  # 16 blocks of 56 tiles of 4096 bytes
        ((8, 0), 166_912, 40_960),  # one block of 40 tiles
        ((12, 0), 101_376, 196_608),  # 8 blocks of 24 tiles
        ((7, 5), 65_536, None),
    ],
)
def test_the_longest_row_of_quack(capability, shared, longest, modules, monkeypatch):
    module = quack(modules)[0].module
    monkeypatch.setattr(module, "_capability", lambda device: (capability, shared))
    if longest is None:
        assert "QuACK needs 8.0" in module._too_long(64, torch.device("cuda"))
    else:
        assert module._too_long(4 * longest, torch.device("cuda")) is None
        assert "shared memory" in module._too_long(4 * (longest + 4), torch.device("cuda"))


def test_limits_of_liger_and_flaggems(modules):
    unsupported = liger(modules)[0].unsupported
    assert NO_GPU in unsupported(torch.empty(1, 65_536))
    assert "N = 65537" in unsupported(torch.empty(1, 65_537))
    unsupported = flaggems(modules)[0].unsupported
    most = torch.empty(2**16, 2**15, device="meta")
    assert "fewer than 2^31" in unsupported(most)
    assert NO_GPU in unsupported(most[1:])
