"""Share the code of all peers: import an optional package, need a GPU, compile for a call."""

import contextlib
import functools
import importlib.util
import sys
from collections.abc import Callable, Iterator
from types import SimpleNamespace

import torch

from ..tensors import empty_output


@contextlib.contextmanager
def optional_package(options: str = "--group peers") -> Iterator[None]:
    """Add to an ImportError inside the block how to install the package."""
    try:
        yield
    except ImportError as error:
        # the group, not the module: another project may own that name in the package index
        raise ImportError(
            f"{error}; install the optional group of pyproject.toml: pip install {options}"
        ) from error


def skip_init(*names: str) -> None:
    """Load packages, but not what their ``__init__.py`` imports; one kernel needs little of it."""
    for name in names:
        if name not in sys.modules and (spec := importlib.util.find_spec(name)):
            sys.modules[name] = importlib.util.module_from_spec(spec)


def unsupported(x: torch.Tensor) -> str | None:
    """Return None, or one sentence that says why no peer takes x."""
    if not x.is_cuda:
        return f"x is on the device {x.device}; this peer's kernel is made for NVIDIA GPUs only"
    return None


def functions(
    softmax_into: Callable, log_softmax_into: Callable, compiled: Callable
) -> SimpleNamespace:
    """Return the functions of a config whose kernels are compiled; see ``kernels.Variant``.

    ``compiled(into, x, out)`` compiles one of the first two, ``into(x, out)``, for these matrices.
    """

    def run(into: Callable, x: torch.Tensor, out: torch.Tensor | None = None) -> torch.Tensor:
        out = empty_output(x, out)
        compiled(into, x, out)(x, out)
        return out

    return SimpleNamespace(
        softmax=functools.partial(run, softmax_into),
        log_softmax=functools.partial(run, log_softmax_into),
        unsupported=unsupported,
    )
