"""Other projects' kernels without a GPU: absent packages, pins, limits, arguments."""

import importlib
import sys
from types import ModuleType, SimpleNamespace

import pytest
import torch

import kernels
from kernels.peers import _package
from measure import status
from tests.kernels.helpers.variants import PEERS
from tools import pins

PACKAGES = {  # variant -> module that it needs
    "peer_quack": "quack",
    "peer_liger": "liger_kernel",
    "peer_flaggems": "flag_gems",
    "peer_helion": "helion",
    "peer_flashinfer": "flashinfer",
}
GROUPS = {  # the others': --group peers
    "peer_flaggems": "--no-deps --group flaggems",
    "peer_flashinfer": "--no-deps --group flashinfer",
}
CONFIGS = ["peer_compile__max", "peer_helion__pretuned"]  # one case each, in `make test-all`


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


def stand_in(modules, name: str):
    """(variant, calls) of a peer whose package is a stand-in that notes what it is given."""
    calls = []

    class Kernel:
        """As a Triton kernel: notes (grid, arguments, settings) of each launch."""

        fn = object()

        def __getitem__(self, grid):
            def launch(out, *arguments, **settings):
                calls.append((grid, out, *arguments, settings))
                (x,) = (a for a in arguments if isinstance(a, torch.Tensor))
                out.copy_(torch.softmax(x, dim=-1))

            return launch

    def helion_kernel(function, **settings):
        calls.append(settings)
        return function

    class FlashInfer:
        def build_and_load(self):
            return self

        def softmax(self, workspace, x, out, temperatures, temperature, early):
            assert (workspace.nbytes, temperatures, temperature) == (2**20, None, 1.0)
            calls.append((early, out, x))
            torch.softmax(x, dim=-1, out=out)

    def quack(x, out):
        calls.append((x, out))
        torch.softmax(x, dim=-1, out=out)

    fake(modules, "quack.softmax", _softmax_fwd=quack)
    fake(modules, "liger_kernel.ops.softmax", _softmax_single_block_forward_kernel=Kernel())
    fake(modules, "liger_kernel.ops.utils", calculate_settings=lambda n: (2 * n, 7))
    fake(modules, "flag_gems.ops.softmax", softmax_kernel_inner=SimpleNamespace(fn=Kernel()))
    fake(modules, "helion.language", tile=lambda rows: [slice(0, 2), slice(2, rows)])
    fake(modules, "helion", kernel=helion_kernel, Config=dict, language=modules["helion.language"])
    fake(modules, "flashinfer.jit.sampling", gen_sampling_module=FlashInfer)
    fake(modules, "flashinfer.jit.cpp_ext", get_cuda_path=lambda: "/usr/local/cuda")
    return kernels.load(name), calls


@pytest.mark.parametrize(("name", "package"), PACKAGES.items())
def test_an_absent_package_is_unavailable_and_says_how_to_get_it(name, package, modules):
    modules[package] = None  # importing it fails, installed or not
    with pytest.raises(ImportError) as caught:
        kernels.load(name)
    assert status.classify(caught.value) == "unavailable"
    message = status.describe(caught.value)
    assert package in message
    assert f"pip install {GROUPS.get(name, '--group peers')}" in message


def test_every_package_of_a_peer_is_pinned_in_its_group():
    for name in PEERS:
        group = pins.groups()[GROUPS.get(name, "peers").split()[-1]]
        pinned = {requirement.name.replace("-", "_") for requirement in group}
        needed = kernels.packages(name) - set(sys.stdlib_module_names) - {"torch", "kernels"}
        assert needed == {PACKAGES[name]} if name in PACKAGES else not needed
        for module in needed:
            assert {module, f"{module}_kernels", f"{module}_python"} & pinned, (
                f"{module} has no pin"
            )


@pytest.mark.parametrize("name", ["peer_helion", "peer_helion__pretuned"])
def test_helion_gets_a_right_kernel_for_a_length_of_row(name, modules):
    variant, made = stand_in(modules, name)
    for op in ("softmax", "log_softmax"):
        for rows, dtype in ((5, torch.float32), (4, torch.float32), (5, torch.bfloat16)):
            x, out = torch.randn(rows, 50).to(dtype), torch.empty(rows, 60, dtype=dtype)[:, :50]
            assert variant.function(op)(x, out) is out
            right = getattr(torch, op)(x.double(), dim=-1)
            tolerance = 1e-6 if dtype == torch.float32 else 2e-2
            torch.testing.assert_close(out.double(), right, rtol=tolerance, atol=tolerance)
    assert len(made) == 2  # one for each operation
    assert all(settings.pop("static_shapes") for settings in made)
    if name == "peer_helion":
        assert made == [{"autotune_effort": "none"}] * 2
    else:
        assert [settings["config"]["num_warps"] for settings in made] == [1, 1]


def test_helions_own_configurations_for_hopper(modules):
    """Of the ends of its intervals of N, from its file for compute capability 9.0."""
    variant, _ = stand_in(modules, "peer_helion__pretuned")
    pretuned = sys.modules["kernels.peers.peer_helion"]._pretuned
    ends = [2048, 7552, 7680, 8192, 8832, 8960, 9984, 11136, 11264, 12672, 32768]
    assert [pretuned(end)["num_warps"] for end in ends] == [1] + [8, 16] * 5
    assert [pretuned(end + 1)["num_warps"] for end in ends[:-1]] == [8, 16] * 5
    assert "tuned its configurations up to N = 32768" in variant.unsupported(torch.empty(1, 32769))


GIVEN = ["peer_quack", "peer_liger", "peer_flaggems", "peer_flashinfer"]


@pytest.mark.parametrize("name", GIVEN)
def test_a_peers_kernel_is_given_x_and_out(name, modules, monkeypatch):
    """Also rows that are not contiguous, of which FlagGems and FlashInfer need copies."""
    monkeypatch.setattr(torch.cuda, "get_device_capability", lambda device: (9, 0))
    variant, calls = stand_in(modules, name)
    wide = torch.full((4, 60), 9.0)
    for x, out in (
        (torch.randn(4, 64), torch.empty(4, 64)),
        (torch.randn(4, 80)[:, :50], wide[:, :50]),
    ):
        assert variant.softmax(x, out) is out
        for y in (out, variant.softmax(x)):
            torch.testing.assert_close(y, torch.softmax(x, dim=-1))
    assert (wide[:, 50:] == 9).all()
    tensors = [argument for argument in calls[0] if isinstance(argument, torch.Tensor)]
    assert [t.shape for t in tensors] == [(4, 64)] * 2
    if name == "peer_liger":
        grid, _, out_stride, _, *rest = calls[2]
        settings = {"BLOCK_SIZE": 100, "num_warps": 7}
        assert (grid, out_stride, rest) == ((4,), 60, [80, 50, settings])
    if name == "peer_flashinfer":
        early, written, read = calls[2]
        assert early
        assert (written.stride(), read.stride()) == ((50, 1), (50, 1))
    if name == "peer_flaggems":
        grid, written, read, *sizes = calls[2]
        assert (written.stride(), read.stride()) == ((50, 1), (50, 1))
        assert (grid, sizes) == ((4, 1, 1), [4, 50, {}])


NO_GPU = "NVIDIA GPUs only"


@pytest.mark.parametrize("name", [*PEERS, *CONFIGS])
def test_without_a_gpu_a_peer_is_unsupported(name, modules):
    assert NO_GPU in stand_in(modules, name)[0].unsupported(torch.randn(4, 64))


def test_limits_of_peers(modules):
    unsupported = stand_in(modules, "peer_quack")[0].unsupported
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
    unsupported = stand_in(modules, "peer_liger")[0].unsupported
    assert NO_GPU in unsupported(torch.empty(1, 65_536))
    assert "N = 65537" in unsupported(torch.empty(1, 65_537))
    unsupported = stand_in(modules, "peer_flaggems")[0].unsupported
    most = torch.empty(2**16, 2**15, device="meta")
    assert "fewer than 2^31" in unsupported(most)
    assert NO_GPU in unsupported(most[1:])
    unsupported = stand_in(modules, "peer_flashinfer")[0].unsupported
    assert "float32 only" in unsupported(torch.empty(4, 64, dtype=torch.float16))
    for rows, cols, words in (
        (2**16, 2**16, "fewer than 2^32"),
        (128, 2**23 + 1, "workspace"),
        (200, 2**23 + 1, "workspace"),  # its first 128 rows would be split
        (128, 2**23, NO_GPU),
    ):
        assert words in unsupported(torch.empty(rows, cols, device="meta"))
    start = torch.zeros(4 * 64 + 1)[1:]
    assert "multiple of 16 bytes" in unsupported(start.view(4, 64))
    assert NO_GPU in unsupported(start[:255].view(3, 85))  # loads of one element


def test_flashinfer_without_a_cuda_toolkit_is_unavailable(modules, monkeypatch):
    def absent():
        raise RuntimeError("Could not find nvcc")

    variant, _ = stand_in(modules, "peer_flashinfer")
    fake(modules, "flashinfer.jit.cpp_ext", get_cuda_path=absent)
    with pytest.raises(ImportError, match=r"Could not find nvcc; .* apt install") as caught:
        variant.softmax(torch.randn(4, 64))
    assert status.classify(caught.value) == "unavailable"


def test_a_package_without_its_init(tmp_path, monkeypatch):
    """Its modules load, and what its __init__.py would import need not be there."""
    package = tmp_path / "heavy" / "inner"
    package.mkdir(parents=True)
    for folder in (package, package.parent):
        (folder / "__init__.py").write_text("import no_such_package")
    (package / "light.py").write_text("from . import other")
    (package / "other.py").write_text("")
    monkeypatch.syspath_prepend(tmp_path)
    _package.skip_init("heavy", "heavy.inner")
    try:
        assert importlib.import_module("heavy.inner.light").other.__name__ == "heavy.inner.other"
    finally:
        for name in [name for name in sys.modules if name.split(".")[0] == "heavy"]:
            del sys.modules[name]
