"""The Makefile makes an environment whose pip does what the documents ask of it, in any folder."""

import re
import shutil
import subprocess
from pathlib import Path

import pytest

from measure import ROOT
from tests.docs.test_commands import INSTALLED, tiny_project
from tests.processes import run
from tests.workflow.runner import configure, environment, read_csv
from tools import pins

MAKEFILE = (ROOT / "Makefile").read_text(encoding="utf-8")
ODD = 'a $HOME "b" it\'s #c e\\f'  # all that a shell, make or a format string may take


def make(folder: Path, *words: str) -> subprocess.CompletedProcess:
    """Run make in a folder with the Makefile alone."""
    folder.mkdir()
    shutil.copy(ROOT / "Makefile", folder)
    (folder / "requirements.txt").touch()
    return subprocess.run(
        ["make", *words],
        cwd=folder,
        env=environment(),
        capture_output=True,
        text=True,
        encoding="utf-8",
    )


def test_the_pip_of_the_environment_knows_groups():
    (version,) = re.findall(r"^NEWER_PIP := pip==(\d+)\.(\d+)", MAKEFILE, re.MULTILINE)
    assert tuple(map(int, version)) >= (25, 1)


def test_any_folder_has_an_environment_and_its_commands_come_first(tmp_path):
    """Nothing is installed, which would need the network."""
    folder = tmp_path / ODD
    done = make(folder, "INSTALL=-c 'import pip'", ".venv/.ready")
    assert done.returncode == 0, done.stderr
    assert (folder / ".venv/.ready").exists()
    with (folder / "Makefile").open("a", encoding="utf-8") as file:
        file.write("\nwhere:\n\t@command -v python3\n")
    said = subprocess.check_output(
        ["make", "where"], cwd=folder, env=environment(), text=True, encoding="utf-8"
    )
    assert said == f"{folder}/.venv/bin/python3\n"


def test_a_report_installs_its_own_packages_alone_and_a_run_adds_to_them(tmp_path):
    """The stand-in of pip says what it is asked; nothing is installed."""
    words = ["INSTALL=-c 'import sys; print(*sys.argv[1:])'", "NEWER_PIP=pip"]
    folder = tmp_path / "project"
    done = make(folder, "--silent", *words, ".venv/.reports")
    groups = "--constraint requirements.txt --group analysis --group workflow"
    assert done.stdout.splitlines() == ["pip", groups], done.stderr
    said = run("make", "--silent", *words, ".venv/.ready", cwd=folder, env=environment())
    assert said.splitlines() == ["-r requirements.txt"]


def test_peers_are_installed_with_the_pip_of_the_environment_and_then_listed(tmp_path):
    """Every optional group of pyproject.toml, by a pip that only says what it is asked."""
    (tmp_path / ".venv").mkdir()
    (tmp_path / "tools").mkdir()
    (tmp_path / "tools/__init__.py").touch()
    (tmp_path / "tools/peers.py").write_text("print('which run')\n", encoding="utf-8")
    for name in ("Makefile", "requirements.txt"):
        shutil.copy(ROOT / name, tmp_path)
    for name in INSTALLED:
        (tmp_path / ".venv" / name).touch()
    said = run(
        *("make", "--silent", "peers", "INSTALL=-c 'import sys; print(*sys.argv[1:])'"),
        cwd=tmp_path,
        env=environment(),
    )
    alone = [f"--no-deps --group {name}" for name in ("flaggems", "flashinfer", "trl")]
    assert said.splitlines() == ["--group peers", *alone, "which run"]
    usual = {"measure", "analysis", "workflow", "dev"}
    assert {line.split()[-1] for line in said.splitlines()[:-1]} == set(pins.groups()) - usual


def test_any_folder_can_be_measured_in(tmp_path):
    """By an environment in it, whose Python has the folder's name in its path."""
    folder = tiny_project(tmp_path / ODD)
    configure(folder, shapes=[{"M": 4, "N": 8}], variants=["torch_softmax"])
    words = ["make", "run", "ARGS=results/measurements/cpu.csv"]
    run(*words, cwd=folder, env=environment())
    assert [row["status"] for row in read_csv(folder / "results/measurements/cpu.csv")] == ["ok"]


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        ("--configfile=none.yaml", "none.yaml: no such file"),
        ("-n --configfiles Makefile none.yaml", "none.yaml: no such file"),
        ("--config M=4 -n", "no key M; a shape is given as --config shape=4096x1024"),
        ("-C N=4", "no key N; "),
        ("--configfile Makefile --config 'gpus=[cpu]' seed=3 -- x.yaml", ""),
        ("--report-metadata meta.yaml M=4", ""),
    ],
)
def test_words_that_snakemake_answers_with_a_traceback_are_refused_in_one_line(
    words, complaint, tmp_path
):
    (tmp_path / ".venv").mkdir()
    shutil.copy(ROOT / "Makefile", tmp_path)
    for name in ("requirements.txt", ".venv/.reports", ".venv/.ready"):
        (tmp_path / name).touch()
    done = subprocess.run(
        ["make", "--silent", "run", f"ARGS={words}", "SNAKEMAKE=@echo started"],
        cwd=tmp_path,
        env=environment(),
        capture_output=True,
        text=True,
        encoding="utf-8",
    )
    assert done.stdout.count("\n") == 1
    assert f"error: {complaint}" in done.stdout if complaint else "started" in done.stdout
    assert done.returncode == (2 if complaint else 0)


def test_a_folder_that_can_have_no_environment_is_refused_in_a_sentence(tmp_path):
    done = make(tmp_path / "a:b", ".venv/.ready")
    assert done.returncode == 2
    assert "has a colon, which no environment of Python can have; rename the folder" in done.stdout
