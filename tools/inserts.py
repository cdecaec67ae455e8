"""Put the output of commands into the documents, so that no number is typed by hand.

`python -m tools.inserts` runs the command of every block of the documents

    <!-- output of: python -m tools.readme points -->
    …
    <!-- end -->

and replaces what stands between the two lines.
"""

import argparse
import os
import re
import shlex
import subprocess
import sys
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path

from kernels.terminal import replace_missing_characters
from measure import ROOT

BLOCK = re.compile(r"(<!-- output of: python (.+?) -->\n).*?(<!-- end -->)", re.DOTALL)


def pages() -> list[Path]:
    """Return README.md, CONTRIBUTING.md, studies/README.md and the pages of docs/."""
    names = ("README.md", "CONTRIBUTING.md", "studies/README.md")
    return [*(ROOT / name for name in names), *sorted((ROOT / "docs").rglob("*.md"))]


def output(block: re.Match) -> str:
    """Return a block with the output of its command. Raises CalledProcessError."""
    command = [sys.executable, *shlex.split(block[2])]
    environment = os.environ | {"PYTHONIOENCODING": "utf-8"}
    done = subprocess.run(command, cwd=ROOT, env=environment, check=True, stdout=subprocess.PIPE)
    return f"{block[1]}{done.stdout.decode().strip()}\n{block[3]}"


def print_block(blocks: Mapping[str, Callable[..., str]], *makers: Callable[[], object]) -> None:
    """Print the block that the command line names, in Markdown, made from what `makers` return."""
    replace_missing_characters()
    parser = argparse.ArgumentParser()
    parser.add_argument("block", choices=blocks)
    print(blocks[parser.parse_args().block](*(make() for make in makers)))


def bullets(lines: Iterable[str]) -> str:
    """Return lines as a list in Markdown."""
    return "\n".join(f"- {line}" for line in lines)


def stale(documents: Iterable[Path]) -> dict[Path, str]:
    """Return each document that its commands would change, with its new text."""
    texts = {path: path.read_text(encoding="utf-8") for path in documents}
    current = {path: BLOCK.sub(output, text) for path, text in texts.items()}
    return {path: text for path, text in current.items() if text != texts[path]}


if __name__ == "__main__":
    replace_missing_characters()
    for path, text in stale(pages()).items():
        path.write_text(text, encoding="utf-8")
        print(f"{path} was not what its commands print")
