"""Every command of the documents runs, or is planned where it needs a GPU, a network or hours."""

import ast
import re
import shlex
import shutil
from pathlib import Path

import pytest
import yaml

from analysis import __main__ as cli
from measure import ROOT
from tests import copies
from tests.marks import slow
from tests.processes import run
from tests.workflow.forked import snakemake
from tests.workflow.runner import configure, environment
from tools import inserts

SHELL = ("", "sh", "bash", "console")


def fences(path: Path) -> list[tuple[str, str]]:
    """Return the language and the text of each fence of a page, in order."""
    return re.findall(r"^```(\w*)\n(.*?)^```$", path.read_text(), re.MULTILINE | re.DOTALL)


def commands(path: Path) -> list[str]:
    """Return the commands of a page in order, once each, on one line and without comments."""
    text = "".join(text for language, text in fences(path) if language in SHELL)
    text = re.sub(r"\s*\\\n\s*", " ", text)
    lines = (re.sub(r"(^|\s{2,})# .*", "", line).strip() for line in text.splitlines())
    return list(dict.fromkeys(filter(None, lines)))


PAGES = inserts.pages()
COMMANDS = {str(path.relative_to(ROOT)): commands(path) for path in PAGES}
# How a command begins -> why it is only parsed.
PARSED = {
    "python -m analysis compare OLD NEW": "OLD and NEW stand for two runs",
    "python -m analysis check-recorded": "a copy of the project has no history of git",
    "snakemake --report": "it needs a finished run",
}
# What a command of Snakemake has that measures in seconds here, its default sweep being a tiny one.
MEASURES = ("sweeps/smoke.yaml", "--config sweep=")


def shell(command: str, folder: Path) -> None:
    run("bash", "-c", command, cwd=folder, env=environment())


def check(command: str, folder: Path, measure: bool) -> None:
    """Do what the kind of the command allows here; without ``measure`` every sweep is planned."""
    match shlex.split(command):
        # the network, a second machine, another shell; tests/kernels/test_wheel.py installs
        case ["git", "clone", *_] | ["rsync", *_] | ["pip", *_] | ["source", *_]:
            return
        case ["python", "-m", "tools.inserts"]:  # test_numbers.py; here config.yaml is another one
            return
        case ["python", "-m", "analysis", *words] if command.startswith(tuple(PARSED)):
            cli.parser().parse_args(words)
        case ["snakemake", *words] if command.startswith(tuple(PARSED)):
            from snakemake.cli import get_argument_parser

            get_argument_parser().parse_args(words)
        case ["snakemake", *words] if measure and any(part in command for part in MEASURES):
            snakemake("rows", *words, cwd=folder, env=environment())
            assert list((folder / "results/rows").rglob("*.csv"))
        case ["snakemake", *words]:
            words = [word for word in words if word != "--use-conda"]  # which needs conda to plan
            assert "total" in snakemake("--dry-run", *words, cwd=folder, env=environment())
        case ["make", *_]:
            shell(f"{command} --dry-run", folder)
        case ["python", "-m", "pytest", *_]:
            shell(f"{command} --collect-only -q", folder)
        case _:
            shell(command, folder)


# README.md has a command of each kind, and its sweep is planned; all else is slow by its number.
@pytest.mark.parametrize(
    ("page", "measure"),
    [("README.md", False), *(slow(page, True) for page in COMMANDS if COMMANDS[page])],
)
def test_the_commands_of_a_page_work_one_after_the_other(page, measure, tmp_path):
    folder = copies.copy_project(tmp_path / "project")
    configure(folder)
    shutil.copytree(ROOT / "tests", folder / "tests", ignore=shutil.ignore_patterns("__pycache__"))
    if not re.search(r"recorded\.yaml|data/recorded", " ".join(COMMANDS[page])):
        shutil.rmtree(folder / "data/recorded")  # or each plan has their two hundred figures
    for command in COMMANDS[page]:
        check(command, folder, measure)


def anchors(path: Path) -> set[str]:
    """Return what GitHub makes of the titles of a page."""
    titles = re.findall(r"^#+ (.+)$", path.read_text(), re.MULTILINE)
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
    for target in re.findall(r"\]\(([^)\s]+)[^)]*\)", path.read_text()):
        if target.startswith(("https://", "../../actions/")):  # the second: of GitHub, not a file
            continue
        name, _, anchor = target.partition("#")
        page = path.parent / name if name else path
        assert page.exists(), target
        assert not anchor or anchor in anchors(page), target
