"""The child process that measures one point and may die of it.

``python -m measure.process.worker FOLDER PARENT`` reads FOLDER/point.json, keeps
FOLDER/progress.json up to date (the stage, and the row as far as it is known) and ends with
FOLDER/done.json. Whatever a kernel does to this process, ``run_point`` has what was known before.
"""

import json
import os
import sys
import time
from pathlib import Path

from ..point import Point
from . import oom_score, process_identity


class Journal:
    """What the parent may read at any moment."""

    def __init__(self, folder: Path):
        self._folder = folder
        self._begin = time.monotonic()
        self.row: dict = {}

    def stage(self, name: str) -> None:
        """Say what comes next, with the row so far; the log shows when."""
        print(f"{time.monotonic() - self._begin:7.3f} s  {name}", file=sys.stderr, flush=True)
        self._write("progress", {"stage": name, "row": self.row})

    def finish(self, samples: list[tuple]) -> None:
        """The row is complete."""
        self._write("done", {"row": self.row, "samples": samples})

    def refuse(self, message: str) -> None:
        """The point cannot be measured on this machine; there will be no row."""
        self._write("refused", {"message": message})

    def _write(self, stem: str, content: dict) -> None:
        temporary = self._folder / f"{stem}.tmp"
        # default=float: numpy's numbers
        temporary.write_text(json.dumps(content, default=float))
        temporary.replace(self._folder / f"{stem}.json")


def main(folder: Path, parent: int) -> None:
    """Measure the point described in ``folder``, as long as the process ``parent`` lives."""
    # A kernel that never returns must not outlive a killed sweep.
    process_identity.end_with_parent()
    if os.getppid() != parent:  # it had ended before
        os._exit(1)
    oom_score.end_me_first()
    point = Point(**json.loads((folder / "point.json").read_text()))
    journal = Journal(folder)
    journal.stage("importing torch")

    from .. import pipeline  # imports torch
    from ..device.device import WrongDevice

    try:
        samples = pipeline.measure(point, journal)
    except WrongDevice as error:
        journal.refuse(str(error))
    else:
        journal.stage("done")
        journal.finish(samples)


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]))
