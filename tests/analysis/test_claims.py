"""Every claim with rows that make it hold, fail, or stay undecided."""

import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from analysis import claims, stats
from analysis.claims import CLAIMS
from tests.analysis import synthetic
from tests.analysis.conftest import frame_of

N_ONLINE = synthetic.ONLINE_SIZES
N_FUSED = [128 * i for i in range(3, 100, 8)]  # every eighth size of the protocol


def online(variant, speedup, half=0.002, sizes=N_ONLINE, **given):
    """Rows of the online protocol; `speedup` is a number or a function of N."""
    value = speedup if callable(speedup) else lambda n: speedup
    return [synthetic.with_speedup(value(n), half, variant=variant, N=n, **given) for n in sizes]


def fused(variant, speedup, half=0.002, sizes=N_FUSED, **given):
    return online(variant, speedup, half, sizes, M=4096, distribution="normal", **given)


def oneflow(fast, half=0.002):
    """OneFlow is `fast(N)` times as fast as FasterTransformer."""
    rows = []
    for s in (16, 32, 64, 128, 512):
        shape = {"M": 2048 * s, "N": s, "distribution": "normal"}
        rows.append(synthetic.with_speedup(fast(s), half, variant="cuda_oneflow", **shape))
        rows.append(synthetic.with_speedup(1.0, half, variant="cuda_fastertransformer", **shape))
    return rows


def limit(status, message=""):
    return [
        synthetic.row(variant="triton_fused", N=131072),
        synthetic.row(variant="triton_fused", N=262144, status=status, message=message),
    ]


def errors(online_error, torch_error):
    pair = {"triton_online": online_error, "torch_softmax": torch_error}
    return [synthetic.row(variant=v, N=32768, max_abs_error=e) for v, e in pair.items()]


TORCH, JIT, NAIVE = "torch_softmax", "torch_jit", "torch_naive"
T_ONLINE = online(TORCH, 1.0)
T_FUSED = fused("torch_softmax", 1.0, sizes=[256, *N_FUSED, 12160])


def ranking(fused_speedup, half=0.002):
    return online("triton_fused", fused_speedup, half) + online("triton_online", 1.2, half)


def trick(name, cached, plain):
    return online(f"triton_{name}", cached) + online(f"triton_{name}_nocache", plain)


def turns(n):
    return 1.4 if n < 65536 else 0.5


HOLDS, FAILS, OPEN, NONE = "holds", "does not hold", "inconclusive", "no data"
CASES = [
    ("S0-a", "reduction", T_ONLINE + online("triton_online", 1.42), HOLDS, "1.420x"),
    ("S0-a", "reduction", T_ONLINE + online("triton_online", 1.2), FAILS, "1.200x"),
    ("S0-a", "reduction", T_ONLINE + online("triton_online", 1.34, 0.02), OPEN, "too close"),
    ("S0-a", "reduction", T_ONLINE + errors(0, 0)[:1], NONE, "no row of triton_online at N = 131"),
    ("S0-a", "share", T_ONLINE + online("triton_online", 1.2), HOLDS, "10 of 10"),
    ("S0-a", "share", T_ONLINE + online("triton_online", lambda n: n / 1000), FAILS, "256, 512"),
    ("S0-a", "share", T_ONLINE + online("triton_online", 1.01, 0.1), OPEN, "too close"),
    ("S0-b", "", ranking(turns), HOLDS, "10 of 10"),
    ("S0-b", "", ranking(1.4), FAILS, "the other way at N = 65536, 131072"),
    ("S0-b", "", ranking(turns, half=0.3), OPEN, "too close to call at N = 256"),
    ("S0-b", "", ranking(turns)[:9] + ranking(turns)[10:], HOLDS, "; 1 size cannot"),
    ("S0-b", "", online("triton_online", 1.2), NONE, "triton_fused: no row"),
    ("S0-c", "", limit("unsupported", "N > 131072"), HOLDS, "(N > 131072)"),
    ("S0-c", "", limit("ok"), FAILS, "it ran"),
    ("S0-c", "", limit("out_of_memory"), NONE, "out_of_memory at N = 262144"),
    ("S0-d", "tiled", trick("tiled", 1.1, 1), HOLDS, "1.1"),
    ("S0-d", "tiled", trick("tiled", 1, 1.1), FAILS, "0.9"),
    ("S0-d", "online", trick("online", 1, 1), OPEN, "too"),
    ("S0-d", "online", online("triton_online", 1), NONE, "triton_online_nocache: no row"),
    ("S0-e", "", errors(2e-12, 5e-12), HOLDS, "not the difference itself"),
    ("S0-e", "", errors(4e-11, 5e-12), FAILS, "between 3.50e-11 and 4.50e-11"),
    ("S0-e", "", errors(1e-11, 1.2e-11), OPEN, "between 2.00e-12 and 2.20e-11"),
    ("S1-a", TORCH, T_FUSED + fused("triton_persistent", 1.3), HOLDS, "13 of 98"),
    ("S1-a", NAIVE, fused("triton_persistent", 1.3), NONE, "torch_naive: no row"),
    ("S2-a", TORCH, T_FUSED + fused("triton_row", 2, sizes=[12160]), HOLDS, "2.000x"),
    ("S2-a", JIT, T_FUSED + fused("triton_row", 2, sizes=[12160]), NONE, "torch_jit"),
    ("S2-b", "", T_FUSED + fused("triton_row", 0.9, sizes=[256, 384]), HOLDS, "1.111x"),
    ("S2-b", "", T_FUSED + fused("triton_row", 1.1, sizes=[256]), FAILS, "0.9091x"),
    ("S2-b", "", T_FUSED + fused("triton_row", 1.0, 0.1, sizes=[256]), OPEN, "too close"),
    ("S3-a", "", oneflow(lambda s: 2.0), HOLDS, "2.000x"),
    ("S3-a", "", oneflow(lambda s: 0.9 if s == 64 else 2.0), FAILS, "0.9000x"),
    ("S3-a", "", oneflow(lambda s: 1.1, half=0.3), OPEN, "too close"),
    ("S4-a", "", T_FUSED + fused("triton_row", 1.05), HOLDS, "over 13 of 98"),
    ("S4-a", "", T_FUSED + fused("triton_row", lambda n: 0.9 if n < 512 else 1.1), FAILS, "384"),
    ("S4-a", "", T_FUSED + fused("triton_row", 1.0, 0.1), OPEN, "too close"),
]


@pytest.fixture(scope="module")
def judged(measurements, tables):
    """The claims checked on the rows of all cases, each as a separate sweep."""
    frames = [measurements(rows, sweep=str(i)) for i, (_, _, rows, *_) in enumerate(CASES)]
    return claims.check(pd.concat(frames, ignore_index=True), tables)


@pytest.mark.parametrize("i", range(len(CASES)), ids=lambda i: "-".join(CASES[i][::3]))
def test_verdict(judged, i):
    claim, quantity, _, verdict, why = CASES[i]
    own = judged[(judged["claim"] == claim) & (judged["sweep"] == str(i))]
    (line,) = own[own["quantity"].str.contains(quantity)].to_dict("records")
    assert line["verdict"] == verdict, line
    assert why in line["why"]
    assert (line["gpu"], line["gpu_name"], line["dtype"]) == ("h200", "NVIDIA H200", "float32")


def test_every_claim_is_covered():
    assert {case[0] for case in CASES} == {
        *("S0-a", "S0-b", "S0-c", "S0-d", "S0-e"),
        *("S1-a", "S2-a", "S2-b", "S3-a", "S4-a"),
    }
    # S1-a and S2-a are judged as S0-d and S0-a
    for claim in {case[0] for case in CASES} - {"S0-c", "S1-a", "S2-a"}:
        assert {case[3] for case in CASES if case[0] == claim} - {NONE} == {HOLDS, FAILS, OPEN}


def judge(measurements, tables, rows):
    """The verdicts of all claims on some rows, with what `check` adds."""
    table = claims.check(measurements(rows), tables)
    return table[table["origin"] == "measured"]


@settings(derandomize=True, deadline=None, database=None, max_examples=40)
@given(st.lists(st.floats(0, 3), min_size=20, max_size=20), st.sampled_from(range(len(CASES))))
def test_noise_only_makes_a_verdict_inconclusive(wider, i):
    """Whatever intervals are widened, and by whatever: no verdict turns, and none is won."""
    claim, quantity, rows, *_ = CASES[i]
    (one,) = [c for c in CLAIMS if c.id == claim and quantity in c.quantity][:1]
    points = stats.point_estimates(frame_of(rows))
    noisy = points.copy()
    noisy["variance"] *= [(1 + wider[j % 20]) ** 4 for j in range(len(points))]
    verdicts = [claims.judge(one, each).verdict for each in (points, noisy)]
    assert verdicts[1] in (verdicts[0], OPEN)


def test_interpreted_rows_measure_nothing_and_say_so(measurements, tables):
    rows = synthetic.sweep_rows(variants=synthetic.TRITON, gpu="cpu", status="interpreted")
    own = judge(measurements, tables, rows + online(TORCH, 1.0, gpu="cpu"))
    assert set(own["verdict"]) == {NONE}
    assert own["why"][own["claim"].str.startswith("S0")].str.contains("interpreted").sum() >= 5


def test_flagged_rows_are_no_evidence(measurements, tables):
    rows = T_ONLINE + online("triton_online", 1.4, flags="faster_than_copy")
    line = judge(measurements, tables, rows).iloc[0]
    assert line["verdict"] == NONE
    assert line["why"].endswith("is not ranked: faster_than_copy")


def test_two_boards_are_not_compared_and_torch_is_on_each(measurements, tables):
    other = {"gpu_uuid": "GPU-2"}
    rows = trick("online", 1.4, 1.0) + online("torch_softmax", 1.0, **other)
    pair = [r | other if r["variant"] == "triton_online" else r for r in rows]
    own = judge(measurements, tables, pair).set_index(["claim", "quantity"])["verdict"]
    (with_trick,) = [v for (c, q), v in own.items() if c == "S0-d" and "triton_online" in q]
    assert with_trick == NONE
    assert own.xs("S0-a").to_list() == [HOLDS, HOLDS]


def test_file_reads_back(measurements, tables, tmp_path):
    claims.write(measurements(T_ONLINE), tables, tmp_path / "c.csv")
    found = claims.read(tmp_path / "c.csv")
    assert list(found) == claims.table.COLUMNS
    assert len(found) == len(claims.check(measurements(T_ONLINE), tables))
    own = found[found["origin"] == "measured"]
    assert own["why"].str.startswith("no rows of protocol").all(), "torch alone is of no protocol"


def test_claims_about_softmax_do_not_see_another_operation(measurements, tables):
    point = {"op": "log_softmax", "N": 131072}
    rows = [
        synthetic.with_speedup(1.36, variant="triton_online", **point),
        synthetic.row(variant="torch_softmax", **point),
    ]
    assert set(judge(measurements, tables, rows)["verdict"]) == {NONE}
    softmax = [row | {"op": "softmax"} for row in rows]
    other = {"speedup": "0.5", "speedup_low": "0.49", "speedup_high": "0.51"}
    own = judge(measurements, tables, softmax + [row | other for row in rows])
    (why,) = own[own["quantity"].str.contains("reduction")]["why"]
    assert "1.360x" in why
