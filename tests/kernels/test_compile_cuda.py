"""Every CUDA C++ kernel, in every form a launch can ask for, compiles cleanly without a GPU."""

import functools
import io
import re
import subprocess

import pytest
import torch

import kernels
from kernels import _nvrtc
from kernels._capability import CLUSTERS_SINCE
from tests.kernels.offline import CUOBJDUMP
from tests.kernels.variants import CUDA, FRONTIER, ONEFLOW

ARCHS = sorted(_nvrtc.GPUS)
DTYPES = [torch.float32, torch.float16, torch.bfloat16]
REGISTERS_PER_BLOCK = 65536  # of every compute capability from 5.3 on
COLUMNS = range(1, 1026)  # beyond 1024 a kernel's form no longer depends on N
# Of the frontier's, which have a form for every number of words of a lane, warps and blocks: units
# of each size, a warp's row, blocks of few and of many warps, clusters of each size, the whole GPU.
OF_FRONTIER = [6, 33, 64, 100, 256, 384, 781, 1024, 3000, 8320, 16384, 50257, 65536, 262144, 2**20]
TUNED = "sm_90"  # elsewhere each of the frontier's kernels has one form, without a table


def forms(names, dtype: torch.dtype, arch: str, columns=COLUMNS) -> dict[str, dict[str, int]]:
    """source -> {C++ name: threads of a block} of all that these variants may launch."""
    found, gpu = {}, _nvrtc.GPUS[arch]
    for specialise in (s for name in names for s in in_forms(name, arch)):
        for cols in columns:
            unit = cols & -cols
            for pack in (p for p in (1, 2, 4, 8) if p <= unit and p * dtype.itemsize <= 16):
                for rows, log in ((7, False), (8, False), (7, True), (8, True)):
                    for spec in specialise(_nvrtc.Call(dtype, rows, cols, pack, log, gpu)):
                        if spec.since <= gpu.capability:
                            found.setdefault(spec.source, {})[spec.kernel] = spec.threads
    return found


def in_forms(name: str, arch: str):
    """What chooses a variant's kernel, in each of the forms that the variant offers."""
    specialise = kernels.load(name).module.specialise
    offered = kernels.forms(name) if arch == TUNED else ()
    return [functools.partial(specialise, form=form) for form in offered] or [specialise]


def account(log: str) -> dict[str, tuple[int, int]]:
    """mangled name -> (registers, bytes of local memory) from ptxas's words, kernel by kernel."""
    found = {}
    for part in log.split("Compiling entry function '")[1:]:
        local = map(int, re.findall(r"(\d+) bytes (?:stack frame|spill stores|spill loads)", part))
        found[part.split("'")[0]] = (int(re.search(r"Used (\d+) registers", part)[1]), sum(local))
    return found


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("arch", ARCHS)
def test_every_form_of_every_kernel_compiles_without_a_warning_or_a_spill(arch, dtype):
    ours = [*FRONTIER, "cuda_backward"]
    wanted = forms(CUDA, dtype, arch) | forms(ours, dtype, arch, OF_FRONTIER)
    old = _nvrtc.GPUS[arch].capability < CLUSTERS_SINCE
    since_clusters = {f"frontier_{s}.cu" for s in ("ring", "grid", "spread")} if old else set()
    assert set(wanted) == {path.name for path in _nvrtc.FOLDER.glob("*.cu")} - since_clusters
    for source, threads in wanted.items():
        log = io.StringIO()
        binary = _nvrtc.build(source, tuple(threads), arch, log)
        assert "warning" not in log.getvalue(), log.getvalue()
        used = account(log.getvalue())
        for kernel, size in threads.items():
            registers, local = used[binary.symbol_mapping[kernel].decode()]
            assert local == 0, f"{kernel} on {arch} keeps {local} bytes in local memory"
            assert registers * size <= REGISTERS_PER_BLOCK, f"{kernel} on {arch} cannot start"


def global_accesses(binary: bytes, folder) -> dict[str, set[str]]:
    """mangled name -> widths of its loads from and stores to global memory, as SASS has them."""
    cubin = folder / "kernels.cubin"
    cubin.write_bytes(binary)
    sass = subprocess.check_output([CUOBJDUMP, "-sass", cubin], text=True)
    return {
        part.split()[0]: set(re.findall(r"\b(?:LDG|STG)\.E(?:\.(U16|64|128))?\b", part))
        for part in sass.split("Function : ")[1:]
    }


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_a_pack_is_moved_by_one_instruction(dtype, tmp_path):
    """Unrolled loops once had their stores split into elements: 40 % of the speed, no warning."""
    width = {2: "U16", 4: "", 8: "64", 16: "128"}
    # the compiler's choice depends on the loops, not on how many columns a lane has
    for source, threads in forms(ONEFLOW, dtype, "sm_90", [16, 31, 780, 782, 1024, 1025]).items():
        binary = _nvrtc.build(source, tuple(threads), "sm_90")
        found = global_accesses(binary.code, tmp_path)
        for kernel in threads:
            pack = int(kernel.removesuffix(">").split(", ")[2])
            expected = {width[pack * dtype.itemsize]}
            assert found[binary.symbol_mapping[kernel].decode()] == expected, kernel
