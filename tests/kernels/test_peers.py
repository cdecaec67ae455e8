"""Other projects' kernels without a GPU: absent packages, pins, limits, arguments."""

import sys
from types import ModuleType, SimpleNamespace

import pytest
import torch

import kernels
from measure import outcome
from measure.point import Point
from tests.kernels.variants import PEERS
from workflow import pins

PACKAGES = {  # variant -> module that it needs
    "peer_quack": "quack",
    "peer_liger": "liger_kernel",
    "peer_flaggems": "flag_gems",
    "peer_helion": "helion",
    "peer_helion_max": "helion",
}
GROUPS = {"peer_flaggems": "--no-deps --group flaggems"}  # the others': --group peers
COMPILED = ["peer_compile", "peer_compile_max"]
HELION = ["peer_helion", "peer_helion_max"]
H200_SHARED = 232_448  # bytes that a block may have


@pytest.fixture
def modules():
    """sys.modules without the peers and their packages; afterwards as it was, as to these."""

    def taken() -> dict:
        ours = {f"kernels.{name}" for name in [*PACKAGES, "_helion"]}
        names = [n for n in sys.modules if n in ours or n.split(".")[0] in PACKAGES.values()]
        return {name: sys.modules.pop(name) for name in names}

    before = taken()
    yield sys.modules
    taken()
    sys.modules.update(before)


def fake(modules, name: str, **members) -> None:
    """A module of this name, and the packages that it lies in."""
    parts = name.split(".")
    for end in range(1, len(parts) + 1):
        modules.setdefault(".".join(parts[:end]), ModuleType(".".join(parts[:end])))
    vars(modules[name]).update(members)


def quack(modules):
    """(variant, arguments of every call) on a stand-in that has QuACK's signature."""
    calls = []

    def _softmax_fwd(x, out):
        calls.append((x, out))
        torch.softmax(x, dim=-1, out=out)

    fake(modules, "quack.softmax", _softmax_fwd=_softmax_fwd)
    return kernels.load("peer_quack"), calls


def liger(modules):
    """The same for Liger, whose kernel is launched on a grid."""
    calls = []

    class Kernel:
        def __getitem__(self, grid):
            def launch(out, out_stride, x, x_stride, n_cols, *, BLOCK_SIZE, num_warps):
                calls.append((grid, out, out_stride, x, x_stride, n_cols, BLOCK_SIZE, num_warps))
                out.copy_(torch.softmax(x, dim=-1))

            return launch

    fake(modules, "liger_kernel.ops.softmax", _softmax_single_block_forward_kernel=Kernel())
    fake(modules, "liger_kernel.ops.utils", calculate_settings=lambda n: (2 * n, 7))
    return kernels.load("peer_liger"), calls


def flaggems(modules):
    """The same for FlagGems: launcher, rules and kernel, of which the rules are called."""
    calls = []

    class Rules:
        fn = object()  # the kernel

        def __getitem__(self, grid):
            def launch(out, x, rows, cols):
                calls.append((grid, out, x, rows, cols))
                out.copy_(torch.softmax(x, dim=-1))

            return launch

    launcher = SimpleNamespace(fn=Rules())
    fake(modules, "flag_gems.ops.softmax", softmax_kernel_inner=launcher)
    return kernels.load("peer_flaggems"), calls


def helion(modules, name="peer_helion"):
    """(variant, what was asked of every kernel), with a tile of two rows and one of the others."""
    asked = []

    def kernel(function, **settings):
        asked.append(settings)
        return function

    def tile(rows):
        return [slice(0, 2), slice(2, rows)]

    fake(modules, "helion.language", tile=tile)
    fake(modules, "helion", kernel=kernel, language=modules["helion.language"])
    return kernels.load(name), asked


def test_the_peers_are_there():
    assert set(PEERS) >= {*PACKAGES, *COMPILED}


@pytest.mark.parametrize(("name", "package"), PACKAGES.items())
def test_an_absent_package_is_unavailable_and_says_how_to_get_it(name, package, modules):
    modules[package] = None  # importing it fails, installed or not
    with pytest.raises(ImportError) as caught:
        kernels.load(name)
    assert outcome.status_of(caught.value) == "unavailable"
    message = outcome.message_of(caught.value)
    assert package in message
    assert f"pip install {GROUPS.get(name, '--group peers')}" in message


def test_every_package_of_a_peer_is_pinned_in_its_group():
    for name in PEERS:
        group = pins.groups()[GROUPS.get(name, "peers").split()[-1]]
        pinned = {requirement.name.replace("-", "_") for requirement in group}
        needed = kernels.packages(name) - set(sys.stdlib_module_names) - {"torch", "kernels"}
        assert needed == {PACKAGES[name]} if name in PACKAGES else not needed
        for module in needed:
            assert {module, f"{module}_kernels"} & pinned, f"{module} has no pin"


def test_quack_is_given_x_and_out(modules):
    variant, calls = quack(modules)
    x, out = torch.randn(4, 64), torch.empty(4, 96)[:, :64]
    assert variant.softmax(x, out) is out
    new = variant.softmax(x)
    assert [(a is x, b is given) for (a, b), given in zip(calls, (out, new), strict=True)] == [
        (True, True)
    ] * 2
    for y in (out, new):
        torch.testing.assert_close(y, torch.softmax(x, dim=-1))


def test_liger_is_launched_with_its_own_settings_on_rows_as_they_lie(modules):
    variant, calls = liger(modules)
    x, out = torch.randn(4, 80)[:, :50], torch.empty(4, 60)[:, :50]
    assert variant.softmax(x, out) is out
    (call,) = calls
    assert call[1] is out
    assert call[3] is x
    assert (call[0], call[2], *call[4:]) == ((4,), 60, 80, 50, 100, 7)
    torch.testing.assert_close(out, torch.softmax(x, dim=-1))


def test_flaggems_is_launched_by_its_rules_beneath_its_launcher(modules):
    variant, calls = flaggems(modules)
    x, out = torch.randn(4, 50), torch.empty(4, 50)
    assert variant.softmax(x, out) is out
    ((grid, written, read, *sizes),) = calls
    assert written is out
    assert read is x
    assert (grid, sizes) == ((4, 1, 1), [4, 50])
    torch.testing.assert_close(variant.softmax(x), torch.softmax(x, dim=-1))


def test_flaggems_writes_nothing_between_rows_apart(modules):
    variant, calls = flaggems(modules)
    with pytest.raises(ValueError, match="begin every 60 elements"):
        variant.softmax(torch.randn(4, 50), torch.empty(4, 60)[:, :50])
    assert not calls
    variant.softmax(torch.randn(1, 50), torch.empty(1, 60)[:, :50])  # there is no second row
    assert len(calls) == 1


@pytest.mark.parametrize("op", ["softmax", "log_softmax"])
@pytest.mark.parametrize("name", HELION)
def test_what_helion_is_given_is_right_tile_by_tile(name, op, modules):
    variant, asked = helion(modules, name)
    x = torch.randn(5, 50)
    for dtype, tolerance in ((torch.float32, 1e-6), (torch.bfloat16, 1e-2)):
        rows = x.to(dtype)
        for given in (torch.empty(5, 60, dtype=dtype)[:, :50], None):
            y = variant.function(op)(rows, given)
            assert given is None or y is given
            assert y.dtype == dtype
            right = getattr(torch, op)(rows.double(), dim=-1)
            torch.testing.assert_close(y.double(), right, rtol=tolerance, atol=tolerance)
    (settings,) = asked  # one kernel for all calls of an op
    assert settings["static_shapes"]
    assert settings["autotune_effort"] == variant.module.EFFORT


def test_one_of_helions_searches_within_the_time_of_a_point(modules):
    variant, _ = helion(modules)
    searched = kernels.load(HELION[1])
    assert (variant.module.EFFORT, searched.module.EFFORT) == ("none", "quick")
    most = modules["kernels._helion"].SEARCH_S
    assert most <= Point.timeout_s / 2


@pytest.mark.parametrize("op", ["softmax", "log_softmax"])
@pytest.mark.parametrize("name", COMPILED)
def test_a_compiled_call_writes_to_out(name, op, monkeypatch):
    from kernels import _compiled

    asked = []
    monkeypatch.setattr(torch, "compile", lambda f, **how: asked.append(how) or f)
    _compiled._compiled.cache_clear()
    variant = kernels.load(name)
    x, out = torch.randn(4, 50), torch.empty(4, 60)[:, :50]
    for given in (out, None, out):
        y = variant.function(op)(x, given)
        assert given is None or y is given
        torch.testing.assert_close(y, getattr(torch, op)(x, dim=-1))
    _compiled._compiled.cache_clear()
    assert asked == [{"mode": variant.module.MODE, "dynamic": False, "fullgraph": True}]


def test_one_of_the_compiled_searches_and_none_records_graphs():
    modes = torch._inductor.list_mode_options()
    plain, searched = (modes[kernels.load(name).module.MODE] for name in COMPILED)
    assert plain == {}
    assert searched["max_autotune"]
    assert not searched.get("triton.cudagraphs")  # the clock records graphs of its own


def test_without_a_gpu_a_peer_is_unsupported(modules):
    x = torch.randn(4, 64)
    variants = [peer(modules)[0] for peer in (quack, liger, flaggems, helion)]
    variants += map(kernels.load, [*COMPILED, HELION[1]])
    assert {variant.name for variant in variants} == set(PEERS)
    for variant in variants:
        assert "NVIDIA GPUs only" in variant.unsupported(x)


@pytest.mark.parametrize(
    ("dtype", "start", "cols", "words"),
    [
        (torch.float32, 0, 1022, "N = 1022: QuACK takes multiples of 4"),
        (torch.bfloat16, 0, 1020, "N = 1020: QuACK takes multiples of 8"),
        (torch.float32, 0, 1020, "the device cpu"),  # nothing else is against it
        (torch.float32, 2, 1020, "do not begin at multiples of 16 bytes"),
        (torch.float32, 4, 1020, "the device cpu"),
        (torch.float16, 4, 1016, "do not begin at multiples of 16 bytes"),
        (torch.float16, 8, 1016, "the device cpu"),
    ],
)
def test_limits_of_quack(dtype, start, cols, words, modules):
    variant, _ = quack(modules)
    x = torch.zeros(4, 1024 + 16, dtype=dtype)
    assert words in variant.unsupported(x[:, start : start + cols])


def test_a_row_stride_that_is_no_multiple_of_a_pack(modules):
    variant, _ = quack(modules)
    x = torch.zeros(4, 1022)[:, :1020]
    assert "do not begin" in variant.unsupported(x)
    assert "the device cpu" in variant.unsupported(x[:1])  # there is no second row
    assert "the device cpu" in variant.unsupported(torch.zeros(1020).expand(7, 1020))


@pytest.mark.parametrize(
    ("capability", "shared", "longest"),
    [
        ((9, 0), H200_SHARED, 917_504),  # 16 blocks of 56 tiles of 4096 bytes
        ((8, 0), 166_912, 40_960),  # one block of 40 tiles
        ((12, 0), 101_376, 196_608),  # 8 blocks of 24 tiles
    ],
)
def test_the_longest_row_of_quack(capability, shared, longest, modules, monkeypatch):
    module = quack(modules)[0].module
    monkeypatch.setattr(module, "_capability", lambda device: (capability, shared))
    assert module._too_much(4 * longest, torch.device("cuda")) is None
    assert "shared memory" in module._too_much(4 * (longest + 4), torch.device("cuda"))


def test_quack_on_an_old_gpu(modules, monkeypatch):
    module = quack(modules)[0].module
    monkeypatch.setattr(module, "_capability", lambda device: ((7, 5), 65_536))
    assert module._too_much(64, torch.device("cuda")) == "compute capability 7.5; QuACK needs 8.0"


def test_the_longest_row_of_liger(modules):
    variant, _ = liger(modules)
    assert "NVIDIA GPUs only" in variant.unsupported(torch.empty(1, 65_536))
    assert "N = 65537" in variant.unsupported(torch.empty(1, 65_537))


def test_limits_of_flaggems(modules):
    variant, _ = flaggems(modules)
    wide = torch.zeros(4, 60)
    assert "begin every 60" in variant.unsupported(wide[:, :50])
    assert "the device cpu" in variant.unsupported(wide)  # nothing else is against it
    assert "the device cpu" in variant.unsupported(wide[:1, :50])  # there is no second row
    most = torch.empty(2**16, 2**15, device="meta")
    assert "in 32 bits" in variant.unsupported(most)
    assert "the device meta" in variant.unsupported(most[1:])
