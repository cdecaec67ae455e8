"""Rank the variants at every size: the best set, and how far the others are behind it."""

import math
from collections import defaultdict
from pathlib import Path

import numpy as np
import pandas as pd

import kernels
from analysis import eligibility, frame, palette, stats
from analysis.frame import different_words, is_baseline, is_ranked
from analysis.schema import CONTEST, SIZE, SWEEP_MATRIX
from analysis.stats import eager

RANK_COLUMNS = ["rank", "in_best_set", "behind_best", "behind_low", "behind_high", "competitors"]
RANK_COLUMNS += ["no_winner"]
PLACE = ["rank", "behind_best", "behind_low", "behind_high", "competitors", "p"]
CARRIED = ["time_us", "time_us_q20", "time_us_q80", "throughput_gbps"]
CARRIED += ["speedup", "speedup_low", "speedup_high", "processes", "of_copy", "of_meet"]
CARRIED += eager.COLUMNS
OUTCOME = ["status", "flags", "unranked_by", "message"]
COLUMNS = [*SWEEP_MATRIX, "variant", *RANK_COLUMNS, *CARRIED, *OUTCOME, "timed", "not_timed"]
# Statuses that say nothing about speed; ok, for a row that a flag excludes.
SPEED_UNKNOWN = ("ok", "interpreted", "unavailable")
WRONG_ELSEWHERE = "incorrect"  # the reason in `unranked_by` of a variant that is wrong in a sweep
NO_RIVAL, NOTHING_ELSE = "no rival besides torch was timed", "nothing else was timed"
OURS = "frontier"  # its parts, and its fallback on other GPUs, are called frontier_…
BETWEEN_SWEEPS = 0.02  # relative, of a speed-up, where no variant is in two sweeps
MIN_MATRICES = 20  # a performance profile needs them: a share of fewer says little


def rank_variants(measurements: pd.DataFrame) -> pd.DataFrame:
    """Return stats.point_estimates with the rank of each variant at its SIZE.

    There is one ranking: over all sweeps, inputs and boards of a GPU model, in the environment that
    most rows of the size have, and by the newest code of a variant. Every line that counts has
    its variant's rank, and the others have none. Variants of one matrix on one board are compared
    within it. Others are compared by their speed-ups over torch, whose variance then includes that
    between sweeps and boards.

    `rank` 1 is the fastest. `competitors` counts the variants that rank. `behind_best`: the time of
    a variant over that of the fastest, with its 95 % interval. `in_best_set`: not significantly
    slower than the fastest by more than stats.TIE, with p-values of `_rank` corrected over the GPU
    (Benjamini and Hochberg). `no_winner` says why a size has no best set: see `_contest`. `timed`
    and `not_timed` name who took part in the contest of a size: see `_with_contestants`.
    """
    table = eager.with_eager(_with_reasons(stats.point_estimates(measurements)))
    unique = frame.once(measurements)
    rows = table
    if len(unique) < len(measurements):
        rows = _with_reasons(stats.point_estimates(unique, measurements))
    rows = rows[is_ranked(rows, any_board=True)]
    rows = rows.assign(matrix=rows.groupby([*SIZE, "distribution", "gpu_uuid"]).ngroup())
    # variants of several sweeps show how much a speed-up over torch varies between these
    varied = rows[~is_baseline(rows)].groupby([*SIZE, "variant"])["log"].var()
    between = varied.groupby(["origin", "gpu"]).mean().fillna(BETWEEN_SWEEPS**2).to_dict()
    lines = []
    for size, group in rows.groupby(SIZE, sort=False):
        places = _rank(group, between.get(size[:2], 0.0))
        lines += [(*size, name, *place) for name, place in places.items()]
    on = [*SIZE, "variant"]
    places = pd.DataFrame(lines, columns=[*on, *PLACE]).astype(table.dtypes[on].to_dict())
    places = _contest(_with_best_sets(places.astype(dict.fromkeys(PLACE, "float64"))), table)
    table = table.merge(places, how="left", on=on)
    counts = is_ranked(table, any_board=True)
    shown = ["rank", "behind_best", "behind_low", "behind_high"]
    table[shown] = table[shown].where(counts)
    table["competitors"] = table["competitors"].where(counts).fillna(0).astype("int64")
    table["in_best_set"] = counts & table["in_best_set"].eq(True)  # NaN: has no place
    return _with_contestants(table.assign(no_winner=table["no_winner"].where(counts).fillna("")))


def _with_contestants(table: pd.DataFrame) -> pd.DataFrame:
    """Return `table` with the columns `timed` and `not_timed`, which are equal at one size.

    `timed` has the variants that rank, the fastest first. `not_timed` has every other variant with
    rows, and why it does not rank: `peer_quack (unavailable); triton_row (incorrect)`. It also has
    those that a user would choose for the operation (`kernels.rivals`) and that have no row.
    """
    reasons = table["status"].mask(table["status"] == "ok", table["unranked_by"])
    parts = []
    for (_, _, op, *_), lines in table.assign(why=reasons).groupby(SIZE, sort=False):
        timed = lines[lines["rank"].notna()].sort_values("rank")["variant"].unique()
        torch = set(lines["baseline"])  # timed beside every variant, it needs no row
        absent = {name: "no row" for name in kernels.rivals(op) if name not in torch}
        absent |= dict(zip(lines["variant"], lines["why"], strict=True))
        words = [f"{name} ({why})" for name, why in absent.items() if name not in timed]
        contestants = {"timed": " ".join(timed), "not_timed": "; ".join(words)}
        parts.append(pd.DataFrame(contestants, index=lines.index))
    if not parts:
        return table.assign(timed="", not_timed="")
    return table.join(pd.concat(parts))


def _with_reasons(table: pd.DataFrame) -> pd.DataFrame:
    """Return `table` with `unranked_by` of lines that only another sweep's lines exclude.

    These are lines of another environment than most of their size, of older code, and of a kernel
    that is wrong elsewhere.
    """
    wrong = table["status"] == "incorrect"
    wrong = wrong.groupby([table[name] for name in (*SIZE, "variant")]).transform("any")
    table = eligibility.exclude(table, wrong, WRONG_ELSEWHERE)
    table = eligibility.rank_usual_environment(table, SIZE)
    return eligibility.rank_newest_code(table, [*SIZE, "variant"])


def _with_best_sets(places: pd.DataFrame) -> pd.DataFrame:
    """Return `places` with `in_best_set`, and `p` corrected over each GPU."""
    p = places["p"].dropna()
    for _, part in places.loc[p.index].groupby(["origin", "gpu"]):
        p[part.index] = stats.benjamini_hochberg(p[part.index])
    return places.assign(in_best_set=~places.index.isin(p.index[p <= stats.ALPHA]))


def _contest(places: pd.DataFrame, table: pd.DataFrame) -> pd.DataFrame:
    """Return `places` with `no_winner`, and without best sets where it says why there is none.

    A win counts only against a rival other than torch and than a part of the same kernel (see
    `contestant`), and only where the favourite is not missing: the variant most often in the best
    set of the GPU, operation and dtype. A favourite that fails at a size is not missing: it has
    lost.
    """
    torch = set(table["baseline"])
    size, rivals = [places[name] for name in SIZE], ~places["variant"].isin(torch)
    first = places["variant"].where(places["rank"] == 1).groupby(size).transform("first")
    is_other = places["variant"].map(contestant) != first.map(contestant)
    raced = (rivals & is_other).groupby(size).transform("any")
    alone = np.where(first.isin(torch), NOTHING_ELSE, NO_RIVAL)
    places["no_winner"] = np.where(raced, "", alone)
    tried = table[is_ranked(table, any_board=True) | ~table["status"].isin(SPEED_UNKNOWN)]
    for key, part in places[raced & places["in_best_set"]].groupby(CONTEST):
        counts = wins(part)
        favourites = counts.index[counts == counts.max()]
        of_contest = (places[CONTEST] == list(key)).all(axis=1)
        tried_at = tried.loc[tried["variant"].isin(favourites), SIZE]
        present = pd.MultiIndex.from_frame(places[SIZE]).isin(pd.MultiIndex.from_frame(tried_at))
        missing = of_contest & raced & ~present
        places.loc[missing, "no_winner"] = f"{favourites[0]}, the usual winner, was not timed"
    return places.assign(in_best_set=places["in_best_set"] & (places["no_winner"] == ""))


def over_sweeps(table: pd.DataFrame) -> pd.DataFrame:
    """Return one line per variant of each SIZE, of the lines that rank in `rank_variants`.

    The ends of intervals are those over all sweeps; `sweep` and `flags` have the words of all.
    """
    rows = table[table["rank"].notna()]
    groups = frame.once(rows).groupby([*SIZE, "variant"], sort=False)
    merged = groups.first()
    merged[CARRIED] = groups[CARRIED].median()
    merged["speedup"] = np.exp(groups["log"].mean())
    for prefix in ("", "eager_"):
        merged[f"{prefix}speedup_low"] = groups[f"{prefix}speedup_low"].min()
        merged[f"{prefix}speedup_high"] = groups[f"{prefix}speedup_high"].max()
    words = rows.groupby([*SIZE, "variant"], sort=False)[["sweep", "flags"]].agg(different_words)
    return merged.assign(**words).reset_index()


def winners(sizes: pd.DataFrame) -> pd.DataFrame:
    """Return the line of the fastest variant at each SIZE, with `best`: the best set, it first.

    `best` is empty where `no_winner` says why there is none. `sizes`: of `over_sweeps`.
    """
    ordered = sizes.sort_values("rank", kind="stable")
    best = ordered[ordered["in_best_set"]].groupby(SIZE)["variant"].agg(list)
    first = ordered.drop_duplicates(SIZE).sort_index()
    return first.assign(best=[best.get(size, []) for size in first[SIZE].itertuples(index=False)])


def wins(rows: pd.DataFrame) -> pd.Series:
    """Return how many of the rows each variant has, the one with the most first."""
    counts = rows["variant"].value_counts()
    return counts.reindex(palette.most_first(counts))


def is_near_best(rows: pd.DataFrame) -> pd.Series:
    """Return which rows are within stats.TIE of the fastest of the same matrix among `rows`.

    A figure of one sweep asks for it, because the best set is that of all sweeps. Speeds are over
    torch; a published table without torch has times alone.
    """
    speed = rows["speedup"].fillna(1 / rows["time_us"])
    fastest = speed.groupby([rows[name] for name in SWEEP_MATRIX]).transform("max")
    return speed >= fastest / (1 + stats.TIE)


def contestant(variant: str) -> str:
    """Return who takes part in a contest: the variant, or OURS for its parts."""
    return OURS if variant.startswith(f"{OURS}_") else variant


def leads(sizes: pd.DataFrame, kernel: str, against_torch: bool = True) -> pd.DataFrame:
    """Return the lead of `kernel` over its best rival: a line for each SIZE, where it has one.

    `lead` is how many times as fast as `rival`, the fastest variant of others, it is. `tie`: both
    are in the best set. `against_torch`: torch counts as a rival. It needs no separate line,
    because every process times it beside its variant; without one, it ties with what is within
    stats.TIE. `sizes`: of `over_sweeps`.
    """
    own_sizes = sizes[sizes["variant"] == kernel]
    rivals = sizes[sizes["variant"].map(contestant) != contestant(kernel)]
    if against_torch:
        timed = pd.MultiIndex.from_frame(sizes.loc[is_baseline(sizes), SIZE])
        torch_lines = own_sizes[~pd.MultiIndex.from_frame(own_sizes[SIZE]).isin(timed)]
        near = torch_lines["speedup"].between(1 / (1 + stats.TIE), 1 + stats.TIE)
        torch_lines = torch_lines.assign(
            variant=torch_lines["baseline"],
            behind_best=torch_lines["behind_best"] * torch_lines["speedup"],
            in_best_set=torch_lines["in_best_set"] & near,
        )
        rivals = pd.concat([rivals, torch_lines])
    else:
        rivals = rivals[~is_baseline(rivals)]
    best = rivals.sort_values("behind_best", kind="stable").drop_duplicates(SIZE)
    pairs = own_sizes.merge(best, on=SIZE, suffixes=("", "_of_rival")).set_index(SIZE).sort_index()
    return pd.DataFrame(
        {
            "lead": pairs["behind_best_of_rival"] / pairs["behind_best"],
            "rival": pairs["variant_of_rival"],
            "tie": pairs["in_best_set"] & pairs["in_best_set_of_rival"],
        }
    )


def _rank(rows: pd.DataFrame, between: float = 0.0) -> dict[str, tuple]:
    """Return the values of PLACE for each variant of `rows`, which have one size.

    `p` is of the hypothesis that a variant ties with the fastest, times the number of the other
    variants (Bonferroni). The truly fastest variant is then in the best set with 95 % confidence
    (Hsu, Multiple Comparisons, 1996, chapter 4). `between`: the variance of ln(torch /
    variant) between matrices, for variants that share none.
    """
    estimates: dict[str, dict[int, list[stats.Estimate]]] = defaultdict(lambda: defaultdict(list))
    for row in rows[[*stats.Estimate._fields, "variant", "matrix"]].to_dict("records"):
        estimates[row["variant"]][row["matrix"]].append(stats.estimate(row))
    by_matrix = {
        variant: {matrix: stats.geometric_mean(several) for matrix, several in matrices.items()}
        for variant, matrices in estimates.items()
    }
    speeds = {name: stats.geometric_mean(matrices.values()) for name, matrices in by_matrix.items()}
    first, *followers = sorted(speeds, key=lambda name: (-speeds[name].log, name))
    lines = {first: (1.0, 1.0, math.nan, math.nan, len(speeds), math.nan)}
    for rank, name in enumerate(followers, start=2):
        common = by_matrix[first].keys() & by_matrix[name]
        paired = [by_matrix[first][m].over(by_matrix[name][m]) for m in common]
        behind = stats.geometric_mean(paired) if paired else speeds[first].over(speeds[name])
        if not paired:
            behind = behind._replace(variance=behind.variance + 2 * between)
        # the means of all matrices order the variants; in those that both have, it may be ahead
        p = behind.p_beyond(math.log1p(stats.TIE)) * len(followers) if behind.log > 0 else 1.0
        lines[name] = (float(rank), behind.value, *behind.interval, len(speeds), min(1.0, p))
    return lines


def profile(table: pd.DataFrame) -> pd.DataFrame:
    """Return the time of each variant over that of the fastest: a line per SIZE, a column each.

    inf: the variant cannot run, or is wrong. NaN: it was not timed here, or a flag excludes its
    time. Sizes with fewer than two competitors are left out. `table`: see `rank_variants`. The
    shares of a column up to x are a performance profile (Dolan and Moré, Mathematical Programming
    91, 2002).
    """
    compete = table.groupby(SIZE)["competitors"].transform("max") > 1
    decided = table["rank"].notna() | ~table["status"].isin(SPEED_UNKNOWN)
    lines = table[compete & decided].sort_values("rank").drop_duplicates([*SIZE, "variant"])
    return lines.set_index([*SIZE, "variant"])["behind_best"].fillna(math.inf).unstack("variant")


def share_within(behind: pd.Series, percent: float) -> float:
    """Return the share of a column of `profile` that is at most `percent` behind the fastest."""
    behind = behind.dropna()
    return float((behind <= 1 + percent / 100).mean())


def summarise(measurements: pd.DataFrame) -> pd.DataFrame:
    """Return the columns of summary.csv, sorted by matrix and rank."""
    table = rank_variants(measurements).sort_values([*SWEEP_MATRIX, "rank", "variant"])
    return table[COLUMNS].reset_index(drop=True)


def write(measurements: pd.DataFrame, output: Path) -> None:
    """Write the summary as CSV: booleans as true/false, ranks whole, empty = not applicable."""
    table = summarise(measurements)
    table["rank"] = table["rank"].astype("Int64")
    table["in_best_set"] = table["in_best_set"].map({True: "true", False: "false"})
    frame.write(output, table)
