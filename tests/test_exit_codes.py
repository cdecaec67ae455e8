"""An exit code means the same for every command: docs/reference/messages.md has the table."""

import re
import subprocess
import sys

import pytest

from analysis import exit_codes
from measure import ROOT

# Command -> its exit code; the commands of analysis have tests of theirs.
COMMANDS = {
    "-m snakemake --cores 1 --snakefile {folder}/fails.smk": 1,
    "-m kernels new 1x": 2,
}


@pytest.fixture
def folder(tmp_path):
    rule = 'rule fails:\n    output: "no_file"\n    shell: "false"\n'
    (tmp_path / "fails.smk").write_text(rule, encoding="utf-8")
    return tmp_path


@pytest.mark.parametrize(("command", "code"), COMMANDS.items())
def test_a_command_ends_with_the_code_of_what_happened(command, code, folder):
    words = [word.format(folder=folder) for word in command.split()]
    done = subprocess.run(
        [sys.executable, *words], cwd=ROOT, capture_output=True, text=True, encoding="utf-8"
    )
    assert done.returncode == code, done.stdout[-2000:] + done.stderr[-2000:]
    assert "Traceback" not in done.stderr


def test_the_table_has_every_code():
    page = (ROOT / "docs/reference/messages.md").read_text(encoding="utf-8")
    listed = {int(code) for code in re.findall(r"^\| (\d) \|", page, re.MULTILINE)}
    assert listed == {code for name, code in vars(exit_codes).items() if name.isupper()}
