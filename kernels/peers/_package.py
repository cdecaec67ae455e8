"""Share what all peers need: an optional package and a GPU."""

import contextlib
from collections.abc import Iterator

import torch


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


def unsupported(x: torch.Tensor) -> str | None:
    """Return None, or one sentence that says why no peer takes x."""
    if not x.is_cuda:
        return f"x is on the device {x.device}; this peer's kernel is made for NVIDIA GPUs only"
    return None
