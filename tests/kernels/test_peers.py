"""Other projects' kernels without a GPU: absent packages, pins, limits, arguments."""

import importlib
import sys
from types import SimpleNamespace

import pytest
import torch

import kernels
from kernels.peers import _package
from measure import status
from tests.kernels.helpers.fake_peers import fake
from tests.kernels.helpers.variants import PEERS, PEERS_OF_LOGITS
from tools import pins

PACKAGES = {  # variant -> module that it needs
    "peer_quack": "quack",
    "peer_liger": "liger_kernel",
    "peer_flaggems": "flag_gems",
    "peer_helion": "helion",
    "peer_flashinfer": "flashinfer",
    "peer_tileops": "tileops",
    "peer_trl": "trl",
    "peer_liger_logits": "liger_kernel",
    "peer_quack_logits": "quack",
    "peer_quack_return_dx": "quack",
}
COMPILERS = {"peer_tileops": {"tilelang"}}  # imported beside the package
GROUPS = {
    "peer_flaggems": "flaggems",
    "peer_flashinfer": "flashinfer",
    "peer_trl": "trl",
}  # the others': peers
# Module of TileOPs -> its kernels, which only a GPU runs: test_peers_gpu.py
TILEOPS = {
    "softmax": ["SoftmaxKernel", "SoftmaxSplitKernel", "SoftmaxStreamingKernel"],
    "softmax_on_chip": ["SoftmaxClusterSplitKernel", "SoftmaxOnChipKernel"],
    "softmax_warp_rows": ["SoftmaxWarpRowsKernel"],
}
CONFIGS = ["peer_compile__max", "peer_helion__pretuned"]  # one case each, in `make test-all`


@pytest.fixture
def modules():
    """sys.modules without the peers and their packages; afterwards as it was, as to these."""

    def remove() -> dict:
        ours = {f"kernels.peers.{name}" for name in PACKAGES}
        packages = {*PACKAGES.values(), "tilelang"}
        names = [n for n in sys.modules if n in ours or n.split(".")[0] in packages]
        return {name: sys.modules.pop(name) for name in names}

    before = remove()
    yield sys.modules
    remove()
    sys.modules.update(before)


def stand_in(modules, name: str):
    """Return a peer whose package is a stand-in, and a list of what its kernels are given."""
    calls = []

    def quack(x, out):
        calls.append((x, out))
        torch.softmax(x, dim=-1, out=out)

    class TritonKernel:
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
        def softmax(self, workspace, x, out, temperatures, temperature, early):
            assert (workspace.nbytes, temperatures, temperature) == (2**20, None, 1.0)
            calls.append((early, out, x))
            torch.softmax(x, dim=-1, out=out)

    flashinfer = SimpleNamespace(build_and_load=FlashInfer)
    fake(modules, "quack.softmax", _softmax_fwd=quack)
    fake(modules, "liger_kernel.ops.softmax", _softmax_single_block_forward_kernel=TritonKernel())
    fake(modules, "liger_kernel.ops.utils", calculate_settings=lambda n: (2 * n, 7))
    fake(modules, "flag_gems.ops.softmax", softmax_kernel_inner=SimpleNamespace(fn=TritonKernel()))
    fake(modules, "helion.language", tile=lambda rows: [slice(0, 2), slice(2, rows)])
    fake(modules, "helion", kernel=helion_kernel, Config=dict, language=modules["helion.language"])
    fake(modules, "flashinfer.jit.sampling", gen_sampling_module=lambda: flashinfer)
    fake(modules, "flashinfer.jit.cpp_ext", get_cuda_path=lambda: "/usr/local/cuda")
    fake(modules, "tilelang", set_log_level=calls.append)
    fake(
        modules, "tilelang.contrib", nvcc=SimpleNamespace(find_cuda_path=lambda: "/usr/local/cuda")
    )
    reduction = "tileops._kernels.reduction"
    fake(modules, f"{reduction}.call_spec", SoftmaxCall=None)
    for module, classes in TILEOPS.items():
        fake(modules, f"{reduction}.{module}", **dict.fromkeys(classes))
    return kernels.load(name), calls


@pytest.mark.parametrize(("name", "package"), PACKAGES.items())
def test_an_absent_package_is_unavailable_and_says_how_to_get_it(name, package, modules):
    modules[package] = None  # importing it fails, installed or not
    with pytest.raises(ImportError) as caught:
        kernels.load(name)
    assert status.classify(caught.value) == "unavailable"
    message = status.describe(caught.value)
    assert package in message
    assert "`make peers` installs" in message


def test_every_package_of_a_peer_is_pinned_in_its_group():
    for name in (*PEERS, *PEERS_OF_LOGITS):
        group = pins.groups()[GROUPS.get(name, "peers")]
        pinned = {requirement.name.replace("-", "_") for requirement in group}
        needed = kernels.packages(name) - set(sys.stdlib_module_names) - {"torch", "kernels"}
        expected = {PACKAGES[name]} if name in PACKAGES else set()
        assert needed == expected | COMPILERS.get(name, set())
        for module in needed:
            assert {module, f"{module}_kernels", f"{module}_python"} & pinned


@pytest.mark.parametrize("name", ["peer_helion", "peer_helion__pretuned"])
def test_helion_gets_a_right_kernel_for_a_length_of_row(name, modules):
    variant, compiled = stand_in(modules, name)
    for op in ("softmax", "log_softmax"):
        for rows, dtype in ((5, torch.float32), (4, torch.float32), (5, torch.bfloat16)):
            x, out = torch.randn(rows, 50).to(dtype), torch.empty(rows, 60, dtype=dtype)[:, :50]
            assert variant.function(op)(x, out) is out
            right = getattr(torch, op)(x.double(), dim=-1)
            tolerance = 1e-6 if dtype == torch.float32 else 2e-2
            torch.testing.assert_close(out.double(), right, rtol=tolerance, atol=tolerance)
    assert len(compiled) == 2  # one for each operation
    assert all(settings.pop("static_shapes") for settings in compiled)
    if name == "peer_helion":
        assert compiled == [{"autotune_effort": "none"}] * 2
    else:
        assert [settings["config"]["num_warps"] for settings in compiled] == [1, 1]
        pretuned = sys.modules["kernels.peers.peer_helion"]._pretuned
        ends = [pretuned(cols)["num_warps"] for cols in (2048, 2049, 7552, 7553, 7680, 7681)]
        assert ends == [1, 8, 8, 16, 16, 8]


# The strides of x and out, or of out and x, in the order in which a kernel takes them
@pytest.mark.parametrize(
    ("name", "strides"),
    [
        ("peer_quack", [80, 60]),
        ("peer_liger", [60, 80]),
        ("peer_flaggems", [50, 50]),
        ("peer_flashinfer", [50, 50]),
    ],
)
def test_a_peers_kernel_is_given_x_and_out(name, strides, modules, monkeypatch):
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
    assert [t.stride(0) for t in calls[2] if isinstance(t, torch.Tensor)] == strides


def test_tileops_refuses_a_gpu_that_it_has_no_kernels_for(modules, monkeypatch):
    variant, _ = stand_in(modules, "peer_tileops")
    monkeypatch.setattr(_package, "unsupported", lambda x: None)
    for capability in ((10, 0), (9, 0)):
        monkeypatch.setattr(torch.cuda, "get_device_capability", lambda device, c=capability: c)
        reason = variant.unsupported(torch.zeros(4, 64))
        assert reason is None or "compute capability 10.0" in reason
        assert (reason is None) == (capability == (9, 0))


NO_GPU = "NVIDIA GPUs only"


def cut(start: int, cols: int, dtype=torch.float32, width=1040) -> torch.Tensor:
    """Return 4 rows, ``start`` elements into rows of ``width``."""
    return torch.zeros(4, width, dtype=dtype)[:, start : start + cols]


def meta(rows: int, cols: int) -> torch.Tensor:
    return torch.empty(rows, cols, device="meta")


SHIFTED = torch.zeros(4 * 64 + 1)[1:]
LIMITS = [  # NO_GPU: no other limit applies
    ("peer_quack", cut(0, 1022), "multiples of 4"),
    ("peer_quack", cut(4, 1016, torch.float16), "do not begin"),
    ("peer_quack", cut(8, 1016, torch.float16), NO_GPU),
    ("peer_quack", cut(0, 1020, width=1022), "do not begin"),
    ("peer_quack", cut(0, 1020, width=1022)[:1], NO_GPU),
    ("peer_liger", meta(1, 65_536), NO_GPU),
    ("peer_liger", meta(1, 65_537), "N = 65537"),
    ("peer_flaggems", meta(2**16, 2**15), "fewer than 2^31"),
    ("peer_flaggems", meta(2**16 - 1, 2**15), NO_GPU),
    ("peer_flashinfer", meta(4, 64).half(), "float32 only"),
    ("peer_flashinfer", meta(2**16, 2**16), "fewer than 2^32"),
    ("peer_flashinfer", meta(128, 2**23 + 1), "workspace"),
    ("peer_flashinfer", meta(128, 2**23), NO_GPU),
    ("peer_flashinfer", SHIFTED.view(4, 64), "multiple of 16 bytes"),
    ("peer_flashinfer", SHIFTED[:255].view(3, 85), NO_GPU),  # loads of one element
    ("peer_helion__pretuned", meta(1, 32769), "tuned its configurations up to N = 32768"),
    *((name, torch.zeros(4, 64), NO_GPU) for name in (*PEERS, *CONFIGS)),
]


def test_limits_of_peers(modules):
    for name, x, words in LIMITS:
        assert words in stand_in(modules, name)[0].unsupported(x), (name, x.shape)


@pytest.mark.parametrize("name", ["peer_flashinfer", "peer_tileops"])
def test_a_peer_without_a_cuda_toolkit_is_unavailable(name, modules, monkeypatch):
    def absent():
        raise RuntimeError("Could not find nvcc")

    variant, _ = stand_in(modules, name)
    modules["flashinfer.jit.cpp_ext"].get_cuda_path = absent
    modules["tilelang.contrib"].nvcc.find_cuda_path = absent
    with pytest.raises(ImportError, match=r"Could not find nvcc; .* apt install") as caught:
        variant.softmax(torch.randn(4, 64))
    assert status.classify(caught.value) == "unavailable"


def test_a_package_that_is_there_can_be_left_out(modules, tmp_path, monkeypatch):
    (tmp_path / "heavy.py").write_text("", encoding="utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    with _package.without("heavy"), pytest.raises(ImportError):
        importlib.import_module("heavy")
    heavy = importlib.import_module("heavy")
    with _package.without("heavy"):  # a loaded module takes no time
        assert importlib.import_module("heavy") is heavy


def test_a_package_without_its_init(modules, tmp_path, monkeypatch):
    """Its modules load, and what its __init__.py would import need not be there."""
    package = tmp_path / "quack" / "inner"
    package.mkdir(parents=True)
    for folder in (package, package.parent):
        (folder / "__init__.py").write_text("import no_such_package", encoding="utf-8")
    (package / "light.py").write_text("from . import other", encoding="utf-8")
    (package / "other.py").write_text("", encoding="utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    _package.skip_init("quack", "quack.inner")
    assert importlib.import_module("quack.inner.light").other.__name__ == "quack.inner.other"
