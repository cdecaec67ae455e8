"""Offer what the pipeline needs of the kernels, and the library that pip installs.

``names()`` lists the variants, ``load(name)`` imports one. A variant is one file in
``published/``, ``frontier/``, ``peers/`` or ``contributed/``; see ``registry.discover``.

``softmax``, ``log_softmax`` and ``replace_torch`` are the library's; see ``library``. pip installs
it as the package ``softmax_bench``, without this file, the registry and the variants that it does
not call.

Importing this package imports neither torch nor triton, so that a sweep can be planned on a machine
without them.
"""

from . import library
from .contract import DTYPES, split_config  # noqa: F401
from .library import __getattr__ as __getattr__
from .registry.dependencies import (  # noqa: F401
    kernel_sha256,
    loaded_files,
    loaded_modules,
    packages,
    source_files,
    used_files,
)
from .registry.discover import (  # noqa: F401
    PEERS,
    add_variant,
    configs,
    default_variants,
    family,
    load,
    names,
    ops,
    rivals,
    torch_variant,
    variant_file,
)
from .registry.source_hash import code_sha256  # noqa: F401
from .registry.source_scan import KernelFileError  # noqa: F401
from .registry.variant import Variant

# Names for users. The others are for planning and measuring a sweep.
__all__ = ["Variant", "load", "names", *library.__all__]


def __dir__() -> list[str]:
    return __all__
