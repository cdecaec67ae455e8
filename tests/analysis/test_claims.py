"""Every claim with rows that make it hold, fail, or stay undecided."""

import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from analysis import InputError, claims, frame, stats
from analysis.claims import CLAIMS
from analysis.claims.reproduction import VERDICTS
from measure import ROOT
from tests.analysis import synthetic
from tests.analysis.synthetic import frame_of, oneflow_rows

N_ONLINE = synthetic.ONLINE_SIZES
N_FUSED = [128 * i for i in range(3, 100, 8)]  # every eighth size of the protocol


def online(variant, speedup, half=0.002, sizes=N_ONLINE, **columns):
    """Rows of the online protocol; `speedup` is a number or a function of N."""
    value = speedup if callable(speedup) else lambda n: speedup
    return [synthetic.with_speedup(value(n), half, variant=variant, N=n, **columns) for n in sizes]


def fused(variant, speedup, half=0.002, sizes=N_FUSED, **columns):
    return online(variant, speedup, half, sizes, M=4096, distribution="normal", **columns)


def limit(status, message=""):
    return [
        synthetic.row(variant="triton_fused", N=131072),
        synthetic.row(variant="triton_fused", N=262144, status=status, message=message),
    ]


def errors(online_error, torch_error, replicate=1):
    pair = {"triton_online": online_error, "torch_softmax": torch_error}
    columns = {"N": 32768, "replicate": replicate}
    return [synthetic.row(variant=v, max_abs_error=e, **columns) for v, e in pair.items()]


TORCH, JIT, NAIVE = "torch_softmax", "torch_jit", "torch_naive"
T_ONLINE = online(TORCH, 1.0)
T_FUSED = fused("torch_softmax", 1.0, sizes=[256, *N_FUSED, 12160])


def ranking(fused_speedup, half=0.002):
    return online("triton_fused", fused_speedup, half) + online("triton_online", 1.2, half)


def trick(name, cached, plain):
    return online(f"triton_{name}", cached) + online(f"triton_{name}_nocache", plain)


def turns(n):
    return 1.4 if n < 65536 else 0.5


OTHER_BOARD = {"gpu_uuid": "GPU-2"}
TWO_BOARDS = online("triton_online_nocache", 1.0) + online(TORCH, 1.0, **OTHER_BOARD)
TWO_BOARDS += online("triton_online", 1.4, **OTHER_BOARD)
LOG_SOFTMAX = online(TORCH, 1.0, op="log_softmax") + online("triton_online", 2, op="log_softmax")
FLAGGED = online("triton_online", 1.4, flags="faster_than_roofline")
THROTTLED = online("triton_online", 1.4, flags="throttled")
INTERPRETED = [synthetic.row(variant="triton_online", N=131072, status="interpreted")]
UNABLE = [synthetic.row(variant="triton_fused", N=131072, status="unsupported")]
THOUSANDS = T_ONLINE + online("triton_online", lambda n: n / 1000)
ONE_SLOWER = T_FUSED + fused("triton_row", lambda n: 0.9 if n < 512 else 1.1)
SAME, PARTLY, FAILS, OPEN, NONE = VERDICTS
CASES = [
    ("S0-a", "reduction", T_ONLINE + online("triton_online", 1.42), SAME, "1.420x"),
    ("S0-a", "reduction", T_ONLINE + online("triton_online", 1.2), PARTLY, "1.200x"),
    ("S0-a", "reduction", T_ONLINE + online("triton_online", 0.9), FAILS, "the other direction"),
    ("S0-a", "reduction", T_ONLINE + online("triton_online", 1.27, 0.02), OPEN, "two verdicts"),
    ("S0-a", "reduction", T_ONLINE + errors(0, 0)[:1], NONE, "no row of triton_online at N = 131"),
    ("S0-a", "reduction", T_ONLINE + FLAGGED, NONE, "is not ranked: faster_than_roofline"),
    ("S0-a", "reduction", T_ONLINE + INTERPRETED, NONE, "is interpreted: Triton's interpreter"),
    ("S0-a", "reduction", THROTTLED, SAME, "was timed: triton_online at N = 131072"),
    ("S0-a", "reduction", TWO_BOARDS, SAME, "1.400x"),  # torch is on each board
    ("S0-a", "share", TWO_BOARDS, SAME, "10 of 10"),
    ("S0-d", "triton_online", TWO_BOARDS, NONE, "on one board at 0 sizes"),
    ("S0-a", "share", T_ONLINE + online("triton_online", 1.2), SAME, "faster at 10 of"),
    ("S0-a", "share", THOUSANDS, SAME, "slower at N = 256, 512"),
    ("S0-a", "share", THOUSANDS, SAME, "not at every size: faster at 8 of 10 sizes here, at 50 %"),
    ("S0-a", "share", T_ONLINE + online("triton_online", 1.01, 0.1), OPEN, "too close"),
    ("S0-a", "share", online("triton_online", 1.2, sizes=N_ONLINE[:4]), NONE, "5 are needed"),
    ("S0-a", "share", T_ONLINE + online("triton_online", 1.2, sizes=N_ONLINE[:5]), SAME, "5 of 5"),
    ("S0-b", "", ranking(turns), SAME, "10 of 10"),
    ("S0-b", "", ranking(1.4), PARTLY, "the other way at N = 65536, 131072"),
    ("S0-b", "", ranking(turns, half=0.3), OPEN, "too close to call at N = 256"),
    ("S0-b", "", ranking(turns)[:9] + ranking(turns)[10:], SAME, "; 1 size cannot"),
    ("S0-b", "", ranking(turns)[:9] + UNABLE + ranking(turns)[10:], SAME, "10 of 10"),
    ("S0-b", "", online("triton_online", 1.2), NONE, "triton_fused: no row"),
    ("S0-b", "", ranking(lambda n: 1.4)[:8], NONE, "on both sides of N = 65536"),
    ("S0-c", "", limit("unsupported", "N > 131072"), SAME, "(N > 131072)"),
    ("S0-c", "", limit("compile_error"), SAME, "ok at N = 131072"),
    ("S0-c", "", limit("ok"), FAILS, "it ran at N = 262144"),
    ("S0-c", "", limit("out_of_memory"), NONE, "out_of_memory at N = 262144"),
    ("S0-d", "tiled", trick("tiled", 1.02, 1), SAME, "1.02"),
    ("S0-d", "tiled", trick("tiled", 1.1, 1), PARTLY, "1.1"),
    ("S0-d", "tiled", trick("tiled", 1, 1.1), FAILS, "0.9"),
    ("S0-d", "online", trick("online", 1, 1), OPEN, "the limit between"),
    ("S0-d", "online", online("triton_online", 1), NONE, "triton_online_nocache: no row"),
    ("S0-e", "", errors(1.5e-11, 4e-13), SAME, "we recorded only bounds"),
    ("S0-e", "", errors(1.9e-11, 4e-13), FAILS, "between 1.86e-11 and 1.94e-11"),
    ("S0-e", "", errors(4e-13, 1.9e-11), FAILS, "between 1.86e-11 and 1.94e-11"),
    ("S0-e", "", errors(1e-11, float("nan")), NONE, "is not in the rows"),
    ("S0-e", "", errors(1e-11, 1.2e-11), OPEN, "between 2.00e-12 and 2.20e-11"),
    ("S0-e", "", errors(1.9e-11, 0) + errors(1e-12, 0, 2) + errors(1e-12, 0, 3), FAILS, "1.90e-11"),
    ("S1-a", TORCH, T_FUSED + fused("triton_persistent", 1.3), SAME, "13 of 98"),
    ("S1-a", NAIVE, fused("triton_persistent", 1.3), NONE, "torch_naive: no row"),
    ("S2-a", TORCH, T_FUSED + fused("triton_row", 2, sizes=[12160]), SAME, "2.000x"),
    ("S2-a", JIT, T_FUSED + fused("triton_row", 2, sizes=[12160]), NONE, "torch_jit"),
    ("S2-b", "", T_FUSED + fused("triton_row", 0.92, sizes=[256, 384]), SAME, "1.087x"),
    ("S2-b", "", T_FUSED + fused("triton_row", 1.1, sizes=[256]), FAILS, "0.9091x"),
    ("S2-b", "", T_FUSED + fused("triton_row", 1.0, 0.1, sizes=[256]), OPEN, "two verdicts"),
    ("S3-a", "", oneflow_rows(2.0), SAME, "2.000x"),
    ("S3-a", "", oneflow_rows(2.0)[:8] + oneflow_rows(0.9)[8:], PARTLY, "0.9000x"),
    ("S3-a", "", oneflow_rows(1.1, half=0.3), OPEN, "too close"),
    ("S4-a", "", T_FUSED + fused("triton_row", 1.05), SAME, "over the 13 of 98 sizes at which"),
    ("S4-a", "", ONE_SLOWER, PARTLY, "not at every size: slower at N = 384; geometric"),
    ("S4-a", "", T_FUSED + fused("triton_row", 1.0, 0.1), OPEN, "too close"),
]


@pytest.fixture(scope="module")
def estimates():
    """Estimates on the rows of all cases, each its own sweep."""
    frames = [frame_of(rows, sweep=str(i)) for i, (_, _, rows, *_) in enumerate(CASES)]
    return stats.point_estimates(pd.concat(frames, ignore_index=True))


@pytest.mark.parametrize("i", range(len(CASES)), ids=lambda i: "-".join(CASES[i][::3]))
def test_verdict(estimates, tables, i):
    name, quantity, _, verdict, why = CASES[i]
    (claim,) = [c for c in CLAIMS if c.id == name and quantity in c.quantity]
    _, published, table = claims.on_own_table(claim, tables)
    own = estimates[estimates["sweep"] == str(i)]
    finding = claims.judge(claim, own, table, published.value)
    assert finding.verdict == verdict, finding
    assert why in finding.why


@pytest.mark.parametrize(
    ("first", "second", "chosen"),
    [
        (T_FUSED, T_FUSED + fused("triton_row", 1.05), "second"),  # the first has no triton_row
        (
            frame_of(T_FUSED + fused("triton_row", 1.3)).assign(stale="true"),
            T_FUSED + fused("triton_row", 1.05, sizes=N_FUSED[:10]),
            "second",
        ),
        (
            T_FUSED + fused("triton_row", 1.05),
            T_FUSED + fused("triton_row", 1.3, sizes=N_FUSED[:10]),
            "first",
        ),
    ],
    ids=["a verdict", "current code", "more sizes"],
)
def test_of_two_sweeps_one_gives_the_verdict(first, second, chosen, tables):
    sweeps = {"first": first, "second": second}
    frames = [
        (rows if isinstance(rows, pd.DataFrame) else frame_of(rows)).assign(sweep=name)
        for name, rows in sweeps.items()
    ]
    checked = claims.check(pd.concat(frames, ignore_index=True), tables)
    own = checked[(checked["claim"] == "S4-a") & (checked["origin"] == "measured")]
    assert list(own["sweep"]) == [chosen]


@settings(derandomize=True, deadline=None, database=None, max_examples=40)
@given(st.lists(st.floats(0, 3), min_size=20, max_size=20), st.sampled_from(range(len(CASES))))
def test_noise_only_makes_a_verdict_inconclusive(wider, i):
    """Whatever intervals are widened, and by whatever: no verdict turns, and none is won."""
    claim, quantity, rows, *_ = CASES[i]
    (one,) = [c for c in CLAIMS if c.id == claim and quantity in c.quantity][:1]
    points = stats.point_estimates(frame_of(rows))
    noisy = points.copy()
    noisy["variance"] *= [(1 + wider[j % 20]) ** 4 for j in range(len(points))]
    verdicts = [claims.judge(one, estimates).verdict for estimates in (points, noisy)]
    assert verdicts[1] in (verdicts[0], OPEN)


@pytest.mark.parametrize(
    ("right", "typo", "complaint"),
    [
        ("judge: torch_ahead", "judge: torch_haead", "S2-b, speed .*no attribute 'torch_haead'"),
        (
            "{variant: triton_row",
            "{by: triton_row",
            "S2-b, speed .*missing a required argument: 'variant'",
        ),
        ("protocol: oneflow", "protocol: oneflw", "S3-a, smallest .*'oneflw'"),
        ("untabled: the article", "untable: the article", "S4-a, .*argument 'untable'"),
        ("minimum_sizes: 10", "most: 10", "protocols: .*argument 'most'"),
        ("{limit: 65536}", "{limit: 65536", r"not YAML: .*line \d+, .*expected ',' or '}'[^\n]*$"),
    ],
)
def test_a_typo_in_the_claims_is_named(right, typo, complaint):
    text = (ROOT / "analysis/claims/claims.yaml").read_text(encoding="utf-8")
    assert text.count(right) == 1
    with pytest.raises(InputError, match=f"^claims.yaml: {complaint}"):
        claims.load(text.replace(right, typo))


def test_file_reads_back(tables, tmp_path):
    """torch alone is of no protocol, and every claim is about softmax."""
    rows = frame_of(T_ONLINE + LOG_SOFTMAX)
    frame.write(tmp_path / "c.csv", claims.check(rows, tables))
    table = claims.read(tmp_path / "c.csv")
    assert list(table) == claims.COLUMNS
    assert len(table) == len(claims.check(rows, tables))
    own = table[table["origin"] == "measured"]
    assert own["why"].str.startswith("no rows of protocol").all()
