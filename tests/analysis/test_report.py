"""The report says what the rows say, verdict first."""

import pandas as pd
import pytest

from analysis import claims, ranking
from analysis.markdown import number, render, with_interval
from analysis.report import best_sets, document, quality
from tests.analysis import oneflow_rows, synthetic


@pytest.fixture(scope="module")
def written(tables, tmp_path_factory):
    """Function that writes the report of some frames of rows and returns its text."""

    tmp_path = tmp_path_factory.mktemp("report")

    def make(frame):
        ranking.write(frame, tmp_path / "summary.csv")
        claims.write(frame, tables, tmp_path / "claims.csv")
        (tmp_path / "figures").mkdir(exist_ok=True)
        figure = tmp_path / "figures" / "a100" / "float32_online_softmax_time.png"
        figure.parent.mkdir(exist_ok=True)
        figure.write_bytes(b"x")
        summary = ranking.read(tmp_path / "summary.csv")
        found = claims.read(tmp_path / "claims.csv")
        inputs = document.Inputs(frame, summary, found, tables, "snakemake --cores 1 --use-conda")
        document.write(inputs, tmp_path / "figures", tmp_path / "report.md")
        return (tmp_path / "report.md").read_text()

    return make


@pytest.fixture(scope="module")
def online(written, measurements, online_rows):
    """The report of the online softmax protocol on an H200."""
    return written(measurements(online_rows))


def section(text, title):
    return text.split(f"## {title}\n", 1)[1].split("\n## ", 1)[0]


def test_sections_in_order_verdict_first(online):
    titles = [line[3:] for line in online.splitlines() if line.startswith("## ")]
    assert titles == [
        *("Ranking", "Published claims", "Figures", "Noise floor", "Cold calls", "Flags"),
        *("Points that are not ok", "Accuracy", "Published tables", "Environment"),
        "How to reproduce",
    ]


def test_verdict_is_in_words_and_in_a_table(online):
    verdict = section(online, "Ranking")
    assert "On **NVIDIA H200** in float32" in verdict
    assert "**triton_persistent** wins at 2 of 10 matrices, ties at 8 and loses at 0" in verdict
    (line,) = [row for row in verdict.splitlines() if row.startswith("| 131072 |")]
    best, torch, runner = (
        synthetic.time_us(name, 1024, 131072, 4)
        for name in ("triton_persistent", "torch_softmax", "triton_fused")
    )
    assert "| triton_persistent |" in line
    assert f"| {torch / best:.3f} [" in line
    assert f"| triton_row | triton_fused | {runner / best:.3f} [" in line


def test_recorded_rows_are_marked_and_come_after_measured(written, measurements, online_rows):
    cpu = synthetic.sweep_rows([256], ["torch_softmax", "torch_naive"], gpu="cpu")
    cpu += [
        synthetic.row(gpu="cpu", N=256, variant=v, status="interpreted") for v in synthetic.TRITON
    ]
    frames = [measurements(cpu), measurements(online_rows, origin="recorded")]
    text = written(pd.concat(frames, ignore_index=True))
    verdict = section(text, "Ranking")
    assert "### NVIDIA H200 — `h200` (recorded, not measured in this run)" in verdict
    assert verdict.index("`cpu`") < verdict.index("`h200`")
    assert "Only the torch variants are timed here: 7 Triton variants ran in" in verdict
    assert "**h200** (recorded)" in section(text, "Environment")


def test_no_rows_at_all(written, measurements):
    text = written(measurements([]))
    assert "No rows were measured or recorded" in section(text, "Ranking")
    assert "26.1 %" in section(text, "Published claims")


def test_claims_give_verdict_and_reason(online):
    text = section(online, "Published claims")
    assert "**holds**" in text
    assert "slower at N = 256, 512, 1024, 2048, 16384" in text
    assert "No data, or inconclusive" in text


def test_a_row_that_is_wrong_on_special_values_ranks_with_a_mark_and_its_message(
    written, measurements
):
    wrong = {"flags": "edge_cases", "message": "nan where a row is -inf"}
    rows = synthetic.sweep_rows([8192], ["torch_softmax", "triton_online"])
    rows += synthetic.sweep_rows([8192], ["peer_quack"], speedup=9, **wrong)
    text = written(measurements(rows))
    (line,) = [row for row in text.splitlines() if row.startswith("| 8192 |")]
    assert "| peer_quack‡ | " in line
    assert "‡ right on ordinary input" in section(text, "Ranking")
    assert "| ok | nan where a row is -inf | 1 |" in section(text, "Points that are not ok")


def test_flags_and_noise(written, measurements):
    off = {"aa_ratio": 1.03, "aa_low": 1.02, "aa_high": 1.04, "flags": "aa_biased throttled"}
    rows = synthetic.sweep_rows([131072], ["triton_row", "triton_online", "triton_fused"])
    rows.append(synthetic.row(N=131072, variant="triton_tiled", **off))
    text = written(measurements(rows))
    noise, spread = [row for row in section(text, "Noise floor").splitlines() if "h200" in row]
    assert "| over 10 µs | 4 | 0.05 % | 2.56 % | 3.00 % | 25.0 % | 1.00 |" in noise
    assert "| measured | online_softmax | h200 | GPU-1 | 0.50 % | 0.050 | 4.0 |" in spread
    assert "Biased control" not in text
    flags = section(text, "Flags")
    assert "| aa_biased | h200 | softmax | float32 | triton_tiled | 1 |" in flags
    assert "| throttled | h200 | softmax | float32 | triton_tiled | 1 |" in flags


def test_a_claim_has_the_published_ratio_beside_each_measured_one(written, measurements):
    text = written(measurements(oneflow_rows.rows(oneflow_rows.PROTOCOL), sweep="oneflow"))
    claim = section(text, "Published claims")
    first = oneflow_rows.speedup(oneflow_rows.WARP, 16) / 0.4
    (line,) = [row for row in claim.splitlines() if "| S3-a |" in row and "measured" in row]
    assert f"| {first:.3f}x [" in line
    assert "at N = 16 (published 2.736x); " in line


def test_numbers():
    assert number(1.35312) == "1.353"
    assert number(131072.0) == "131072"
    assert number(1.5e-11) == "1.500e-11"
    assert number(float("nan")) == ""
    assert with_interval(1.5, 1.4, 1.6) == "1.500 [1.400, 1.600]"
    assert with_interval(1.5, float("nan"), float("nan")) == "1.500"


OPS = ("softmax", "log_softmax")


def test_the_verdict_has_a_sentence_for_each(both_operations):
    text = render(best_sets.section(ranking.summarise(both_operations), {"h200": "NVIDIA H200"}))
    assert "(sweep `online_softmax`) **triton_row** wins at 1 of 1 matrix" in text
    assert "(sweep `online_softmax`, log_softmax) **triton_online** wins at 1 of 1" in text


def test_quality_tells_them_apart(both_operations, measurements):
    accuracy = render(quality.accuracy(both_operations))
    assert "| h200 | softmax | float32 | triton_row | ok | 1 | 1.00e-09 |" in accuracy
    assert "| h200 | log_softmax | float32 | triton_row | ok | 1 | 5.00e-07 |" in accuracy
    noise = render(quality.within(both_operations))
    assert [f"| h200 | measured | {op} |" in noise for op in OPS] == [True, True]
    rows = [synthetic.row(op=op, status="crash", message="x", flags="shared_gpu") for op in OPS]
    for text in (
        render(quality.failures(measurements(rows))),
        render(quality.flags(measurements(rows), [])),
    ):
        assert sum(f" {op} |" in text for op in OPS) == 2
        assert "| 2 |" not in text
