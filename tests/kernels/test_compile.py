"""Every Triton kernel compiles for GPUs that are not here, as a launch there would compile it."""

import pytest

import kernels
from tests.kernels.helpers.offline import compiled, resources
from tests.kernels.helpers.variants import CONTRIBUTED
from tests.marks import slow

TRITON = [name for name in kernels.names("softmax") if "triton" in kernels.packages(name)]
BACKWARD = {128: "rows", 781: "rows", 16384: "rows", 100_000: "tiled"}  # length -> kernel
DROPIN = {"softmax_bwd_kernel_rows", "softmax_bwd_kernel_tiled", "softmax_fwd_kernel_rows"}
DROPIN |= {
    f"softmax_{way}_kernel_inner{form}" for way in ("fwd", "bwd") for form in ("", "_chunks")
}
# Few bytes, stored and loaded once for 4096 rows.
SPILLED = {(80, "softmax_fwd_kernel_inner_chunks", dtype): 24 for dtype in ("float16", "bfloat16")}


def launches(dtype: str, *jobs: tuple) -> str:
    """Return the code that launches (variant, operation, columns) each."""
    return f"for gpu.job in {jobs}: offline.launch(*gpu.job, torch.{dtype})\n"


# One of each kind: the compiler's choices depend on the GPU and the type, the code does not.
@pytest.mark.parametrize("dtype", ["float32", slow("float16"), slow("bfloat16")])
@pytest.mark.parametrize("arch", [90, slow(80)])
def test_every_triton_kernel_compiles_and_none_spills(arch, dtype):
    # rows that are and are not a multiple of 16, for which Triton compiles apart
    jobs = [(name, "softmax", cols) for cols in (781, 4096) for name in TRITON]
    for op in ("softmax_backward", "log_softmax_backward"):
        jobs += [("triton_backward", op, cols) for cols in BACKWARD]
    dropin = f"gpu.job = ['drop-in', '', 0]; offline.launch_dropin(torch.{dtype})"
    reports = compiled(launches(dtype, *jobs) + dropin, arch)
    for job, name, cubin in reports:
        registers, spilled_bytes = resources(cubin)[name]
        allowed = SPILLED.get((arch, name, dtype), 0)
        assert 8 <= registers <= 255, (job, name)
        assert spilled_bytes <= allowed, (job, name)
    # a contributed kernel may take neither length
    launched = {variant for (variant, *_), *_ in reports}
    assert launched | {*CONTRIBUTED} == {*TRITON, *CONTRIBUTED, "triton_backward", "drop-in"}
    assert {name for _, name, _ in reports} >= DROPIN
    backward = [(job[2], name) for job, name, _ in reports if job[0] == "triton_backward"]
    expected = [(cols, f"softmax_bwd_kernel_{kernel}") for cols, kernel in BACKWARD.items()]
    assert backward == expected * 2


def test_a_row_that_does_not_fit_in_registers_spills():
    """What the row's spilled_bytes is for: seen where the article's numbers fall off."""
    jobs = [("triton_fused", "softmax", cols) for cols in (16384, 131072)]
    reports = compiled(launches("float32", *jobs), 80)
    fits, spills = (resources(cubin)[name][1] for _, name, cubin in reports)
    assert fits == 0 < spills
