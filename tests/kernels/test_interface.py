"""The package's interface: names, loading, and what a variant's identity is made of."""

import ast

import pytest
import torch

import kernels
from kernels.registry import dependencies, discover
from tests.kernels.variants import loaded

CACHED = discover._files, kernels.ops, kernels.sources, kernels.sha256, kernels.packages


@pytest.mark.parametrize("name", kernels.names())
def test_every_variant_has_the_interface(name):
    text = ast.get_docstring(ast.parse(kernels.file(name).read_text()))
    for part in ("Source:", "Bytes:"):
        assert part in text, f"the docstring of kernels/{name}.py lacks {part}"
    variant = loaded(name)
    assert variant.name == name
    assert {op for op in kernels.OPS if getattr(variant, op)} == kernels.ops(name)
    for x, words in (
        (torch.zeros(3), "1 dimensions"),
        (torch.zeros(2, 3, dtype=torch.float64), "float64"),
        (torch.zeros(0, 3), "no elements"),
        (torch.zeros(3, 2).t(), "column stride"),
    ):
        assert words in variant.unsupported(x)


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("triton_onlin", "did you mean triton_online"),
        ("zzzzzz", "there are: "),
        ("frontier_rows__k3w16", "did you mean frontier_rows__k"),
        ("triton_row__k3", "did you mean triton_row"),
        ("frontier_row__k2w16", "did you mean frontier_rows"),
    ],
)
def test_an_unknown_name_is_answered_with_close_ones(name, words):
    with pytest.raises(KeyError, match=words):
        kernels.load(name)


def test_sources_follow_cuda_sources_and_their_headers():
    files = {path.name for path in kernels.sources("cuda_fastertransformer_v2")}
    assert {f for f in files if f.endswith((".cu", ".cuh"))} == {"fastertransformer.cu", "row.cuh"}
    files = {path.name for path in kernels.sources("frontier")}
    assert {"frontier_spread.cu", "vec.cuh", "_tuning.py", "h200.csv"} <= files


def test_a_variant_may_have_some_operations_alone():
    for name, op in (("triton_online", "log_softmax"), ("triton_backward", "softmax")):
        with pytest.raises(NotImplementedError, match=f"{name} has no {op}"):
            kernels.load(name).function(op)
    for op in ("softmax_backward", "log_softmax_backward"):
        assert kernels.names(op) == ["cuda_backward", "torch_softmax", "triton_backward"]
        assert "triton_row" not in kernels.by_default(op)
    found = kernels.by_default("softmax")
    assert "frontier" in found
    assert not [name for name in found if name.startswith(("peer_", "frontier_"))]


def test_a_row_longer_than_a_triton_block_is_unsupported_where_a_row_is_a_block():
    x = torch.empty(1, 2**20 + 1)
    for name in ("triton_fused", "triton_row", "triton_persistent"):
        assert "largest block" in kernels.load(name).unsupported(x)
    assert kernels.load("triton_online").unsupported(x) is None


def test_a_config_is_a_variant_with_the_hash_of_its_file():
    variant = kernels.load("frontier_rows__k2w16")
    assert callable(variant.softmax)
    assert callable(variant.log_softmax)
    assert kernels.sha256(variant.name, "cpu") == kernels.sha256("frontier_rows", "cpu")
    assert kernels.ops(variant.name) == {"softmax", "log_softmax"}


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """An empty family in place of those of kernels/, for files of any kind."""
    monkeypatch.setattr(discover, "FOLDER", tmp_path)
    monkeypatch.setattr(dependencies, "FOLDER", tmp_path)
    for function in CACHED:
        function.cache_clear()
    (tmp_path / "published").mkdir()
    yield tmp_path / "published"
    for function in CACHED:
        function.cache_clear()


def test_what_an_editor_leaves_is_no_variant_and_a_broken_file_is_one(folder):
    (folder / "mine.py").write_text("def softmax(x, out=None)\n")
    (folder / "my-kernel.py").write_text("")
    (folder / "_helper.py").write_text("")
    (folder / ".#mine.py").symlink_to("nobody@nowhere")
    assert kernels.names() == ["mine"]
    assert len(kernels.sha256("mine", "cpu")) == 64
    assert kernels.packages("mine") == frozenset()


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("def log_softmax(x, out=None): ...", {"log_softmax"}),
        ("from .a import f as softmax", {"softmax"}),
        ("softmax = softmax_backward = print", {"softmax", "softmax_backward"}),
        ("softmax, log_softmax = f()\ntable[softmax_backward] = 1", {"softmax", "log_softmax"}),
        ("def softmaks(x, out=None): ...", set(kernels.OPS)),
        ("def softmax(", set(kernels.OPS)),
    ],
)
def test_the_functions_of_a_file_are_read_from_its_text(folder, text, found):
    (folder / "mine.py").write_text(text)
    assert kernels.ops("mine") == found


@pytest.mark.parametrize(
    "line",
    [
        "from ._b import f",
        "from . import _b",
        "from ..published._b import f",
        "from kernels.published._b import f",
        "import kernels.published._b",
    ],
)
def test_every_kind_of_import_is_followed(folder, line):
    (folder / "a.py").write_text(f"{line}\n")
    (folder / "_b.py").write_text("import triton.language as tl\nfrom triton import jit\n")
    assert [path.name for path in kernels.sources("a")] == ["_b.py", "a.py"]
    assert "triton" in kernels.packages("a")


def test_two_kernels_of_one_name_are_refused(folder):
    (folder / "deeper").mkdir()
    for path in (folder / "a.py", folder / "deeper" / "a.py"):
        path.write_text("")
    with pytest.raises(kernels.BadKernel, match=r"two kernels are named 'a'.*rename one"):
        kernels.names()
