"""Put the output of commands into a document, so that no number in it is typed by hand.

``python -m studies.inserts docs/measurement.md`` runs the command of every block

    <!-- output of: python -m studies.aa_bias table --data studies/data/h200/aa_bias.csv -->
    …
    <!-- end -->

and replaces what is between the two lines; ``--check`` changes nothing and fails where something
would change.
"""

import argparse
import re
import shlex
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
BLOCK = re.compile(r"(<!-- output of: python (.+?) -->\n).*?(<!-- end -->)", re.DOTALL)


def current(text: str) -> str:
    """``text`` with the output of every block's command. Raises CalledProcessError."""

    def insert(block: re.Match) -> str:
        command = [sys.executable, *shlex.split(block[2])]
        done = subprocess.run(command, cwd=ROOT, check=True, stdout=subprocess.PIPE, text=True)
        return f"{block[1]}\n{done.stdout.strip()}\n\n{block[3]}"

    return BLOCK.sub(insert, text)


def main(words: list[str] | None = None) -> int:
    """The command line."""
    parser = argparse.ArgumentParser(prog="python -m studies.inserts", description=__doc__)
    parser.add_argument("documents", nargs="+", type=Path)
    parser.add_argument("--check", action="store_true", help="only say what is not current")
    options = parser.parse_args(words)
    stale = 0
    for document in options.documents:
        before = document.read_text()
        after = current(before)
        stale += before != after
        if options.check and before != after:
            print(f"error: {document} is not what its commands print; run: "
                  f"python -m studies.inserts {document}", file=sys.stderr)  # fmt: skip
        elif before != after:
            document.write_text(after)
    return int(options.check and stale > 0)


if __name__ == "__main__":
    sys.exit(main())
