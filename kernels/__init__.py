"""Compute row softmax: the drop-in ``softmax`` and ``log_softmax``, and every measured variant.

pip installs this package as ``softmax_bench``; in the repository its name is ``kernels``.

``softmax(input, dim, dtype=None)`` and ``log_softmax`` have torch's signatures: any tensor,
differentiable, computed by the fastest kernels here. ``replace_torch()`` puts them behind torch's
own functions.

``names()`` lists the variants, ``load(name)`` imports one. A variant is one file in
``published/``, ``frontier/``, ``peers/`` or ``contributed/``; see ``registry.discover``.

Importing this package imports neither torch nor triton, so that a sweep can be planned on a machine
without them.
"""

import importlib
from collections.abc import Callable

from .contract import DTYPES, Variant, split_config  # noqa: F401
from .registry.dependencies import (  # noqa: F401
    kernel_sha256,
    loaded_files,
    loaded_modules,
    packages,
    source_files,
    used_files,
)
from .registry.discover import (  # noqa: F401
    add_variant,
    configs,
    default_variants,
    family,
    load,
    names,
    ops,
    variant_file,
)
from .registry.source_hash import code_sha256  # noqa: F401
from .registry.source_scan import BadKernel  # noqa: F401

# For users. The other names are for planning and measuring a sweep.
__all__ = ["Variant", "load", "log_softmax", "names", "replace_torch", "softmax"]

# name -> module, imported when the name is asked for, because it imports torch
_DROP_IN = {"log_softmax": "api", "softmax": "api", "replace_torch": "replace"}


def __getattr__(name: str) -> Callable:
    if name not in _DROP_IN:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    module = importlib.import_module(f".dropin.{_DROP_IN[name]}", __name__)
    return globals().setdefault(name, getattr(module, name))


def __dir__() -> list[str]:
    return __all__
