"""Keep a point's stage, row and samples in a file, which survives if its process is killed."""

import json
import os
import sys
import time
from pathlib import Path


class Journal:
    """Write the worker's progress to a file that always holds valid JSON."""

    def __init__(self, folder: Path):
        self._path = folder / "progress.json"
        self._begin = time.monotonic()
        self._worker = os.getpid()
        self.row: dict = {}
        self.current = ""  # stage

    def stage(self, name: str, **more) -> None:
        """Write the new stage, the row so far and ``more`` to the file; log stage and time."""
        if os.getpid() != self._worker:
            return  # a kernel has forked the worker; only the original may write
        self.current = name
        print(f"{time.monotonic() - self._begin:7.3f} s  {name}", file=sys.stderr, flush=True)
        temporary = self._path.with_suffix(".tmp")
        # default=float converts numpy's numbers
        temporary.write_text(
            json.dumps({"stage": name, "row": self.row} | more, default=float), encoding="utf-8"
        )
        temporary.replace(self._path)
