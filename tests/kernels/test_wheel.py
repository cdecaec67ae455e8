"""The wheel: what it holds, what it needs, and that it works beside Hugging Face's kernels."""

import os
import re
import sys
import sysconfig
import tomllib
import zipfile
from pathlib import Path

import pytest
from packaging.requirements import Requirement

from kernels.registry import source_scan
from measure import ROOT
from tests.processes import run

KERNELS = ROOT / "kernels"
CORPUS = "published", "peers", "contributed", "registry"
HUGGING_FACES = "kernels==0.17.2"  # named like the folder; transformers imports it


@pytest.fixture(scope="module")
def wheel(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("wheel")
    run(sys.executable, "-m", "hatchling", "build", "--target", "wheel", "--directory", folder)
    (path,) = folder.glob("softmax_bench-*-py3-none-any.whl")
    return path


def test_it_holds_the_library_and_nothing_of_the_corpus(wheel):
    with zipfile.ZipFile(wheel) as file:
        names = [Path(name) for name in file.namelist()]
        written = {name: file.read(f"softmax_bench/__{name}__.py") for name in ("init", "main")}
    inside = {name.relative_to("softmax_bench") for name in names if "dist-info" not in str(name)}
    files = {path.relative_to(KERNELS) for path in KERNELS.rglob("*") if path.is_file()}
    files = {path for path in files if not {"__pycache__", *CORPUS} & {*path.parts}}
    assert inside == files - {Path("library.py"), Path("commands.py")}
    assert written["init"] == (KERNELS / "library.py").read_bytes()
    assert written["main"] == (KERNELS / "commands.py").read_bytes()


EVERY_MODULE = """
import importlib, os, pkgutil, sys
import softmax_bench
assert "torch" not in sys.modules
names = ["cross_entropy", "integrate", "log_softmax", "logsumexp", "replace_torch"]
assert dir(softmax_bench) == [*names, "sampling_softmax", "softmax", "token_log_probs"]
for name in dir(softmax_bench):
    assert getattr(softmax_bench, name) is vars(softmax_bench)[name]
modules = list(pkgutil.walk_packages(softmax_bench.__path__, "softmax_bench."))
for module in modules:
    if not module.name.endswith("__main__"):
        importlib.import_module(module.name)
assert len(modules) > 30
assert not {"kernels", "operations", "measure"} & set(sys.modules)
"""


def test_it_needs_nothing_of_the_repository(wheel, tmp_path, monkeypatch):
    """All modules can be imported, and the commands are the library's."""
    with zipfile.ZipFile(wheel) as file:
        file.extractall(tmp_path)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    run(sys.executable, "-c", EVERY_MODULE, cwd=tmp_path)
    output = run(sys.executable, "-m", "softmax_bench", cwd=tmp_path)
    commands = re.findall(r"^    ([a-z-]+)  ", output, re.MULTILINE)
    assert commands == ["info", "warm-up"]
    assert "softmax-bench" in run(sys.executable, "-m", "softmax_bench", "info", cwd=tmp_path)


def test_it_asks_for_few_packages_in_ranges():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    needed = {(r := Requirement(line)).name: r.specifier for line in project["dependencies"]}
    assert {*needed} == {"torch", "triton", "cuda-core", "cuda-bindings", "nvidia-cuda-nvrtc"}
    for specifier in needed.values():
        assert {limit.operator for limit in specifier} == {">=", "<"}


def test_the_package_may_have_any_name():
    for path in KERNELS.rglob("*.py"):
        tops = {name.partition(".")[0] for dots, name in source_scan.imports(path) if not dots}
        assert "kernels" not in tops, path


@pytest.fixture(scope="module")
def python(wheel, tmp_path_factory) -> Path:
    """A Python that has the wheel and Hugging Face's package; all else is that of these tests."""
    folder = tmp_path_factory.mktemp("environment")
    run(sys.executable, "-m", "venv", "--without-pip", folder)
    python = folder / "bin" / "python"
    pip = [sys.executable, "-m", "pip", "--python", python, "install", "--quiet"]
    try:
        run(*pip, HUGGING_FACES)
    except AssertionError as error:
        if os.environ.get("CI"):
            raise
        pytest.skip(f"pip cannot install {HUGGING_FACES}: {error}")
    run(*pip, "--no-deps", wheel)
    (packages,) = (folder / "lib").glob("python*/site-packages")
    # torch takes gigabytes; what is installed here comes first
    (packages / "outer.pth").write_text(sysconfig.get_paths()["purelib"], encoding="utf-8")
    return python


BESIDE = """
import kernels, softmax_bench, torch
kernels.get_kernel
x = torch.randn(3, 4)
assert torch.equal(softmax_bench.softmax(x, 1), torch.softmax(x, 1))
print(softmax_bench.__file__)
"""


@pytest.mark.slow  # it installs packages
def test_it_works_beside_hugging_faces_kernels(python, tmp_path):
    assert run(python, "-c", BESIDE, cwd=tmp_path).startswith(str(python.parents[1]))
    assert "softmax-bench      0.1.0" in run(python, "-m", "softmax_bench", "info", cwd=tmp_path)
