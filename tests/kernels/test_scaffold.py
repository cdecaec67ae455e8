"""``python -m kernels``: what it lists, and the kernel that it writes to start from."""

import csv
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

import kernels
from kernels import __main__ as command_line
from kernels.registry import scaffold
from measure.fingerprint import ROOT
from tests.processes import run_code
from tests.workflow.runner import Runner, configure

STYLE = f"--style=file:{ROOT}/.clang-format"  # a copy has no hidden files
ALONE = ["--isolated", "--line-length", "100"]


def run(folder, *words):
    command = [sys.executable, "-m", *words]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True)


@pytest.mark.parametrize(
    ("language", "status", "words"),
    [
        ("torch", "ok", ""),
        ("triton", "interpreted", "correctness check passed on 6 of 6 rows"),
        ("cuda", "unsupported", "compiled for sm_80 and sm_90 without error"),
    ],
)
def test_a_new_kernel_passes_the_gate_inside_and_outside(bench, tmp_path, language, status, words):
    inside, outside = f"my_{language}", f"other_{language}"
    path = tmp_path / "some where's" / f"{outside}.py"
    path.parent.mkdir()
    for new in ([inside], [outside, "--output", str(path)]):
        done = run(bench.project, "kernels", "new", *new, "--language", language)
        assert done.returncode == 0, done.stderr
    for name, given in ((inside, {}), (outside, {"kernel": path})):
        row = bench.row(name, M=6, N=1500, dtype="bfloat16", **given)
        assert row["status"] == status, row["message"]
        assert words in row["message"]


@pytest.mark.parametrize("language", scaffold.LANGUAGES)
def test_a_new_kernel_has_the_style_of_the_others(project, tmp_path, language):
    outside, here = tmp_path / "other_one.py", Path("kernels/contributed/my_kernel.py")
    scaffold.write("other_one", language, outside)
    done = run(project, "kernels", "new", "my_kernel", "--language", language)
    assert done.returncode == 0, done.stderr
    text = (project / here).read_text()
    for part in ("Idea:", "Bytes:", "Limits:", "Source:"):
        assert part in text
    cuda = [here.with_suffix(".cu")] if language == "cuda" else []
    for command in (
        ["ruff", "check", here],
        ["ruff", "format", "--check", here],
        ["ruff", "check", *ALONE, "--select", "E,F,W,I,B,UP,SIM,RUF", outside],
        ["ruff", "format", "--check", *ALONE, outside],
        *(["clang-format", STYLE, "--dry-run", "-Werror", path] for path in cuda),
    ):
        tool = f"{Path(sys.executable).parent}/{command[0]}"
        words = [tool, *map(str, command[1:])]
        cwd = outside.parent if outside in command else project  # where ruff looks for packages
        done = subprocess.run(words, cwd=cwd, capture_output=True, text=True)
        assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("my-kernel", "letters, digits and underscores"),
        ("_mine", "begins with a letter"),
        ("my__kernel", "two underscores"),
        ("class", "a keyword of Python"),
        ("triton_row", "there is a kernel of this name"),
        ("torch", "the name of an installed package"),
    ],
)
def test_a_name_that_cannot_be_is_refused_in_one_line(name, words, capsys):
    assert command_line.main(["new", name]) == 2
    said = capsys.readouterr()
    assert not said.out
    assert words in said.err
    assert said.err.startswith(f"error: name {name!r}: ")
    assert said.err.count("\n") == 1


def test_a_place_that_cannot_be_is_refused(tmp_path, capsys):
    taken = tmp_path / "mine.cu"
    taken.write_text("")
    for output, words in (
        ("other.py", "let it end with mine.py"),
        (str(tmp_path / "mine.py"), "mine.cu' exists already"),
        (str(tmp_path / "absent" / "mine.py"), "No such file or directory"),
    ):
        assert command_line.main(["new", "mine", "--language", "cuda", "--output", output]) == 2
        assert words in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == [taken]


def test_the_list_has_every_kernel_and_needs_no_torch():
    code = (
        "import sys; from kernels import __main__; print(__main__.listing())\n"
        "assert __main__.packages('cuda_oneflow') >= {'torch', 'cuda'}\n"
        "assert not {'torch', 'triton', 'cuda'} & set(sys.modules)"
    )
    said = run_code(code)
    lines = said.splitlines()
    assert set(kernels.names()) <= set(lines)
    at = lines.index("triton_row")
    assert lines[at + 1].startswith("  One program per row")
    assert lines[at + 2] == "  log_softmax softmax; torch triton"


def test_what_is_printed_measures_the_new_kernel(project, tmp_path):
    """The commands as they stand, in a sweep that two cores bear; from a folder no shell likes."""
    configure(project, variants="all", shapes=[{"M": 4, "N": 8}], cpu={
        "max_elements": 10000, "max_interpreted_N": 64})  # fmt: skip
    folder = tmp_path / "it's here"
    folder.mkdir()
    outside = folder / "mine.py"
    said = run(project, "kernels", "new", "mine", "--language", "torch", "--output", str(outside))
    commands = [line.strip() for line in said.stdout.splitlines() if line.startswith("    ")]
    measure, sweep = (shlex.split(command) for command in commands[:2])
    assert measure[:4] == ["python", "-m", "measure", "point"]
    done = run(project, *measure[2:])
    assert done.returncode == 0, done.stderr
    assert "status      ok" in done.stdout
    assert (project / "mine.csv").exists()
    assert sweep[:3] == ["snakemake", "--cores", "all"]
    done = Runner(project)(*sweep[3:], "--until", "merge")
    assert done.returncode == 0, done.stderr
    with (project / "results/measurements/cpu.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert {row["variant"] for row in rows} == {"torch_softmax", "mine"}
    assert {row["sweep"] for row in rows} == {"mine"}


def test_a_reader_of_the_list_may_stop_early():
    """As ``| head`` does."""
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    with subprocess.Popen([sys.executable, "-m", "kernels"], cwd=ROOT, text=True, **pipes) as ours:
        ours.stdout.close()
        assert ours.stderr.read() == ""
