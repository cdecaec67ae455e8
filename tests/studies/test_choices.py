"""What a GPU loses by another's choices, from rows whose answers are known."""

import pandas as pd
import pytest

from studies import choices
from tests.analysis import synthetic

pytestmark = pytest.mark.slow  # an experiment that no sweep runs

TABLE, RULE = choices.WAYS  # in this order
OWN, H200S, RULED = "frontier_rows__k8w4", "frontier_rows__k2w16", "frontier_rows__k4w16"


@pytest.fixture(autouse=True)
def table(tables):
    """The H200's table, of one length."""
    tables(("NVIDIA H200", "float32", 4096, H200S))


def write(tmp_path, *found):
    return synthetic.write_csv(tmp_path / "tuning.csv", found)


def row(variant, M=8192, N=4096, speedup=1.0, **more):
    return synthetic.row(M=M, N=N, variant=variant, speedup=speedup, **more)


def test_each_way_of_choosing_is_held_against_the_fastest_form(tmp_path):
    path = write(
        tmp_path,
        *(row(OWN, M, speedup=2.0) for M in (1024, 8192)),
        row(H200S, 1024, speedup=1.0),
        row(H200S, 8192, speedup=4.0 * 0.81),  # geometric mean 1.8
        row(RULED, 1024, speedup=9.0),  # not at every M
        row("torch_softmax", speedup=9.0),
    )
    found = pd.DataFrame(choices.shares(choices.load(path))).set_index("way")
    assert found.loc[TABLE, "form"] == H200S
    assert found.loc[TABLE, "share"] == pytest.approx(0.9)
    assert found.loc[RULE, "form"] == RULED
    assert pd.isna(found.loc[RULE, "share"])
    by_way = {line[1]: line for line in choices.summary(found.reset_index())}
    assert by_way[TABLE] == ["float32", TABLE, 1, 1, 0, "0.900", "0.900", 4096]
    assert by_way[RULE] == ["float32", RULE, 1, 0, 0, "", "", ""]


def test_the_fastest_form_is_held_against_a_copy_where_the_cache_does_not_help(tmp_path):
    path = write(
        tmp_path,
        row(OWN, 8192, speedup=2.0, of_copy=0.97),
        row(H200S, 8192, speedup=1.0, of_copy=0.5),
        row(OWN, 8192, N=2048, speedup=2.0, of_copy=0.95),
        row(OWN, 8192, N=4097, speedup=2.0, of_copy=0.90),
        row(OWN, 1024, N=1024, speedup=2.0, of_copy=0.3),  # 8 MB
        row("frontier_spread__k8w8", 16, N=2**20, speedup=2.0, of_copy=0.4),  # few long rows
    )
    apart, whole = choices.copied(choices.load(path))
    assert apart == ["float32", "not whole words", 1, "0.900", "0.900", "8192x4097"]
    assert whole == ["float32", "whole words", 2, "0.960", "0.950", "8192x2048"]


def test_a_length_at_which_no_form_has_every_M_is_left_out(tmp_path):
    path = write(tmp_path, row(OWN, 8192), row(H200S, 16384), row(H200S, 8192, N=2048))
    timed = choices.load(path)
    shares = pd.DataFrame(choices.shares(timed))
    assert set(shares.dropna()["N"]) == {2048}
    assert [line[-1] for line in choices.copied(timed)] == ["8192x2048"]


def test_rows_of_several_gpus_are_refused(tmp_path, capsys):
    path = write(tmp_path, row(OWN), row(H200S, gpu_name="NVIDIA H20"))
    with pytest.raises(SystemExit):
        choices.main([str(path)])
    assert "several GPUs" in capsys.readouterr().err


def test_the_command_prints_both_tables(tmp_path, capsys):
    choices.main([str(write(tmp_path, row(OWN), row(H200S, speedup=2.0)))])
    printed = capsys.readouterr().out
    assert f"| float32 | {TABLE} | 1 | 1 | 1 | 1.000 | 1.000 | 4096 |" in printed
    assert "| float32 | whole words | 1 |" in printed


def test_rows_without_forms_are_one_clear_error(tmp_path, capsys):
    with pytest.raises(SystemExit):
        choices.main([str(write(tmp_path, row("torch_softmax")))])
    assert "sweeps/tuning.yaml" in capsys.readouterr().err
