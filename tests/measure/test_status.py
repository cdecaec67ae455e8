"""From exceptions, as torch and Triton raise them, to statuses."""

import pytest
import torch
from cuda.core._utils.cuda_utils import CUDAError, NVRTCError
from cuda.pathfinder import DynamicLibNotFoundError
from triton.compiler.errors import UnsupportedLanguageConstruct
from triton.runtime.errors import OutOfResources, PTXASError

from measure import status as outcome
from measure.row import SCHEMA


@pytest.mark.parametrize(
    ("error", "status"),
    [
        (torch.OutOfMemoryError("CUDA out of memory"), "out_of_memory"),
        (RuntimeError("Triton Error [CUDA]: out of memory"), "out_of_memory"),
        (OutOfResources(300_000, 232_448, "shared memory"), "unsupported"),
        (UnsupportedLanguageConstruct("try: pass", None, "no try"), "compile_error"),
        (PTXASError("ptxas failed"), "compile_error"),
        (RuntimeError("PassManager::run failed"), "compile_error"),
        (NVRTCError("6: NVRTC_ERROR_COMPILATION"), "compile_error"),
        (CUDAError("CUDA_ERROR_OUT_OF_MEMORY: no room"), "out_of_memory"),
        (CUDAError("CUDA_ERROR_ILLEGAL_ADDRESS"), "crash"),
        (DynamicLibNotFoundError("libnvrtc"), "unavailable"),
        (ValueError("PassManager::run failed"), "crash"),
        (ValueError("out of memory"), "crash"),
    ],
)
def test_statuses(error, status):
    assert outcome.classify(error) == status
    assert type(error).__name__ in outcome.describe(error)


def test_a_missing_package_is_told_what_to_do():
    assert "install the package" in outcome.describe(ModuleNotFoundError("No module named 'x'"))
    for error in (ValueError("no"), ImportError("cannot import name 'x' from 'torch'")):
        assert "install" not in outcome.describe(error)


def test_statuses_are_those_of_the_schema():
    assert tuple(outcome.Status) == SCHEMA["status"].allowed
