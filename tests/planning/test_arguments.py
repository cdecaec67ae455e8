"""What `make run ARGS=…` refuses in one line."""

import re

import pytest

from measure import ROOT
from planning import arguments

BROKEN = "sweep: a\nshapes: [{M: 4\n"


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        ("--configfile=none.yaml", "none.yaml: No such file or directory"),
        ("--configfiles sweeps/smoke.yaml none.yaml -n", "none.yaml: No such file"),
        ("--configfile {folder}/broken.yaml", "broken.yaml: it is not valid YAML: .* line 3"),
        ("--configfile {folder}/text.yaml", "text.yaml: it must have keys and values"),
        ("rows -n sweeps/smoke.yaml", "no target; a sweep is given as --configfile sweeps/smoke"),
        ("--config M=4 N=8 -n", "no key M; a shape is given as --config shape=4096x128256 dtype="),
        ("-C OP=softmax", "no key OP; a shape is given as .* op="),
    ],
)
def test_words_that_cannot_be_meant_are_refused_in_one_line(
    words, complaint, tmp_path, monkeypatch, capsys
):
    monkeypatch.chdir(ROOT)
    for name, content in {"broken": BROKEN, "text": "text"}.items():
        (tmp_path / f"{name}.yaml").write_text(content, encoding="utf-8")
    with pytest.raises(SystemExit, match="2"):
        arguments.check(words.format(folder=tmp_path).split())
    printed = capsys.readouterr()
    assert (printed.out, printed.err.count("\n")) == ("", 1)
    assert re.search(complaint, printed.err)


@pytest.mark.parametrize(
    "words",
    ["-n", "summary --configfile sweeps/smoke.yaml --config seed=3", "results/report.html"],
)
def test_other_words_are_left_to_snakemake(words, monkeypatch):
    monkeypatch.chdir(ROOT)
    arguments.check(words.split())


def test_the_defaults_are_checked_too(tmp_path, monkeypatch, capsys):
    (tmp_path / "config.yaml").write_text(BROKEN, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    with pytest.raises(SystemExit, match="2"):
        arguments.check([])
    assert re.search(r"config\.yaml: it is not valid YAML: .* line 3", capsys.readouterr().err)
