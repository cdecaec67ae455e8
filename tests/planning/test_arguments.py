"""What `make run ARGS=…` refuses in one line."""

import re
import subprocess
import sys

import pytest

from measure import ROOT
from planning import arguments

BROKEN = "sweep: a\nshapes: [{M: 4\n"


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        ("--configfile sweeps/smok.yaml", "sweeps/smok.yaml: No such file or directory"),
        ("--configfile=none.yaml", "--configfile none.yaml: No such file"),
        ("--configfiles sweeps/smoke.yaml none.yaml -n", "none.yaml: No such file"),
        ("--configfile {broken}", "broken.yaml: it is not valid YAML: .* line 3"),
        ("sweeps/smoke.yaml", "no target of Snakemake; .* --configfile sweeps/smoke.yaml"),
        ("rows -n sweeps/smoke.yaml", "sweeps/smoke.yaml is no target"),
        ("--configfile {text}", "text.yaml: it must have keys and values"),
        ("--config M=4 N=8 DTYPE=float16 -n", "given by --config shape=4x8 dtype=float16$"),
        ("--config OP=softmax KERNEL=../a.py", r"shape=MxN op=softmax kernel_files=\[../a.py\]$"),
    ],
)
def test_an_argument_that_cannot_be_meant_is_one_line(words, complaint, tmp_path):
    files = {"broken": BROKEN, "text": "text"}
    for name, content in files.items():
        (tmp_path / f"{name}.yaml").write_text(content, encoding="utf-8")
    words = words.format(**{name: tmp_path / f"{name}.yaml" for name in files}).split()
    command = [sys.executable, "-m", "planning.arguments", *words]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, encoding="utf-8")
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (2, "", 1)
    assert re.search(complaint, done.stderr)


@pytest.mark.parametrize(
    "words",
    [
        "",
        "-n",
        "summary --configfile sweeps/smoke.yaml --config seed=3",
        "results/report.html",
    ],
)
def test_other_arguments_are_snakemake_s(words):
    assert arguments.fault_of(words.split()) is None


def test_the_defaults_are_checked_too(tmp_path, monkeypatch):
    (tmp_path / "config.yaml").write_text(BROKEN)
    monkeypatch.chdir(tmp_path)
    assert re.match(r"config\.yaml: it is not valid YAML: .* line 3", arguments.fault_of([]))
