"""The tables of special rows say of each variant where it is right and where it is wrong."""

import pandas as pd

from analysis.report import special_rows
from tests.analysis.synthetic import frame_of, with_speedups

ALL = "large values; first 1 -inf; first 32 -inf; first 1024 -inf; NaN"


def rows(variant: str, n: int, right: str, wrong: str = "", op: str = "cross_entropy", **more):
    columns = {"special_rows_right": right, "special_rows_wrong": wrong, "op": op} | more
    return frame_of(with_speedups({variant: 1.0}, [n], **columns), "logits")


def test_a_table_has_a_line_for_each_special_row_in_the_order_of_the_checks():
    parts = [
        rows("peer_b", 512, "large values; NaN", "first 32 -inf"),
        rows("peer_b", 4096, "large values; first 1 -inf; first 32 -inf; NaN", "first 1024 -inf"),
        rows("torch_logits", 512, "large values; first 32 -inf; NaN"),
        rows("torch_logits", 4096, ALL),
        rows("torch_softmax", 64, "large values", op="softmax"),
        rows("peer_c", 64, ""),
        rows("peer_b", 512, "", flags="edge_cases", replicate=2),
    ]
    text = special_rows.tables(pd.concat(parts, ignore_index=True))
    note, _, first, _, second = text.split("\n\n")
    lines = [line.strip("| ").split(" | ") for line in first.splitlines()]
    assert lines[0] == ["special rows", "`peer_b`", "`torch_logits`"]
    assert lines[2:] == [
        ["large values", "right", "right"],
        ["first logit -inf", "right", "right"],
        ["first 32 logits -inf", "**wrong** in 1 of 2", "right"],
        ["first 1024 logits -inf", "**wrong**", "right"],
        ["NaN", "right", "right"],
        ["checked", "2 points", "2 points"],
    ]
    assert "large values | right" in second
    assert "peer_c" not in text
    assert note == special_rows.NOTES["wrong** in "], "and no cell is empty"


def test_points_where_a_kernel_is_incorrect_are_counted_below_the_tables():
    failed = [rows("peer_c", n, "", status="incorrect") for n in (64, 128)]
    text = special_rows.tables(pd.concat([*failed, rows("peer_b", 64, "NaN")], ignore_index=True))
    assert text.endswith("kernels that failed the correctness check, `peer_c` at 2 points.")


def test_a_table_of_many_variants_has_a_line_for_each():
    parts = [rows(f"peer_{letter}", 64, "NaN") for letter in "abcd"]
    _, text = special_rows.tables(pd.concat(parts, ignore_index=True)).split("\n\n")
    assert text.splitlines()[0] == "| kernel | NaN | checked |"
    assert text.splitlines()[2] == "| `peer_a` | right | 1 point |"


def test_rows_that_name_none_have_no_table():
    assert special_rows.tables(rows("peer_c", 64, "")) == "No recorded row names special rows yet."
