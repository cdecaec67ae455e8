"""Print what README.md and docs/results.md say of the recorded rows: every number, losses included.

`python -m tools.results glance` prints one block, and `make docs` puts it between the comments that
name the command.
"""

import pandas as pd

from analysis import claims, frame, merge, published, ranking
from analysis.claims.claim import FAILS, HOLDS
from analysis.markdown import number, table, with_interval
from analysis.schema import OTHER_BOARD
from measure import ROOT
from tools.inserts import bullets, print_block

GPU, OURS = "h200", "frontier"
SPEEDUP = ["speedup", "speedup_low", "speedup_high"]
KEY, BEHIND = ranking.SWEEP_MATRIX, ["behind_best", "behind_low", "behind_high"]
PEERS = ("frontier", "peer_quack", "peer_liger", "peer_flaggems", "peer_helion", "peer_compile")
NOTE = (
    "In brackets: 95 % intervals. \\* Timed on another board, so not ranked. † The GPU reduced its"
)
NOTE += " clocks."
# Points of README.md, wins and losses: sweep, dtype, M, N.
GLANCE = (
    ("frontier", "bfloat16", 1, 4194304),
    ("frontier", "bfloat16", 1024, 65536),
    ("peers", "bfloat16", 1024, 4096),
    ("peers", "float32", 1024, 4096),
    ("peers", "bfloat16", 16384, 1024),
    ("frontier", "float16", 1024, 1024),
    ("online_softmax", "float32", 1024, 512),
)


def recorded() -> pd.DataFrame:
    """Return the recorded rows of all GPUs, collected as a report collects them."""
    tables = sorted((ROOT / "data/recorded").glob("*/*.csv"))
    return frame.from_rows(merge.collected_rows([], tables))


def of_gpu(rows: pd.DataFrame) -> pd.DataFrame:
    """Return the rows of GPU."""
    return rows[rows["gpu"] == GPU]


def glance(rows: pd.DataFrame) -> str:
    """Return a line for each point of GLANCE: torch, the best set, and what `frontier` does."""
    ranks, lines, gone = ranking.rank_variants(of_gpu(rows)), [], []
    for point in GLANCE:
        fits = (ranks[["sweep", "dtype", "M", "N"]] == list(point)).all(axis=1)
        part = ranks[fits].sort_values("rank")
        first, own = part.iloc[0], part[part["variant"] == OURS].iloc[0]
        best = part.loc[part["in_best_set"], "variant"]
        others = f", tie with {len(best) - 1}" if len(best) > 1 else ""
        others = ", alone" if first["competitors"] == 1 else others
        gone += [first["variant"]] * (merge.differing(first) == ["variant"])
        cells = f"{first['torch_us']:.1f} µs", f"`{first['variant']}`{others}"
        cells += f"{first['time_us']:.1f} µs", _cell(first), f"{first['of_copy']:.0%}"
        lines.append(["{2}x{3}".format(*point), point[1], *cells, _cell(own), _faster(part)])
    heads = ["M x N", "dtype", "torch", "fastest", "its time", "over torch", "of a copy"]
    text = table([*heads, f"`{OURS}`", "on another board"], lines, "points")
    kept = of_gpu(rows).query("status == 'ok'")
    when, torch = kept["started_at"].str[:10], sorted(kept["torch"].str.split("+").str[0].unique())
    boards = f"{kept['gpu_uuid'].nunique()} boards of {GPU.upper()}, torch {', '.join(torch)}"
    notes = [f"{boards}, {when.min()} to {when.max()}.", _stale(of_gpu(rows)), NOTE]
    notes += [f"The project no longer has `{name}`." for name in gone]
    return f"{text}\n\n{' '.join(notes)}"


def summary(rows: pd.DataFrame) -> str:
    """Return what `frontier` wins and loses over all recorded matrices, and the claims' count."""
    ranks = ranking.rank_variants(of_gpu(rows))
    own = ranks[(ranks["variant"] == OURS) & ranks["rank"].notna()]
    wide, met = own[own["sweep"] == OURS], own[own["competitors"] > 1]
    low, middle, high = (f"{value:.2f}x" for value in wide["speedup"].quantile([0.25, 0.5, 0.75]))
    slowest, worst = wide.loc[wide["of_copy"].idxmin()], met.loc[met["behind_best"].idxmax()]
    near, slower = (wide["of_copy"] >= 0.95).sum(), (~met["in_best_set"]).sum()
    same = (ranks[KEY] == worst[KEY]).all(axis=1)
    best = ranks.loc[same & (ranks["rank"] == 1), "variant"].iloc[0]
    others = ranks[ranks["rank"].notna() & (ranks["variant"] != OURS)].set_index(KEY)
    lead = 1 / others.groupby(KEY)["behind_low"].min().reindex(met.set_index(KEY).index)
    most = met["behind_high"].fillna(lead.set_axis(met.index))  # the fastest may be behind as well
    projects = others[others["variant"].str.startswith("peer_")].index
    beside = met[met.set_index(KEY).index.isin(projects)]
    quack = of_gpu(rows).query("variant == 'peer_quack'")["status"]
    verdicts = findings(rows)["verdict"].to_list()
    holds, fails = verdicts.count(HOLDS), verdicts.count(FAILS)
    return bullets(
        (
            f"`{OURS}` over torch, {len(wide)} points of its sweep: median {middle}, quartiles "
            f"{low} and {high}.",
            f"It has 95 % of the copy bandwidth or more at {near} of them. The least is "
            f"{slowest['of_copy']:.0%}, at {_point(slowest)}.",
            f"Of {len(met)} points of all sweeps with another variant, it is in the best set at "
            f"{len(met) - slower} and significantly slower at {slower}. Of the {len(beside)} with "
            f"another project's kernel, it is in the best set at {beside['in_best_set'].sum()}.",
            f"The 95 % interval of its time over the fastest ends below 1.02 at "
            f"{(most <= 1.02).sum()} of the {len(met)}, and below 1.05 at {(most <= 1.05).sum()}. "
            f"Its worst point is {_point(worst)}: {with_interval(*worst[BEHIND])} times as long as "
            f"`{best}`.",
            f"QuACK fails the correctness check at {(quack == 'incorrect').sum()} of its "
            f"{len(quack)} recorded points. Such a row never ranks.",
            f"Of {len(verdicts)} checks of published claims in float32, {holds} hold, {fails} do "
            f"not hold, and {len(verdicts) - holds - fails} stay open.",
        )
    )


def findings(rows: pd.DataFrame) -> pd.DataFrame:
    """Return the claims as checked on GPU in float32."""
    found = claims.check(rows, published.load(ROOT / "data/published"))
    return found.query("gpu == @GPU and dtype == 'float32' and origin == 'recorded'")


def claim_list(rows: pd.DataFrame) -> str:
    """Return each claim with its verdict in float32, the verdict first."""
    lines = []
    for row in findings(rows).to_dict("records"):
        stated = row["published_value"]
        stated = f"published {number(stated)}, " if stated > 0 else ""
        here = with_interval(row["value"], row["low"], row["high"])
        value = f"{row['quantity']}: {stated}here {here}"
        value = row["why"].split(" (")[0] if pd.isna(row["value"]) else value
        lines.append(f"**{row['verdict']}**: {row['claim']}, “{row['statement']}”; {value}.")
    return bullets(lines)


def peers(rows: pd.DataFrame) -> str:
    """Return the speed of each peer over torch, a line for each point of the sweep `peers`."""
    part, lines = of_gpu(rows).query("sweep == 'peers'"), []
    for (dtype, m, n), points in ranking.rank_variants(part).groupby(["dtype", "M", "N"]):
        by = points.set_index("variant", drop=False)
        cells = [_cell(by.loc[name]) if name in by.index else "" for name in PEERS]
        lines.append([f"{m}x{n}", dtype, *cells])
    heads = ["M x N", "dtype", *(f"`{name}`" for name in PEERS)]
    return f"{table(heads, lines, 'points')}\n\n{NOTE}"


def backward(rows: pd.DataFrame) -> str:
    """Return the least and the most share of the roofline of both backwards, ours and torch's."""
    lines = []
    for op in ("softmax_backward", "log_softmax_backward"):
        part = of_gpu(rows).query("op == @op and M * N > 10**8")
        torch = part["variant"] == "torch_softmax"
        best = part[~torch].groupby(["dtype", "N"])["of_copy"].max()
        long = best.index.get_level_values("N") > 65536
        shares = (best[~long], best[long], part.loc[torch, "of_copy"])
        ours, longest, theirs = (f"{each.min():.2f} to {each.max():.2f}" for each in shares)
        line = f"`{op}`, 100 million elements: {ours} at N = 128 to 65536, {longest} at 262144"
        lines.append(f"{line}; torch {theirs}.")
    return bullets(lines)


def gpus(rows: pd.DataFrame) -> str:
    """Return what each GPU has recorded, and how quiet it was in its worst sweep."""
    lines = []
    for gpu, part in rows[rows["status"] == "ok"].groupby("gpu"):
        boards = part.groupby("sweep")["gpu_uuid"].nunique()
        lines += [
            f"{gpu}: {(rows['gpu'] == gpu).sum()} rows of {len(boards)} sweeps, {len(part)} `ok`, "
            f"replicates: {part['replicate'].max():.0f}; {(boards > 1).sum()} sweeps on two boards",
            f"{gpu}: {_stale(rows[rows['gpu'] == gpu])}",
        ]
        for what, mask in (
            ("throttled or of a drifting clock", part["flags"].str.contains("throttled|_drift")),
            ("with an A/A interval that excludes 1", (part["aa_low"] > 1) | (part["aa_high"] < 1)),
        ):
            shares = mask.groupby(part["sweep"]).mean()
            worst = shares.idxmax()
            lines.append(f"{gpu}: {mask.mean():.1%} {what}; {shares[worst]:.0%} in `{worst}`")
    return bullets(lines)


def _stale(rows: pd.DataFrame) -> str:
    """Return how many rows an older version of the code measured."""
    stale = (rows["stale"] == "true").sum()
    return f"An older version of the kernels or of `measure/` measured {stale} of {len(rows)} rows."


def _cell(row: pd.Series) -> str:
    """Return the speed over torch with its interval and marks, or the status that is not ok."""
    if row["status"] != "ok":
        return row["status"]
    board = "*" if row["unranked_by"] == OTHER_BOARD else ""
    return f"{with_interval(*row[SPEEDUP])}{board}{frame.mark(row['flags'])}"


def _faster(part: pd.DataFrame) -> str:
    """Return the fastest variant of another board, if it is further ahead of torch than all."""
    apart = part[(part["unranked_by"] == OTHER_BOARD) & (part["speedup"] > part["speedup"].iloc[0])]
    if apart.empty:
        return ""
    fastest = apart.loc[apart["speedup"].idxmax()]
    return f"`{fastest['variant']}` {_cell(fastest)}"


def _point(row: pd.Series) -> str:
    return f"{row['M']}x{row['N']} in {row['dtype']}"


BLOCKS = {"glance": glance, "summary": summary, "claims": claim_list, "peers": peers}
BLOCKS |= {"backward": backward, "gpus": gpus}

if __name__ == "__main__":
    print_block(BLOCKS, recorded)
