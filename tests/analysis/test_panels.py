"""How M depends on N; which rows share a panel; their roofline; the looks of variants."""

import itertools
import re

import numpy as np
import pandas as pd
import pytest

from analysis import palette, ranking
from analysis.figures import panels
from tests.analysis import synthetic
from tests.analysis.synthetic import ranked
from tests.colours import SIGHTS, lab

# M·N as constant as whole rows allow: 768 divides it, 1000 and 58001 do not.
WIDE = {n: round(3 * 2**25 / n) for n in (128, 768, 1000, 1024, 4096, 58001)}


def frame(m_of_n):
    return pd.DataFrame([{"M": m, "N": n} for n, m in m_of_n.items()])


def test_the_rule_behind_m():
    for m_of_n, words in (
        ({256: 1024, 512: 1024}, "M = 1024"),
        ({16: 32768, 512: 1048576}, "M = 2048·N"),
        ({128: 1024, 256: 512, 512: 256}, "M·N = 131,072"),
        (WIDE, "M·N ≈ 100,663,296"),
        ({128: 1024, 256: 900}, "M = 900 to 1,024"),
        ({12160: 4096}, "M = 4096"),
    ):
        assert panels.describe_m(frame(m_of_n)) == words


def test_sizes_of_one_product_are_a_part_and_the_few_of_each_m_are_the_last():
    """As a sweep that holds the bytes, beside one that holds M; 4 by 4096 is of both."""
    constant = [(16384 // n, n) for n in (16, 100, 512, 4096)]
    held = [(m, n) for m in (1, 4) for n in (4096, 8192)]
    rows = pd.DataFrame(sorted({*constant, *held}), columns=["M", "N"])
    actual = [list(part.itertuples(index=False, name=None)) for part in panels.split_by_m(rows)]
    assert actual == [sorted(constant), sorted(held)]


def test_sizes_are_one_part_unless_several_m_have_several_sizes():
    alternating = {256: 1024, 1024: 16384, 4096: 1024, 16384: 16384, 65536: 1024}
    for m_of_n, parts in (
        (alternating, [[256, 4096, 65536], [1024, 16384]]),
        *((sizes, [[*sizes]]) for sizes in (WIDE, {128: 1024, 256: 900}, {256: 900, 512: 900})),
    ):
        assert [part["N"].tolist() for part in panels.split_by_m(frame(m_of_n))] == parts


@pytest.mark.parametrize(("op", "matrices"), [("softmax", 2), ("softmax_backward", 3)])
def test_the_roofline_counts_the_bytes_of_the_operation(op, matrices, tables):
    rows = ranked([synthetic.row(op=op, M=1024, N=4096, copy_us=10.0)])
    (rate,) = set(panels.select(rows, tables, "h200").rows["roof_gbps"])
    assert rate == pytest.approx(matrices * 1024 * 4096 * 4 / 10.0 / 1000)


def test_known_variants_and_thirty_unknown_ones_have_different_looks():
    assert set(synthetic.VARIANTS) <= set(palette.KNOWN)
    names = [f"mine_{i}" for i in range(30)]
    actual = palette.styles([*names, *palette.KNOWN])
    assert len(set(actual.values())) == len(actual)
    assert {name: actual[name] for name in palette.KNOWN} == palette.KNOWN


def test_other_projects_have_colours_of_their_own():
    owner = {}
    for name, style in [*palette.KNOWN.items(), *(("mine", style) for style in palette.OTHERS)]:
        project = name.split("_")[1] if name.startswith("peer_") else "this"
        assert owner.setdefault(style.colour, project) == project


@pytest.mark.parametrize("sight", SIGHTS)
@pytest.mark.parametrize("logits", [False, True])
def test_rivals_have_colours_that_the_colour_blind_tell_apart(sight, logits):
    rivals = {
        style.colour
        for name, style in palette.KNOWN.items()
        if name.startswith("peer_") and bool(re.search("logits|return_dx|trl", name)) == logits
    }
    colours = rivals | {palette.KNOWN[name].colour for name in ("torch_softmax", "frontier")}
    seen = [lab(colour, SIGHTS[sight]) for colour in colours]
    assert min(np.linalg.norm(a - b) for a, b in itertools.combinations(seen, 2)) > 15


def test_the_control_is_the_baseline_of_the_operation_and_looks_like_torch():
    columns = {"op": "rms_norm", "baseline": "torch_rms_norm"}
    table = ranked(synthetic.with_speedups({"triton_rms_norm": 1.5, "other": 1.2}, **columns))
    assert table.set_index("variant")["no_winner"].to_dict() == {"triton_rms_norm": "", "other": ""}
    *_, control = panels.with_controls(table).to_dict("records")
    assert (control["variant"], control["speedup"]) == ("torch_rms_norm", 1)
    assert control["eager_us"] == control["torch_eager_us"], "not that of another kernel"
    styles = palette.styles(["torch_rms_norm", "other"], ["torch_rms_norm"])
    assert styles["torch_rms_norm"] == palette.KNOWN["torch_softmax"] != styles["other"]
    measured = synthetic.with_speedups({"torch_rms_norm": 1.01, "other": 1.2}, **columns)
    by_name = ranked(measured).set_index("variant")
    assert by_name.loc["torch_rms_norm", "speedup"] == 1
    assert set(by_name["no_winner"]) == {ranking.NO_RIVAL}
