"""The table of points measured alone and at once; two GPUs are refused where there are none."""

import pandas as pd
import pytest

from studies import two_gpus

pytestmark = pytest.mark.slow  # an experiment that no sweep runs


def test_a_machine_without_two_gpus_is_told(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(two_gpus.gpus, "devices", list)
    assert two_gpus.main(["measure", "--output", str(tmp_path / "rows.csv")]) == 2
    assert "this takes two GPUs of a kind; here: none" in capsys.readouterr().err


def test_the_table_pairs_what_was_alone_with_what_was_not(tmp_path, capsys):
    lines = [
        (uuid, "torch_softmax", 1024, 256, at_once, number, time_us * (1 + 0.01 * number), 1.0, "")
        for uuid, at_once, time_us in (
            ("GPU-aaaaaaaaaaaa", 1, 3.0),
            ("GPU-bbbbbbbbbbbb", 1, 4.0),
            ("GPU-bbbbbbbbbbbb", 2, 4.04),
            ("GPU-aaaaaaaaaaaa", 2, 3.0),
        )
        for number in range(3)
    ]
    path = tmp_path / "rows.csv"
    pd.DataFrame(lines, columns=two_gpus.COLUMNS).to_csv(path, index=False)
    assert two_gpus.main(["table", "--data", str(path)]) == 0
    first, second = capsys.readouterr().out.splitlines()[2:]
    assert first.endswith("| GPU-aaaaaaaa… | 3.03 | 3.03 | 1.0000 |")
    assert second.endswith("| GPU-bbbbbbbb… | 4.04 | 4.08 | 1.0100 |")
