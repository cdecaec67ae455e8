"""Put the output of commands into the documents, so that no number is typed by hand.

``python -m tests.docs.inserts`` runs the command of every block of the documents

    <!-- output of: python -m studies.frontier.goals data/recorded/h200/frontier.csv -->
    …
    <!-- end -->

and replaces what stands between the two lines; ``--check`` only names documents that would change.
"""

import re
import shlex
import subprocess
import sys

from tests.docs.fences import ROOT, pages

BLOCK = re.compile(r"(<!-- output of: python (.+?) -->\n).*?(<!-- end -->)", re.DOTALL)


def current(text: str) -> str:
    """Return ``text`` with the output of each command. Raises CalledProcessError."""

    def output(block: re.Match) -> str:
        command = [sys.executable, *shlex.split(block[2])]
        done = subprocess.run(command, cwd=ROOT, check=True, stdout=subprocess.PIPE, text=True)
        return f"{block[1]}\n{done.stdout.strip()}\n\n{block[3]}"

    return BLOCK.sub(output, text)


def main(argv: list[str]) -> int:
    """Return 1 if ``--check`` is given and a document is not current."""
    stale = 0
    for document in pages():
        before = document.read_text()
        after = current(before)
        if after != before:
            stale += 1
            print(f"{document} is not what its commands print", file=sys.stderr)
            if "--check" not in argv:
                document.write_text(after)
    return int("--check" in argv and stale > 0)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
