"""Compiled CUDA C++ is kept between processes, and never taken for another's."""

import shutil
from pathlib import Path

import pytest
import torch

from kernels.cuda import nvrtc
from kernels.published.oneflow import cuda_oneflow_warp

PROBLEM = nvrtc.Problem(torch.float32, 64, 256, 4, False, nvrtc.GPUS["sm_90"])


@pytest.fixture
def built(tmp_path, monkeypatch):
    """Names of the kernels that were compiled; the cache and the sources are copies."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setattr(nvrtc, "INCLUDE", shutil.copytree(nvrtc.INCLUDE, tmp_path / "include"))
    source = cuda_oneflow_warp.SOURCE
    monkeypatch.setattr(cuda_oneflow_warp, "SOURCE", Path(shutil.copy(source, tmp_path)))
    compiled, build = [], nvrtc.build
    monkeypatch.setattr(
        nvrtc, "build", lambda *words, **more: compiled.append(words[1]) or build(*words, **more)
    )
    nvrtc._extra_key.cache_clear()
    yield compiled
    nvrtc._extra_key.cache_clear()


def once(arch="sm_90"):
    (spec, *_) = cuda_oneflow_warp.plan(PROBLEM)
    return spec, nvrtc.build_once(spec.source, spec.kernel, arch)


def test_a_kernel_is_compiled_once_for_an_architecture_and_its_sources(built):
    spec, first = once()
    _, second = once()
    assert built == [(spec.kernel,)]
    assert bytes(second.code) == bytes(first.code)
    assert second.symbol_mapping == first.symbol_mapping
    once("sm_80")
    for path in (spec.source, nvrtc.INCLUDE / "pack.cuh"):
        with path.open("a") as file:
            file.write(f"\nstruct Edited_{path.stem};\n")
        nvrtc._extra_key.cache_clear()  # as in another process
        once()
    assert len(built) == 4


def test_without_a_cache_it_is_compiled_all_the_same(built, tmp_path):
    (tmp_path / "cache").write_text("a file where the folder should be")
    once()
    _, found = once()
    assert len(built) == 2
    assert found.symbol_mapping
