"""CUDA C++ is compiled once, kept between processes, and its compiler opens no file."""

import errno
import os
import pwd
import shutil
import sys
from pathlib import Path

import pytest
import torch

from kernels.cuda import cache, nvrtc, sources
from kernels.cuda.plan import GPUS, Problem
from kernels.published.oneflow import cuda_oneflow_warp
from tests import processes


@pytest.fixture
def built(tmp_path, monkeypatch):
    """Names of the kernels that were compiled; the cache and the sources are copies."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.delenv(cache.VARIABLE, raising=False)
    monkeypatch.setattr(sources, "INCLUDE", shutil.copytree(sources.INCLUDE, tmp_path / "include"))
    source = cuda_oneflow_warp.SOURCE
    monkeypatch.setattr(cuda_oneflow_warp, "SOURCE", Path(shutil.copy(source, tmp_path)))
    compiled, build = [], nvrtc.build
    monkeypatch.setattr(nvrtc, "build", lambda *it: compiled.append(it[1]) or build(*it))
    return compiled


def launched():
    (spec,) = cuda_oneflow_warp.plan(Problem(torch.float32, 64, 256, 4, False, GPUS["sm_90"]))
    return spec


def once(arch="sm_90"):
    spec = launched()
    return spec, nvrtc.build_once(spec.source, spec.kernel, arch)


def test_a_kernel_is_compiled_once_for_an_architecture_and_its_sources(built):
    spec, first = once()
    _, second = once()
    assert built == [(spec.kernel,)]
    assert bytes(second.code) == bytes(first.code)
    assert second.symbol_mapping == first.symbol_mapping
    once("sm_80")
    for path in (spec.source, sources.INCLUDE / "pack.cuh"):
        with path.open("a", encoding="utf-8") as file:
            file.write(f"\nstruct Edited_{path.stem};\n")
        once()
    assert len(built) == 4


def shorten(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:1000])


def flip_a_bit(path: Path) -> None:
    content = bytearray(path.read_bytes())
    content[-1] ^= 1
    path.write_bytes(content)


@pytest.mark.parametrize("damage", [shorten, flip_a_bit, lambda path: path.write_bytes(b"")])
def test_a_damaged_binary_is_built_again_and_replaced(damage, built, tmp_path):
    _, first = once()
    (kept,) = (path for path in (tmp_path / "cache").rglob("*") if path.is_file())
    whole = kept.read_bytes()
    damage(kept)
    for _ in range(2):
        _, again = once()
        assert bytes(again.code) == bytes(first.code)
    assert len(built) == 2
    assert kept.read_bytes() == whole


def full_disk(*arguments):
    raise OSError(errno.ENOSPC, "No space left on device")


def test_where_nothing_can_be_kept_a_call_compiles_once(built, tmp_path, monkeypatch):
    monkeypatch.setattr(os, "fsync", full_disk)
    once()
    assert len(built) == 1
    assert not [path for path in (tmp_path / "cache").rglob("*") if path.is_file()]
    monkeypatch.undo()
    (tmp_path / "a file").touch()
    monkeypatch.setenv(cache.VARIABLE, str(tmp_path / "a file"))
    _, binary = once()
    assert binary.symbol_mapping


def no_home():
    raise KeyError("getpwuid(): uid not found: 12345")


# (environment, folder of the cache; None: the user has none)
FOLDERS = [
    ({"HOME": "/h"}, "/h/.cache/softmax_bench"),
    ({"HOME": "/h", "XDG_CACHE_HOME": "/x"}, "/x/softmax_bench"),
    ({"HOME": "/h", "XDG_CACHE_HOME": "x"}, "/h/.cache/softmax_bench"),
    ({"HOME": "/h", cache.VARIABLE: "~/kept"}, "/h/kept"),
    ({cache.VARIABLE: "/named"}, "/named"),
    ({cache.VARIABLE: "~/kept"}, None),
    ({"XDG_CACHE_HOME": "x"}, None),
    ({}, None),
]


@pytest.mark.parametrize(("environment", "expected"), FOLDERS)
def test_the_folder_of_the_cache(environment, expected, monkeypatch):
    for name in ("HOME", "XDG_CACHE_HOME", cache.VARIABLE):
        monkeypatch.delenv(name, raising=False)
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr(pwd, "getpwuid", lambda uid: no_home())
    assert cache.folder() == (expected and Path(expected))
    if expected is None:
        assert cache.size() == 0
        assert cache.read(b"key") is None
        cache.write(b"key", b"symbol", b"binary")


def test_no_name_of_a_folder_or_locale_keeps_headers_from_the_compiler(tmp_path):
    """NVRTC opens files by names in the encoding of the locale."""
    folder = tmp_path / "größe" / "核"
    shutil.copytree(sources.INCLUDE.parent, folder)
    source = shutil.copy(cuda_oneflow_warp.SOURCE, folder / "Quelle_ü.cu")
    code = f"""
import os
from pathlib import Path
from kernels.cuda import nvrtc, sources
sources.INCLUDE = Path(os.fsdecode({os.fsencode(folder / "include")}))
source = Path(os.fsdecode({os.fsencode(source)}))
nvrtc.build(source, ("{launched().kernel}",), "sm_90")
"""
    locale = {"LC_ALL": "C", "PYTHONCOERCECLOCALE": "0", "PYTHONUTF8": "0"}
    processes.run(sys.executable, "-c", code, env={**os.environ, **locale})


def test_a_message_names_the_header_and_its_line(tmp_path):
    """Also where a header lies beside the source, and what follows it is wrong."""
    (tmp_path / "own.cuh").write_text(
        "#pragma once\nint right;\nint wrong\n;nonsense;\n", encoding="utf-8"
    )
    source = tmp_path / "own.cu"
    source.write_text('#include "own.cuh"\n#include "own.cuh"\n\nrubbish;\n', encoding="utf-8")
    with pytest.raises(Exception, match=r"(?s)own\.cuh\(4\): error.*own\.cu\(4\): error"):
        nvrtc.build(source, ("f",), "sm_90")
