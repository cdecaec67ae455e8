"""Copies of one matrix, timed in several processes."""

import pandas as pd
import pytest

from studies import copies
from tests.analysis import synthetic

pytestmark = pytest.mark.slow  # an experiment that no sweep runs


def test_the_same_copy_in_several_processes(tmp_path, capsys):
    rows = [
        synthetic.row(variant=name, N=n, copy_us=time_us)
        for n, name, time_us in (
            (1024, "torch_softmax", 4.0),
            (1024, "triton_row", 4.4),
            (1024, "torch_naive", ""),  # not timed
            (8192, "torch_softmax", 20.0),
            (8192, "triton_row", 20.0),
            (256, "triton_row", 2.0),  # by one process alone
        )
    ]
    path = tmp_path / "rows.csv"
    pd.DataFrame(rows).to_csv(path, index=False)
    found = copies.apart(pd.read_csv(path)).set_index("N")
    assert list(found.index) == [1024, 8192]
    assert found.loc[1024, "us"] == pytest.approx(0.4)
    assert found.loc[1024, "mb"] == pytest.approx(2 * 1024 * 1024 * 4 / 1e6)
    copies.main([str(path)])
    lines = capsys.readouterr().out.splitlines()
    assert "| rows | 0 to 10 MB | 1 | 0.40 µs | 0.40 µs | 9.5% |" in lines
    assert "| rows | 10 to 100 MB | 1 | 0.00 µs | 0.00 µs | 0.0% |" in lines
