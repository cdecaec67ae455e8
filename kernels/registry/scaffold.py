"""Write a correct kernel to start from: ``python -m kernels new``."""

import importlib.util
import keyword
import os
import shlex
from pathlib import Path
from string import Template

from .discover import FAMILIES, BadKernel, names, why_bad_name
from .discover import FOLDER as KERNELS

LANGUAGES = ("triton", "torch", "cuda")
FOLDER = KERNELS / FAMILIES[-1]
TEMPLATES = Path(__file__).parent / "templates"
# The imports of a file in this folder (True) or elsewhere (False), sorted as ruff sorts them there.
CUDA_IMPORTS = {
    True: """\
from pathlib import Path

import torch

from ..cuda import launch
from ..cuda.nvrtc import TYPES, Call, LaunchPlan, instance""",
    False: """\
from pathlib import Path

import torch
from kernels.cuda import launch
from kernels.cuda.nvrtc import TYPES, Call, LaunchPlan, instance""",
}


def write(name: str, language: str, output: Path | None = None) -> list[Path]:
    """Write the files of a new kernel. Return their paths, the Python file first.

    ``output`` is a path outside this folder. Raises BadKernel for a name that no new kernel may
    have, and for a path that cannot be written.
    """
    check(name)
    path = output or FOLDER / f"{name}.py"
    if path.name != f"{name}.py":
        raise BadKernel(
            f"--output {str(path)!r}: a kernel's name is its file's; let it end with {name}.py"
        )
    here = path.resolve().parent == FOLDER
    texts = {path: _filled(f"{language}.py.in", name, here)}
    if language == "cuda":
        texts[path.with_suffix(".cu")] = _filled("cuda.cu.in", name, here)
    for each in texts:
        if each.exists():
            raise BadKernel(f"{str(each)!r} exists already; choose another name")
    try:
        for each, text in texts.items():
            each.write_text(text)
    except OSError as error:
        raise BadKernel(f"cannot write {str(each)!r}: {error.strerror}") from error
    return list(texts)


def check(name: str) -> None:
    """Raise BadKernel unless a new kernel may have this name."""
    fault = why_bad_name(name)
    if keyword.iskeyword(name):
        fault = "it is a keyword of Python"
    elif name in names():
        fault = "there is a kernel of this name"
    elif not fault and importlib.util.find_spec(name):
        fault = "it is the name of an installed package"
    if fault:
        raise BadKernel(f"name {name!r}: {fault}; choose another, my_softmax say")


def _filled(template: str, name: str, here: bool) -> str:
    text = Template((TEMPLATES / template).read_text())
    return text.substitute(name=name, imports=CUDA_IMPORTS[here])


def next_steps(paths: list[Path], given: Path | None) -> str:
    """Return what to do with a new kernel; ``given`` is the --output, or None."""
    name = paths[0].stem
    kernel = ["--kernel", str(given)] if given else ["--variant", name]
    size = ["--M", "1024", "--N", "4096", "--output", f"{name}.csv"]
    chosen = f"variants=[torch_softmax, {name}]"
    config = [*([f"kernels=['{_in_yaml(given)}']"] if given else []), chosen]
    written = " and ".join(map(os.path.relpath, paths))
    lines = [
        f"wrote {written}: correct, but slow. Make it fast, describe how in its docstring, then",
        "  check and time one size:",
        f"    {shlex.join(['python', '-m', 'measure', 'point', *kernel, *size])}",
    ]
    if not given:
        lines += [
            "  run its tests:",
            f"    {shlex.join(['python', '-m', 'pytest', 'tests/kernels', '-k', name])}",
        ]
    sweep = ["snakemake", "--cores", "all", "--config", f"sweep={name.lower()}", *config]
    lines += ["  run a sweep, which ends in figures and a report:", f"    {shlex.join(sweep)}"]
    lines += ["  or add it to a configuration:"]
    lines += [f"    kernels: ['{_in_yaml(given)}']"] if given else []
    lines += [f"    variants: [torch_softmax, {name}]"]
    return "\n".join(lines)


def _in_yaml(path: Path) -> str:
    return str(path).replace("'", "''")
