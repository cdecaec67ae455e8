"""Every command of the documents runs as it is written, or stands below with the reason why not.

Here the environment is that of the tests, and every sweep is tiny; test_installing.py runs what
installs packages.
"""

import ast
import re
import shlex
import shutil
import sys
from pathlib import Path

import pytest
import yaml

from analysis import __main__ as cli
from measure import ROOT
from tests import copies
from tests.marks import slow
from tests.processes import run
from tests.workflow.runner import TINY, environment
from tools import inserts

SHELL = ("", "sh", "bash", "console")
FENCE = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
# A command in a sentence or a table; `make` alone is a program.
INLINE = re.compile(r"`((?:make|python3?|snakemake|pip|source|git|rsync)\s[^`]+)`")
PAGES = inserts.pages()


def fences(path: Path) -> list[tuple[str, str]]:
    """Return the language and the text of each fence of a page, in order."""
    return FENCE.findall(path.read_text(encoding="utf-8"))


def commands(path: Path) -> list[str]:
    """Return the commands of a page in order, once each, on one line and without comments.

    Those of README.md, the tutorial and the howtos stand in sentences and tables, too.
    """
    text, lines, end = path.read_text(encoding="utf-8"), [], 0
    inline = path.name in ("README.md", "tutorial.md") and path.parent.name != "studies"
    inline |= path.parent.name == "howto"
    for fence in [*FENCE.finditer(text), None]:
        prose = text[end : fence.start() if fence else len(text)]
        lines += (" ".join(words.split()) for words in INLINE.findall(prose) if inline)
        if fence and fence[1] in SHELL:
            block = re.sub(r"\s*\\\n\s*", " ", fence[2])
            lines += (re.sub(r"(^|\s{2,})# .*", "", line).strip() for line in block.splitlines())
        end = fence.end() if fence else end
    return list(dict.fromkeys(filter(None, lines)))


COMMANDS = {str(path.relative_to(ROOT)): commands(path) for path in PAGES}
# How a command begins -> why the environment of the tests does not run it.
INSTALLING = {
    "pip install .": "it installs the wheel",
    "make peers": "it installs hundreds of megabytes",
    "python -m softmax_bench": "it needs the wheel",
}
NOT_RUN = {
    "git clone URL": "URL stands for the address of the page",
    "rsync": "it needs a second machine",
    "make clean": "it removes the environment",
    "make docs": "it needs dot and Chromium",
    "make format": "a copy is no repository of Git",
    "make lint": "a copy is no repository of Git",
    "make record": "it needs a GPU and an hour",
    "make test": "it runs these tests",
    "python -m analysis check-recorded": "a copy has no history of Git",
    "python -m analysis compare OLD NEW": "OLD and NEW stand for two runs",
    "python -m tools.inserts": "test_numbers.py does; here config.yaml is another one",
    "snakemake --cores 1 --use-conda": "it needs conda",
    "snakemake --cores all --config 'gpus=[a100_sxm4_80gb, h200]'": "it needs the GPUs",
    "snakemake --workflow-profile": "it needs Slurm, which tests/slurm start",
}
# Files that the Makefile touches after it has installed packages into .venv, in their order.
INSTALLED = (".reports", ".ready")
ABSENT_HERE = tuple(NOT_RUN) + tuple(INSTALLING)


def tiny_project(folder: Path) -> Path:
    """Return a copy of the project with its tests, an environment, and tiny sweeps alone."""
    copies.copy_project(folder)
    shutil.copytree(ROOT / "tests", folder / "tests", ignore=shutil.ignore_patterns("__pycache__"))
    for path in [folder / "config.yaml", *(folder / "sweeps").glob("*.yaml")]:
        if path.stem != "recorded":
            config = yaml.safe_load(path.read_text(encoding="utf-8"))
            config |= {key: value for key, value in TINY.items() if key in config}
            path.write_text(
                yaml.safe_dump(config | {"blocks": 6}, sort_keys=False), encoding="utf-8"
            )
    for path in (folder / "examples").glob("*/sweep.yaml"):
        config = yaml.safe_load(path.read_text(encoding="utf-8")) | {"shapes": TINY["shapes"]}
        path.write_text(yaml.safe_dump(config, sort_keys=False), encoding="utf-8")
    for path in (folder / "data/recorded").glob("*/*"):
        if path.stem != "oneflow":  # each recorded sweep has figures to draw
            path.unlink()
    (folder / ".venv").mkdir()
    for path in Path(sys.prefix).iterdir():
        if path.name not in INSTALLED:
            (folder / ".venv" / path.name).symlink_to(path)
    for name in INSTALLED:  # newer than the locks, so that nothing is installed
        (folder / ".venv" / name).touch()
    return folder


def check_words(command: str, folder: Path) -> None:
    """Parse or plan a command that is not run."""
    match shlex.split(command):
        case ["python", "-m", "analysis", *words]:
            cli.parser().parse_args(words)
        case ["snakemake", *words]:
            words = [
                word for word in words if word != "--use-conda"
            ]  # --use-conda needs conda to plan
            planned = run("snakemake", "--dry-run", *words, cwd=folder, env=environment())
            assert "total" in planned
        case ["make", target, *_]:
            assert f"\n{target}:" in (ROOT / "Makefile").read_text(encoding="utf-8")


# The pages that a newcomer reads, one after the other; the others run in `make test-all`.
FIRST = ("README.md", "docs/tutorial.md")
OTHERS = [(page,) for page in COMMANDS if COMMANDS[page] and page not in FIRST]


@pytest.mark.parametrize("pages", [FIRST, *map(slow, OTHERS)], ids=lambda pages: pages[0])
def test_the_commands_of_a_page_work_one_after_the_other(pages, tmp_path):
    folder = tiny_project(tmp_path / "project")
    for command in dict.fromkeys(command for page in pages for command in COMMANDS[page]):
        if command.startswith(ABSENT_HERE):
            check_words(command, folder)
        else:
            run("bash", "-c", command, cwd=folder, env=environment())


def test_each_reason_is_that_of_a_command():
    every = [command for page in COMMANDS.values() for command in page]
    for start in ABSENT_HERE:
        assert any(command.startswith(start) for command in every), start


def anchors(path: Path) -> set[str]:
    """Return what GitHub makes of the titles of a page."""
    titles = re.findall(r"^#+ (.+)$", path.read_text(encoding="utf-8"), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in titles}


@pytest.mark.parametrize("path", PAGES, ids=lambda path: str(path.relative_to(ROOT)))
def test_what_is_no_command_can_be_read_and_every_link_leads_somewhere(path):
    for language, text in fences(path):
        if language == "python":
            ast.parse(text)
        elif language == "yaml":
            assert yaml.safe_load(text)
        else:
            assert language in (*SHELL, "toml", "text")
    for target in re.findall(r"\]\(([^)\s]+)[^)]*\)", path.read_text(encoding="utf-8")):
        if target.startswith(("https://", "../../actions/")):  # the second: of GitHub, not a file
            continue
        name, _, anchor = target.partition("#")
        page = path.parent / name if name else path
        assert page.exists(), target
        assert not anchor or anchor in anchors(page), target
