"""An exit code means the same for every command: docs/reference/messages.md has the table."""

import re
import subprocess
import sys

import pytest

from analysis import exit_codes
from measure import ROOT
from tests.analysis import synthetic

WRONG = "def softmax(x, out=None):\n    return x.clone()\n"
# Command -> its exit code; {folder} has a wrong kernel and a folder where a row cannot be
COMMANDS = {
    "-m measure point --M 2 --N 3 --kernel {folder}/wrong.py --output {folder}/row.csv": 0,
    "-m measure point --M 2 --N 0 --output {folder}/row.csv": 2,
    "-m measure point --M 2 --N 3 --variant torch_softmax --output {folder}": 2,
    "-m kernels": 0,
    "-m kernels warm-up --N 0": 2,
    "-m kernels new 1x": 2,
    "-m analysis": 2,
    "-m analysis compare {folder}/none.csv {folder}/none.csv": 2,
    "-m analysis compare {folder}/fast.csv {folder}/fast.csv": 0,
    "-m analysis compare {folder}/fast.csv {folder}/slow.csv": 3,
    "-m analysis compare {folder}/fast.csv {folder}/crashed.csv": 4,
    "-m analysis check-recorded {folder}": 2,
    "-m tools.record no_sweep": 2,
    "-m snakemake --cores 1 --snakefile {folder}/fails.smk": 1,
    "-c raise(MemoryError)": 1,
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    made = tmp_path_factory.mktemp("commands")
    (made / "wrong.py").write_text(WRONG, encoding="utf-8")
    rule = 'rule fails:\n    output: "no_file"\n    shell: "false"\n'
    (made / "fails.smk").write_text(rule, encoding="utf-8")
    for name, factor in (("fast", 1.0), ("slow", 1.2)):
        rows = synthetic.with_speedups({"triton_row": 2 / factor}, (1024, 2048, 4096))
        synthetic.write_csv(made / f"{name}.csv", rows)
    crashed = [synthetic.row(variant="triton_row", N=n, status="crash") for n in (1024, 2048)]
    synthetic.write_csv(made / "crashed.csv", crashed)
    return made


@pytest.mark.parametrize(("command", "code"), COMMANDS.items())
def test_a_command_ends_with_the_code_of_what_happened(command, code, folder):
    words = [word.format(folder=folder) for word in command.split()]
    done = subprocess.run(
        [sys.executable, *words], cwd=ROOT, capture_output=True, text=True, encoding="utf-8"
    )
    assert done.returncode == code, done.stdout[-2000:] + done.stderr[-2000:]
    assert ("Traceback" in done.stderr) == (words[0] == "-c")


def test_the_table_has_every_code_and_a_command_provokes_it():
    page = (ROOT / "docs/reference/messages.md").read_text(encoding="utf-8")
    listed = {int(code) for code in re.findall(r"^\| (\d) \|", page, re.MULTILINE)}
    assert listed == {code for name, code in vars(exit_codes).items() if name.isupper()}
    assert set(COMMANDS.values()) == listed
