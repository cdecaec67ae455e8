"""Every command of the documentation works: see ``table`` for how each is checked."""

import ast
import os
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from analysis import cli
from measure.fingerprint import ROOT
from tests import copies
from tests.docs import fences, table
from tests.workflow.runner import configure

PAGES = {path.name: path for path in fences.pages()}
COMMANDS = {name: fences.commands(path) for name, path in PAGES.items()}
# What a table says of Snakemake files, which Python cannot read.
IN_SNAKEMAKE = "snakefile:"


@pytest.mark.parametrize("page", PAGES)
def test_the_table_has_every_command_of_a_page_and_no_other(page):
    assert list(dict.fromkeys(COMMANDS[page])) == list(table.HOW.get(page, {}))


@pytest.mark.parametrize("path", PAGES.values(), ids=lambda path: path.name)
def test_what_is_no_command_is_what_it_says_to_be(path):
    for fence in fences.fences(path):
        if fence.language == "python" and IN_SNAKEMAKE not in fence.text:
            ast.parse(fence.text)
        elif fence.language == "yaml":
            assert yaml.safe_load(fence.text)
        else:
            assert fence.language in (*fences.SHELL, "python", "toml")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """folder(page): a copy of the project for the page, its default sweep a tiny one."""
    made = {}

    def copy(page):
        if page not in made:
            made[page] = copies.copy_project(tmp_path_factory.mktemp(Path(page).stem) / "project")
            configure(made[page])
            for name in ("tests", ".ci"):
                shutil.copytree(
                    ROOT / name, made[page] / name, ignore=shutil.ignore_patterns("__pycache__")
                )
            ready = made[page] / ".venv" / ".ready"  # or make would begin by installing
            ready.parent.mkdir()
            ready.touch()
        return made[page]

    return copy


def run(command: str, folder: Path) -> str:
    """Run a line of shell; what it said. Fails where it fails."""
    hidden = ("TRITON_INTERPRET", "PYTHONPATH")
    environment = {key: value for key, value in os.environ.items() if key not in hidden}
    environment["PATH"] = f"{Path(sys.executable).parent}:{environment['PATH']}"
    done = subprocess.run(
        ["bash", "-c", command], cwd=folder, env=environment, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout + done.stderr


def rows(command, folder):
    words = command.removeprefix("snakemake ")
    assert words != command
    said = run(f"snakemake rows {words}", folder)
    assert "points" in said
    assert list((folder / "results/cells").rglob("*.csv"))


def plan(command, folder):
    words = command.removeprefix("snakemake ")
    assert words != command
    assert "job" in run(f"snakemake -n {words}", folder)


def make(command, folder):
    words = command.removeprefix("make ")
    assert words != command
    assert run(f"make -n {words}", folder)


def collect(command, folder):
    assert "1 error" not in run(f"{command} --collect-only -q", folder)


def parse(command, folder):
    if command.startswith("python -m analysis "):
        cli._parser().parse_args(shlex.split(command)[3:])
    else:
        from snakemake.cli import get_argument_parser

        get_argument_parser().parse_args(shlex.split(command)[1:])


def elsewhere(command, folder):
    assert shlex.split(command)[0] in ("rsync",)


CHECKS = {
    table.RUN: run,
    table.ROWS: rows,
    table.PLAN: plan,
    table.MAKE: make,
    table.COLLECT: collect,
    table.PARSE: parse,
    table.ELSEWHERE: elsewhere,
}


@pytest.mark.parametrize("page", [page for page in PAGES if COMMANDS[page]])
def test_the_commands_of_a_page_work_one_after_the_other(page, folder):
    for command in dict.fromkeys(COMMANDS[page]):
        how = table.HOW[page].get(command, table.RUN)
        if how != table.SHOWN:
            CHECKS[how](command, folder(page))
