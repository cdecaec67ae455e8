"""Code that all peers share: import an optional package, and adapt its functions to variants."""

import contextlib
import importlib.util
import sys
from collections.abc import Callable, Iterator
from types import SimpleNamespace

import torch

from ..tensors import empty_output


@contextlib.contextmanager
def optional_package(condition: str = "") -> Iterator[None]:
    """Extend an ImportError inside the block by how to install the package; see ``condition``."""
    try:
        yield
    except ImportError as error:
        # name no package: another project may own the module's name in the package index
        raise ImportError(
            f"{error}; `make peers` installs the kernels of other projects{condition}"
        ) from error


@contextlib.contextmanager
def cuda_toolkit() -> Iterator[None]:
    """Turn a package's RuntimeError about a missing nvcc into an ImportError with the remedy."""
    try:
        yield
    except RuntimeError as error:
        raise ImportError(f"{error}; sudo apt install nvidia-cuda-toolkit") from error


def skip_init(*names: str) -> None:
    """Make packages importable without running ``__init__.py``, of which a kernel needs little."""
    for name in names:
        if name not in sys.modules and (spec := importlib.util.find_spec(name)):
            sys.modules[name] = importlib.util.module_from_spec(spec)


@contextlib.contextmanager
def without(*names: str) -> Iterator[None]:
    """Make imports of these packages fail inside the block, because importing them is slow."""
    hidden = [name for name in names if name not in sys.modules]
    sys.modules.update(dict.fromkeys(hidden))
    try:
        yield
    finally:
        for name in hidden:
            del sys.modules[name]


def unsupported(x: torch.Tensor) -> str | None:
    """Return a sentence that says why no peer supports x, or None."""
    if not x.is_cuda:
        return f"x is on the device {x.device}; this peer's kernel is made for NVIDIA GPUs only"
    return None


def as_variant(into: Callable, contiguous: bool = False) -> Callable:
    """Return a variant's function ``f(x, out=None)``, given ``into(x, out)``, which writes out.

    With ``contiguous``, ``into`` gets contiguous copies of x and out if they are not contiguous.
    """

    def run(x: torch.Tensor, out: torch.Tensor | None = None) -> torch.Tensor:
        out = empty_output(x, out)
        y = empty_output(out, None) if contiguous and not out.is_contiguous() else out
        into(x.contiguous() if contiguous else x, y)
        return out if y is out else out.copy_(y)

    return run


def compiled_variant(compiled: Callable, *into: Callable) -> SimpleNamespace:
    """Return the functions of a config whose kernels are compiled; see ``kernels.Variant``.

    ``into`` are softmax and log-softmax in the form that ``as_variant`` takes;
    ``compiled(into, x)`` compiles one of them for matrices like x.
    """
    softmax, log_softmax = (
        as_variant(lambda x, out, into=write: compiled(into, x)(x, out)) for write in into
    )
    return SimpleNamespace(softmax=softmax, log_softmax=log_softmax, unsupported=unsupported)
