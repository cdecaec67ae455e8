"""Write a correct kernel to start from: ``python -m kernels new``."""

import importlib.util
import keyword
import os
import shlex
from pathlib import Path

from .discover import KERNELS, names, why_bad_name
from .source_scan import KernelFileError

LANGUAGES = ("triton", "torch", "cuda")
CONTRIBUTED = KERNELS / "contributed"
TEMPLATES = Path(__file__).parent / "templates"


def write(name: str, language: str, output: Path | None = None) -> list[Path]:
    """Write the files of a new kernel. Returns their paths, the Python file first.

    ``output`` is a path outside of the project. Raises KernelFileError for a name that a new kernel
    cannot have, and for a path that cannot be written.
    """
    if why := _why_refused(name):
        example = "" if name in names() else ", e.g. my_softmax"
        raise KernelFileError(f"name {name!r}: {why}; choose another name{example}")
    path = output or CONTRIBUTED / f"{name}.py"
    if path.name != f"{name}.py":
        raise KernelFileError(
            f"--output {str(path)!r}: a kernel's name is its file's; let it end with {name}.py"
        )
    if output and path.resolve().is_relative_to(KERNELS):
        raise KernelFileError(f"--output {str(path)!r} is inside the project; leave --output out")
    in_project = path.resolve().parent == CONTRIBUTED
    texts = {path: _text(f"{language}.py.in", in_project)}
    if language == "cuda":
        texts[path.with_suffix(".cu")] = _text("cuda.cu.in", in_project)
    for path in texts:
        if path.exists() or path.is_symlink():
            raise KernelFileError(f"{str(path)!r} exists already; choose another name")
    try:
        for path, text in texts.items():
            path.write_text(text, encoding="utf-8")
    except OSError as error:
        for new in texts:  # safe to remove, because none of them existed before
            new.unlink(missing_ok=True)
        raise KernelFileError(f"cannot write {str(path)!r}: {error.strerror}") from error
    return list(texts)


def _why_refused(name: str) -> str | None:
    """Return why a new kernel cannot have this name, or None if it can."""
    if keyword.iskeyword(name):
        return "it is a keyword of Python"
    if name in names():
        return "there is a kernel of this name"
    if why := why_bad_name(name):
        return why
    return "it is the name of an installed package" if importlib.util.find_spec(name) else None


def _text(template: str, in_project: bool) -> str:
    text = (TEMPLATES / template).read_text(encoding="utf-8")
    return text.replace("from kernels.", "from ..") if in_project else text


def next_steps(paths: list[Path], output: Path | None) -> str:
    """Return a text about what to do next; ``output`` is that of the command line, or None."""
    name = paths[0].stem
    kernel = ["--kernel", str(output)] if output else ["--variant", name]
    size = ["--M", "1024", "--N", "4096", "--output", f"{name}.csv"]
    config = {"variants": f"[torch_softmax, {name}]"}
    if output:
        config = {"kernel_files": "['" + str(output).replace("'", "''") + "']"} | config
    written = " and ".join(map(os.path.relpath, paths))
    sweep = ["snakemake", "--cores", "all", "--config", f"sweep={name.lower()}"]
    sweep += [f"{key}={value}" for key, value in config.items()]
    lines = [
        f"wrote {written}: the kernel is correct, but slow.",
        "Make it fast, and describe how in its docstring. For another operation define a function",
        "of its name in the same file (operations/ has their files). Then you can",
        "  rank it beside every kernel that is installed, at one size:",
        f"    make shape M=1024 N=4096 KERNEL={shlex.quote(os.path.relpath(paths[0]))}",
        "  check and time one size:",
        f"    {shlex.join(['python', '-m', 'measure', 'point', *kernel, *size])}",
        *([] if output else ["  run its tests:", f"    python -m pytest tests/kernels -k {name}"]),
        "  run a sweep, which ends in figures and a report:",
        f"    {shlex.join(sweep)}",
        "  or add it to a configuration:",
        *(f"    {key}: {value}" for key, value in config.items()),
    ]
    return "\n".join(lines)
