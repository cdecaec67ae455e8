"""``python -m kernels new``: a kernel to start from, which is right already."""

import importlib.util
import keyword
import os
import shlex
from pathlib import Path
from string import Template

from .discover import FAMILIES, names
from .discover import FOLDER as KERNELS
from .external import BadKernel, why_bad_name

LANGUAGES = ("triton", "torch", "cuda")
FOLDER = KERNELS / FAMILIES[-1]
TEMPLATES = Path(__file__).parent / "templates"
# By whether the file is one of this folder; sorted as ruff sorts imports there, and elsewhere.
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
    """Write the file of a new kernel, and of its CUDA source; their paths, the kernel's first.

    ``output``: where outside this folder. Raises BadKernel for a name that no new kernel may have,
    and for a place that cannot take it.
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
        fault = "it is a word of Python's own"
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
    """What to do with a new kernel; ``given``: the --output, None for a kernel of this folder."""
    name = paths[0].stem
    which = ["--kernel", str(given)] if given else ["--variant", name]
    size = ["--M", "1024", "--N", "4096", "--output", f"{name}.csv"]
    chosen = f"variants=[torch_softmax, {name}]"
    config = [*([f"kernels=['{_in_yaml(given)}']"] if given else []), chosen]
    written = " and ".join(map(os.path.relpath, paths))
    lines = [
        f"wrote {written}: right already, and slow. Make it fast, say in its docstring how, then",
        "  check and time one size:",
        f"    {shlex.join(['python', '-m', 'measure', 'point', *which, *size])}",
    ]
    if not given:
        lines += [
            "  run its tests:",
            f"    {shlex.join(['python', '-m', 'pytest', 'tests/kernels', '-k', name])}",
        ]
    sweep = ["snakemake", "--cores", "all", "--config", f"sweep={name.lower()}", *config]
    lines += ["  run a sweep, which ends in figures and a report:", f"    {shlex.join(sweep)}"]
    lines += ["  or have it in a configuration of yours:"]
    lines += [f"    kernels: ['{_in_yaml(given)}']"] if given else []
    lines += [f"    variants: [torch_softmax, {name}]"]
    return "\n".join(lines)


def _in_yaml(path: Path) -> str:
    return str(path).replace("'", "''")
