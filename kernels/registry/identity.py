"""Compute the hashes that identify the code that a row was measured with."""

import functools
from pathlib import Path

from .dependencies import sources
from .discover import FOLDER
from .source_hash import digest


@functools.cache
def sha256(name: str, gpu: str) -> str:
    """Return the hash over the code of ``sources(name)``, as it runs on a GPU of this short name.

    Of the tuning tables, only the GPU's own counts; all count for a GPU without a table, since
    another GPU's may stand in.
    """
    own = (FOLDER / "frontier" / "tuning" / gpu).with_suffix(".csv")
    others = set(own.parent.glob("*.csv")) - {own} if own.is_file() else set()
    return digest(path for path in sources(name) if path not in others)


@functools.cache
def own_sha256() -> str:
    """Return the hash over the code that finds and loads variants."""
    return digest([FOLDER / "contract.py", *Path(__file__).parent.glob("*.py")])
