"""What the peers share: packages that are optional, and that a GPU is needed."""

import contextlib
from collections.abc import Iterator

import torch


@contextlib.contextmanager
def optional_package(options: str = "--group peers") -> Iterator[None]:
    """Around the imports of a peer's package: an ImportError says how to get it, by pip."""
    try:
        yield
    except ImportError as error:
        # by its group: the name of a module may be another project's in the package index
        raise ImportError(
            f"{error}; what fits is in an optional group of pyproject.toml: pip install {options}"
        ) from error


def unsupported(x: torch.Tensor) -> str | None:
    """None, or one sentence saying why no peer takes ``x``."""
    if not x.is_cuda:
        return f"x is on the device {x.device}; this peer's kernel is made for NVIDIA GPUs only"
    return None
