"""Files from the future, which a clock that was put back leaves behind."""

import contextlib
import os
import time
from collections.abc import Iterable
from pathlib import Path


def bring_to_now(paths: Iterable[str | Path]) -> None:
    """Give files that were changed later than now the present time, where that is allowed.

    Snakemake refuses to make anything from such a file until the clock has caught up with it.
    """
    for path in paths:
        with contextlib.suppress(OSError):  # not made yet, or somebody else's
            if os.stat(path).st_mtime > time.time():
                os.utime(path)
