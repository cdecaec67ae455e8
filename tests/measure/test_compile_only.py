"""CUDA C++ where there is no GPU: compiled, not run, and the row says so."""

import shutil


def test_it_is_compiled_for_two_gpus_or_for_the_one_that_holds_the_row(bench):
    row = bench.row("cuda_oneflow", N=2048)
    assert row["status"] == "unsupported"
    assert "an NVIDIA GPU and its driver are needed" in row["message"]
    assert "compiled for sm_80 and sm_90 without error" in row["message"]
    assert row["time_us"] == ""
    assert float(row["compile_s"]) > 0
    assert row["nvrtc"].startswith("13.")
    assert row["cuda_core"]
    row = bench.row("cuda_oneflow_smem", N=50_000)
    assert "compiled for sm_90 without error, beyond the limits of sm_80" in row["message"]


def test_the_kernels_of_another_operation_are_compiled_too(bench):
    row = bench.row("frontier_logits", op="cross_entropy_and_gradient", N=4096)  # two kernels
    assert row["status"] == "unsupported"
    assert "compiled for sm_80 and sm_90 without error" in row["message"]
    assert float(row["compile_s"]) > 0.1, "the time of a compiler"


def test_a_kernel_that_no_compiler_takes_is_said(bench):
    source = bench.project / "kernels/logits/logits_backward.cu"
    whole = source.read_text(encoding="utf-8")
    source.write_text(whole + "nonsense", encoding="utf-8")
    try:
        row = bench.row("frontier_logits", op="cross_entropy_and_gradient", served=False)
        forward = bench.row("frontier_logits", op="cross_entropy", served=False)
    finally:
        source.write_text(whole, encoding="utf-8")
    assert row["status"] == "compile_error"
    assert "nonsense" in row["message"]
    assert "compiled for sm_80 and sm_90" in forward["message"]


def test_a_variant_of_its_own_kind_is_not_compiled(bench):
    source = "from cuda.core import launch\n\ndef softmax(x, out=None):\n    raise SystemExit\n"
    bench.add("own_kind", source)
    row = bench.row("own_kind")
    assert (row["status"], row["message"]) == ("unsupported", "it is not timed without a GPU")


def test_without_cuda_core_it_is_unavailable(bench):
    absent = bench.project / "cuda"
    absent.mkdir()
    (absent / "__init__.py").write_text(
        "raise ModuleNotFoundError('no cuda.core')", encoding="utf-8"
    )
    try:
        row = bench.row("cuda_oneflow", N=2048, served=False)
        assert bench.row("torch_softmax", served=False)["status"] == "ok", "others do not need it"
    finally:
        shutil.rmtree(absent)
    assert (row["status"], row["nvrtc"]) == ("unavailable", "")
    assert "install the package that it needs" in row["message"]
