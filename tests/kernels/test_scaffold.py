"""``python -m kernels``: what it lists, and the kernel that it writes to start from."""

import shlex
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

import kernels
from kernels import __main__ as command_line
from measure import ROOT
from tests.processes import run, run_code

STYLE = f"--style=file:{ROOT}/.clang-format"  # a copy has no hidden files
PYTHON = sys.executable, "-m"


@pytest.mark.parametrize(
    ("language", "status", "words"),
    [
        ("torch", "ok", ""),
        ("triton", "interpreted", "correctness check passed on 6 of 6 rows"),
        ("cuda", "unsupported", "compiled for sm_80 and sm_90 without error"),
    ],
)
def test_a_new_kernel_passes_the_gate_and_has_the_style(bench, tmp_path, language, status, words):
    """Inside the project and outside."""
    inside, outside = f"my_{language}", f"other_{language}"
    path = tmp_path / "some where's" / f"{outside}.py"
    path.parent.mkdir()
    for new in ([inside], [outside, "--output", str(path)]):
        run(*PYTHON, "kernels", "new", *new, "--language", language, cwd=bench.project)
    for name, options in ((inside, {}), (outside, {"kernel": path})):
        row = bench.row(name, M=6, N=1500, dtype="bfloat16", **options)
        assert row["status"] == status, row["message"]
        assert words in row["message"]
    inside_file = bench.project / f"kernels/contributed/{inside}.py"
    for part in ("Idea:", "Bytes:", "Limits:", "Source:"):
        assert part in inside_file.read_text(encoding="utf-8")
    for words in (["check"], ["format", "--check"]):
        run(*PYTHON, "ruff", *words, inside_file, cwd=bench.project)  # it looks for packages there
    tool = Path(sys.executable).with_name("clang-format")
    for source in inside_file.parent.glob("*.cu"):
        run(tool, STYLE, "--dry-run", "-Werror", source)


def test_a_name_or_a_place_that_cannot_be_is_refused_in_one_line(tmp_path, capsys):
    taken = tmp_path / "mine.cu"
    taken.write_text("", encoding="utf-8")
    for name, output, words in (
        ("my-kernel", None, "name 'my-kernel': a name has letters, digits and underscores"),
        ("class", None, "a keyword of Python"),
        ("triton_row", None, "there is a kernel of this name"),
        ("torch", None, "the name of an installed package"),
        ("mine", "other.py", "let it end with mine.py"),
        ("mine", tmp_path / "mine.py", "mine.cu' exists already"),
        ("mine", tmp_path / "absent" / "mine.py", "No such file or directory"),
        ("mine", kernels.variant_file("frontier").with_stem("mine"), "leave --output out"),
    ):
        options = ["--output", str(output)] if output else []
        assert command_line.main(["new", name, "--language", "cuda", *options]) == 2
        out, err = capsys.readouterr()
        assert (out, err.count("\n")) == ("", 1)
        assert err.startswith("error: ")
        assert words in err
    assert list(tmp_path.iterdir()) == [taken]


def test_the_list_has_every_kernel_and_needs_no_torch():
    code = (
        "import sys; from kernels import __main__; print(__main__.listing())\n"
        "assert __main__.packages('cuda_oneflow') >= {'torch', 'cuda'}\n"
        "assert not {'torch', 'triton', 'cuda'} & set(sys.modules)"
    )
    lines = run_code(code).splitlines()
    assert set(kernels.names()) <= set(lines)
    place = lines.index("triton_row")
    assert lines[place + 1].startswith("  One program and one block per row")
    assert lines[place + 2] == "  log_softmax softmax; torch triton"


def test_what_is_printed_measures_the_new_kernel(project, tmp_path):
    """The command as it stands; from a folder no shell likes."""
    folder = tmp_path / "it's here"
    folder.mkdir()
    outside = str(folder / "mine.py")
    new = "new", "mine", "--language", "torch", "--output", outside
    output = run(*PYTHON, "kernels", *new, cwd=project)
    commands = [line.strip() for line in output.splitlines() if line.startswith("    ")]
    rank, measure, sweep = (shlex.split(command) for command in commands[:3])
    assert (*rank[:2], Path(rank[-1].removeprefix("KERNEL=")).name) == ("make", "shape", "mine.py")
    assert measure[:4] == ["python", "-m", "measure", "point"]
    assert "status      ok" in run(*PYTHON, *measure[2:], cwd=project)
    assert (project / "mine.csv").exists()
    kernels_of_sweep, variants = sweep[-2:]
    assert sweep[:5] == ["snakemake", "--cores", "all", "--config", "sweep=mine"]
    assert yaml.safe_load(kernels_of_sweep.partition("=")[2]) == [outside]
    assert variants == "variants=[torch_softmax, mine]"


def test_a_reader_of_the_list_may_stop_early():
    """As ``| head`` does."""
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    with subprocess.Popen(
        [sys.executable, "-m", "kernels"], cwd=ROOT, text=True, **pipes, encoding="utf-8"
    ) as ours:
        ours.stdout.close()
        assert ours.stderr.read() == ""
