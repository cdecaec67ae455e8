"""Every CUDA C++ kernel, in every form a launch can ask for, compiles cleanly without a GPU."""

import io
import re

import pytest
import torch

import kernels
from kernels import _nvrtc
from tests.kernels.variants import CUDA

ARCHS = sorted(_nvrtc.SHARED_LIMIT)
DTYPES = [torch.float32, torch.float16, torch.bfloat16]
REGISTERS_PER_BLOCK = 65536  # of every compute capability from 5.3 on
# Every part of a warp; then every so many columns of a lane, the most among them; then one beyond
# 1024, from where on a kernel's form no longer depends on N.
COLUMNS = [*range(1, 33), 36, 64, 65, 66, 100, 128, 160, 257, 258, 260, 384, 512, 514, 516, 781]
COLUMNS += [800, 926, 929, 1000, 1001, 1022, 1023, 1024, 4096]


def forms(names, dtype: torch.dtype, arch: str) -> dict[str, dict[str, int]]:
    """source -> {C++ name: threads of a block} of all that these variants may launch."""
    found = {}
    for name in names:
        specialise = kernels.load(name).module.specialise
        for cols in COLUMNS:
            for pack in (p for p in (1, 2, 4) if cols % p == 0):
                for rows, log in ((7, False), (8, False), (7, True), (8, True)):
                    limit = _nvrtc.SHARED_LIMIT[arch]
                    for spec in specialise(_nvrtc.Call(dtype, rows, cols, pack, log, limit)):
                        found.setdefault(spec.source, {})[spec.kernel] = spec.threads
    return found


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
    wanted = forms(CUDA, dtype, arch)
    assert set(wanted) == {path.name for path in _nvrtc.FOLDER.glob("*.cu")}
    for source, threads in wanted.items():
        log = io.StringIO()
        binary = _nvrtc.build(source, tuple(threads), arch, log)
        assert "warning" not in log.getvalue(), log.getvalue()
        used = account(log.getvalue())
        for kernel, size in threads.items():
            registers, local = used[binary.symbol_mapping[kernel].decode()]
            assert local == 0, f"{kernel} on {arch} keeps {local} bytes in local memory"
            assert registers * size <= REGISTERS_PER_BLOCK, f"{kernel} on {arch} cannot start"
