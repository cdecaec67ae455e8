"""What the documents say of recorded rows, on two GPUs of which one lacks sweeps."""

import re

import pandas as pd
import pytest
from PIL import Image, PngImagePlugin

from tests.analysis import synthetic
from tests.analysis.synthetic import frame_of
from tools import figures, goals, record, results
from tools.goals import OURS

PEERS = {OURS: 1.5, "peer_liger": 1.2}
LOST = {OURS: 1.5, "peer_liger": 1.65}
GIVEN = {"M": 1024, "dtype": "bfloat16"}


def recorded(speeds: dict, sweep: str, gpu: str, n: int = 65536, **columns) -> pd.DataFrame:
    rows = synthetic.with_speedups(speeds, [n], gpu=gpu, gpu_uuid=gpu, **GIVEN | columns)
    return frame_of(rows, sweep, "recorded")


@pytest.fixture(scope="module")
def rows():
    """The H100 has every sweep, and loses where the H200 wins; the H200 is newer."""
    h100 = [recorded(LOST, sweep, "h100") for sweep in record.SWEEPS]
    h200 = recorded(PEERS, "peers", "h200", started_at="2027-01-01")
    return pd.concat([*h100, h200], ignore_index=True)


def test_a_gpu_with_all_sweeps_comes_before_a_newer_one_that_lacks_some(rows):
    assert goals.order(rows) == ["h100", "h200"]
    lines = results.gpus(rows).splitlines()
    assert lines[0] == "|  | H100 | H200 |"
    assert "| boards | 1 | 1 |" in lines
    # more sweeps, measured once, are not more of a record
    parts = [recorded(PEERS, "peers", "h100", replicate=number) for number in (1, 2)]
    parts += [recorded(PEERS, sweep, "h100") for sweep in ("random",)]
    parts += [recorded(PEERS, sweep, "h200") for sweep in ("frontier", "random")]
    assert goals.order(pd.concat(parts)) == ["h100", "h200"]
    assert "| rows of older code | none | none |" in lines
    assert "| replicates | 2, `random` 1 | 1 |" in results.gpus(pd.concat(parts))


def test_a_sweep_that_lacks_matrices_is_named():
    """65536 columns are a matrix of `peers`, in a sweep of eight."""
    some = recorded(PEERS, "peers", "h100", distribution="normal")
    assert {"`peers` 1 of 8 matrices", "`steps` 0 of 98 matrices"} <= {*results.incomplete(some)}


def test_an_unranked_kernel_that_is_faster_than_the_runner_up_is_named():
    """A reader would take the runner-up for the second fastest."""
    place = {"n": 128256, "gpu": "h100", "M": 4096, "op": "log_softmax"}
    ranked = recorded({OURS: 2.0, "peer_liger": 1.2}, "peers", **place)
    for speed, named in ((1.6, " (not ranked: `peer_tileops`, 1.25, calls overlap)"), (1.1, "")):
        other = recorded({"peer_tileops": speed}, "peers", **place, flags="overlaps_calls")
        text = results.workloads(pd.concat([ranked, other]))
        assert f"| `peer_liger`, 1.67{named} |" in text
    alone = recorded({OURS: 2.0}, "peers", **place)
    assert "| none (not ranked: `peer_tileops`, 1.82, calls overlap) |" in results.workloads(
        pd.concat([alone, other])
    )


def test_a_tie_at_a_named_shape_names_both_and_neither_is_the_runner_up():
    place = {"n": 128256, "gpu": "h100", "M": 4096, "op": "log_softmax"}
    tie = {OURS: 2.0, "peer_liger": 2.0}
    for more, runner_up in (({}, "none"), ({"peer_quack": 1.6}, "`peer_quack`, 1.25")):
        text = results.workloads(recorded(tie | more, "peers", **place))
        assert text.startswith(f"of 1 shape, `{OURS}` is the fastest or tied at 1, `peer_liger` at")
        (line,) = text.splitlines()[4:5]
        assert f"| tie: `{OURS}`, `peer_liger` |" in line
        assert line.endswith(f"| {runner_up} |")


def test_a_missed_goal_is_marked_and_its_worst_cases_name_the_fastest_kernel(rows):
    h100, h200 = results.BLOCKS["goals"](rows).split("H200:")
    share = f"`{OURS}` is within 1 % of the fastest kernel at"
    assert h100.startswith(f"H100: {share} 0.0 % of 1 size, and at worst 10 % behind.")
    assert h200.startswith(f" {share} 100.0 % of 1 size, and at worst 0 % behind.")
    for part in ("all", "random shapes", "`softmax`, bfloat16"):
        assert f"| {part} | 0 of 1 ✗ | 0 of 1 ✗ |" in h100
    size = "softmax, 1024x65536, bfloat16"
    assert f"| at most 1 % behind | {size} | 1.10 | `peer_liger` |" in h100
    assert "| all | 1 of 1 | 1 of 1 |" in h200
    assert f"| at most 1 % behind | {size}" not in h200
    h100, h200 = results.BLOCKS["rivals"](rows).split("H200:")
    often = f"of these, `peer_liger` beats `{OURS}` most often, by more than 1 % at 1 of 1"
    assert h100.startswith(f"H100: {often} size.")
    assert h200.startswith(f" `{OURS}` is more than 1 % slower than a rival nowhere.")
    assert "| `peer_liger` | 1 | 0 | 0 | 1 | 0.909 | 0.909 |" in h100
    assert "| `peer_liger` | 1 | 1 | 0 | 0 | 1.25 | 1.25 |" in h200


def test_losses_beyond_the_most_that_are_named_are_counted(monkeypatch):
    monkeypatch.setattr(goals, "MOST_LOSSES", 1)
    speeds = {256: 1.65, 512: 1.6, 1024: 1.59}
    parts = [recorded({OURS: 1.5, "peer_liger": x}, "peers", "h100", n) for n, x in speeds.items()]
    lines = goals.goal_tables(pd.concat(parts)).splitlines()
    assert lines[-1] == "| at most 1 % behind | 2 other sizes | at most 1.07 |  |"


def test_every_variant_of_the_sweep_is_among_the_peers():
    """A list of names by hand would leave out a new one without a word."""
    speeds = {"torch_softmax": 1.0, "mine": 1.3} | PEERS
    text = results.BLOCKS["peers"](recorded(speeds, "peers", "h100"))
    assert text.startswith(f"H100: of 1 point, `{OURS}` is the fastest at 1.\n\n")
    assert f"| M x N | dtype | `{OURS}` | `peer_liger` | `mine` |" in text


def test_a_time_that_does_not_rank_has_its_reason_beside_it():
    doubtful = recorded({"peer_tileops": 1.6}, "peers", "h100", flags="overlaps_calls edge_cases")
    text = results.peers(pd.concat([recorded(PEERS, "peers", "h100"), doubtful]))
    assert "| 1.60‡ (calls overlap) |" in text
    assert "¶" not in text


def test_a_claim_has_one_verdict_and_a_ratio_is_shown_as_its_effect():
    columns = {"n": 256, "M": 4096, "dtype": "float32", "distribution": "normal"}
    speeds = {"h100": 0.8, "h200": 1.25}
    parts = [recorded({"triton_row": v}, "fused_softmax", g, **columns) for g, v in speeds.items()]
    both = results.BLOCKS["claims"](pd.concat(parts)).split("H200:")
    h100, h200 = (line for text in both for line in text.splitlines() if "S2-b" in line)
    assert both[0].startswith("H100: verdicts on 14 claimed numbers: 1 partly, 13 no data.")
    assert h100.startswith(
        "| S2-b: “torch is ahead at the smallest sizes” | speed of torch_softmax"
    )
    why = "[same direction, different size](explanation/why_kernels_differ.md#small-matrices) |"
    assert h100.endswith(f"| +8.33 % | +25 % | partly: {why}")
    assert "| -20 % | not reproduced: [the other direction]" in h200
    last = results.summary(pd.concat(parts)).splitlines()[-1]
    assert "| 1 partly, 13 no data | 1 not reproduced, 13 no data |" in last


@pytest.mark.parametrize("block", results.BLOCKS)
def test_no_block_needs_a_sweep(block):
    rows = recorded(PEERS, "mine", "h100", op="log_softmax", dtype="float32")
    text = results.BLOCKS[block](rows)
    assert text
    assert not re.search(r"\d%", text), "the documents write 5 %"


def test_figures_are_copied_with_their_titles_and_old_ones_go(tmp_path, monkeypatch):
    for name in ("DRAWN", "SHOWN"):
        monkeypatch.setattr(figures, name, tmp_path / name)
    monkeypatch.setattr(figures, "SHOWN_FIGURES", {"all/one": "One.", "h100/two": "Two."})
    monkeypatch.setattr(figures, "FROZEN_FIGURES", {})
    monkeypatch.setattr(figures.why, "FIGURES", {})
    for name in ("all/one", "h100/two"):
        path = tmp_path / f"DRAWN/{name}.png"
        path.parent.mkdir(parents=True)
        title = PngImagePlugin.PngInfo()
        title.add_text("Title", f"{path.stem} wins")
        Image.new("RGB", (4, 4), "#123456").save(path, dpi=(150, 150), pnginfo=title)
    (tmp_path / "SHOWN/h200").mkdir(parents=True)
    (tmp_path / "SHOWN/h200/old.png").touch()
    figures.copy()
    shown = {str(path.relative_to(figures.SHOWN)) for path in figures.SHOWN.rglob("*.png")}
    assert shown == {"all/one.png", "h100/two.png"}
    assert figures.gallery().splitlines() == [
        *("**one wins.** One.", "", "![one wins](figures/all/one.png)", ""),
        *("**two wins.** Two.", "", "![two wins](figures/h100/two.png)"),
    ]
