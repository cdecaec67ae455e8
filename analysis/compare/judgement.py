"""Judge which points of two runs became faster or slower."""

import math
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
import pandas as pd

from analysis import InputError, exit_codes, schema, stats
from analysis import markdown as md
from analysis.frame import distinct, is_baseline, is_ranked
from kernels import split_config
from measure.status import Status

POINT = list(schema.POINT)
# The worst class first.
CLASSES = ("broke", "slower", "unclear", "same", "faster", "works now", "ok in neither")
BROKE, SLOWER, UNCLEAR, SAME, FASTER, WORKS, NEITHER = CLASSES
# Kernels are compared only where these are equal: boards, versions, measuring code, input.
CONDITIONS = ("gpu_name", "gpu_uuid", *schema.VERSIONS, *schema.BASELINE_STATE)
CONDITIONS += ("measure_sha256", "seed", "blocks")
# Statuses of a kernel that has a fault.
FAULTS = Status.INCORRECT, Status.COMPILE_ERROR, Status.CRASH
# Conditions of torch's own times: if one differs, torch is no control.
TORCH_CONDITIONS = {"gpu_name", "gpu_uuid", "driver", "cuda", "torch", "seed"}
TORCH_CONDITIONS |= {*schema.BASELINE_STATE}
WIDE = "the interval is wide: measure both with more `replicates`"
BY_CHANCE = "of so many points, one may differ so by chance: measure both with more `replicates`"
PROTOCOL = ["gpu", "op", "dtype", "distribution"]


class Limits(NamedTuple):
    """The limits of a comparison, as fractions.

    margin: a smaller difference counts as the same; processes of the same code differ by less.
    threshold: a point that is slower by more fails. rate: the false-discovery rate.
    """

    margin: float = 0.01
    threshold: float = 0.02
    rate: float = 0.05


class Comparison(NamedTuple):
    """Two runs and their comparison.

    `changes`: see `judge`. `differences`: condition -> the pairs of different (old, new) values.
    `paired`: whether the ratios are over torch; else they are over the copy.
    """

    old: pd.DataFrame
    new: pd.DataFrame
    changes: pd.DataFrame
    differences: dict[str, list[tuple[str, str]]]
    paired: bool


def compare(old: pd.DataFrame, new: pd.DataFrame, limits: Limits, allow: bool) -> Comparison:
    """Match the points of two runs and judge each.

    Where the ratios are over torch, torch's own are 1 and count for nothing: among the p-values of
    all points they would make other points seem the same.
    OLD may have torch's points alone, as where a pull request adds the kernel: nothing is judged.
    Raises InputError when they share no point or, unless `allow`, a condition differs.
    """
    points = [pd.MultiIndex.from_frame(run[POINT]).unique() for run in (old, new)]
    shared = points[0].intersection(points[1]).sort_values()
    if shared.empty:
        raise InputError(
            f"no point in common: OLD has {_has(old)}; NEW has {_has(new)}; "
            "compare runs of one GPU and one sweep"
        )
    differences = _differences(old, new, shared)
    if differences and not allow:
        raise InputError(
            f"OLD and NEW were not measured alike: {describe(differences)}; measure both alike, or "
            "pass --allow to compare anyway"
        )
    paired = not TORCH_CONDITIONS & set(differences)
    if paired:
        shared = shared[~shared.isin(pd.MultiIndex.from_frame(old.loc[is_baseline(old), POINT]))]
    if shared.empty and not (is_baseline(old).all() and _new_kernels(old, new)):
        torch = ", ".join(distinct(old["baseline"]))
        raise InputError(
            f"the only points in common are of {torch}, over which the ratios are taken; "
            "compare runs of a kernel"
        )
    return Comparison(old, new, judge(old, new, shared, limits, paired), differences, paired)


def judge(
    old: pd.DataFrame, new: pd.DataFrame, shared: pd.MultiIndex, limits: Limits, paired: bool
) -> pd.DataFrame:
    """Return one line per shared point, worst first, with the point as its index.

    `ratio` is old time / new time, with its 95 % interval from `low` to `high`. If `paired`, it is
    the quotient of the speed-ups over torch, else of the fractions of the copy bandwidth. `plain`
    is the ratio of the times. All are NaN where the point does not rank in both runs. `code`:
    whether the kernel's source is the same or changed. `note`: why there is no ratio or no verdict.
    `failed`: whether it broke, or is slower by more than the threshold.
    """
    if not paired:  # over both runs, a change of torch would look like a spread of processes
        old, new = (
            _over_copy(run).assign(origin=when) for run, when in ((old, "OLD"), (new, "NEW"))
        )
    controls = pd.concat([old, new], ignore_index=True)
    old, new = (
        stats.point_estimates(run, controls, paired).set_index(POINT).loc[shared]
        for run in (old, new)
    )
    table = _unjudged(old, new)
    comparable = table.index[(table["change"] == UNCLEAR) & (table["note"] == "")]
    table["plain"] = (table["time_us_old"] / table["time_us_new"]).loc[comparable]
    ratios = [
        stats.estimate(new.loc[point]).over(stats.estimate(old.loc[point])) for point in comparable
    ]
    numbers = [(ratio.value, *ratio.bounds) for ratio in ratios]
    table = table.join(pd.DataFrame(numbers, comparable, ["ratio", "low", "high"], dtype="float64"))
    if len(comparable):
        table.loc[comparable, ["change", "note"]] = [*_verdicts(ratios, limits)]
    far = (table["change"] == SLOWER) & (table["ratio"] < 1 / (1 + limits.threshold))
    table["failed"] = far | (table["change"] == BROKE)
    rank = table["change"].map(CLASSES.index)
    return table.iloc[np.lexsort((table["ratio"], rank))]


def _unjudged(old: pd.DataFrame, new: pd.DataFrame) -> pd.DataFrame:
    """Return statuses, times, flags and code of each point; its change is UNCLEAR if ok in both."""
    columns = ["status", "time_us"]
    table = old[columns].add_suffix("_old").join(new[columns].add_suffix("_new"))
    table["flags"] = old["flags"] + " " + new["flags"]
    before, after = old["kernel_sha256"], new["kernel_sha256"]
    unknown = (before == "") | (after == "")
    table["code"] = np.select([unknown, before == after], ["", "same"], "changed")
    ok = old["status"] == "ok", new["status"] == "ok"
    # A kernel can break in Triton's interpreter, too, where nothing is timed.
    was_right = ok[0] | ((old["status"] == Status.INTERPRETED) & new["status"].isin(FAULTS))
    table["change"] = np.select(
        [ok[0] & ok[1], was_right, ok[1]], [UNCLEAR, BROKE, WORKS], default=NEITHER
    )
    table["note"] = ""  # why two ok points cannot be compared
    for run, when in ((old, "OLD"), (new, "NEW")):
        unranked = ok[0] & ok[1] & ~is_ranked(run)
        table.loc[unranked, "note"] = f"not ranked in {when}: " + run["unranked_by"]
    return table


def _verdicts(ratios: list[stats.Estimate], limits: Limits) -> Iterator[tuple[str, str]]:
    """Yield change and note for each ratio.

    Differences and equalities are two families of p-values: among many points that are the same, a
    false difference would pass.
    """
    margin = math.log1p(limits.margin)
    differs = stats.benjamini_hochberg(ratio.p_beyond(margin) for ratio in ratios) <= limits.rate
    equal = stats.benjamini_hochberg(ratio.p_within(margin) for ratio in ratios) <= limits.rate
    for ratio, is_different, is_same in zip(ratios, differs, equal, strict=True):
        low, high = map(math.log, ratio.bounds)
        if is_different:
            yield (FASTER if ratio.log > 0 else SLOWER), ""
        elif is_same:
            yield SAME, ""
        else:
            yield UNCLEAR, BY_CHANCE if low > margin or high < -margin else WIDE


def uncompared(comparison: Comparison) -> list[str]:
    """Return the kernels whose code changed between the runs, and no point of which has a ratio.

    If no point of any kernel has one, all kernels of the runs but those that are new. A kernel is a
    file; one of its configs may be unsupported everywhere.
    """
    changes = comparison.changes
    compared = set(
        map(_kernel, changes[changes["ratio"].notna()].index.get_level_values("variant"))
    )
    codes = [
        run[(run["kernel_sha256"] != "") & ~is_baseline(run)]
        .groupby(run["variant"].map(_kernel))["kernel_sha256"]
        .agg(set)
        for run in comparison[:2]
    ]
    old, new = map(dict, codes)
    if not compared:
        return sorted({*old, *new} - _new_kernels(*comparison[:2]).keys())
    return sorted(k for k in old.keys() & new.keys() - compared if old[k] != new[k])


def _new_kernels(old: pd.DataFrame, new: pd.DataFrame) -> dict[str, bool]:
    """Return each kernel of NEW of which OLD has no row, and whether any point of it is ok."""
    before, after = (run[~is_baseline(run)] for run in (old, new))
    ok = (after["status"] == "ok").groupby(after["variant"].map(_kernel)).any()
    return ok.drop(set(before["variant"].map(_kernel)), errors="ignore").to_dict()


def _kernel(variant: str) -> str:
    return split_config(variant)[0]


def verdict(comparison: Comparison) -> tuple[int, str]:
    """Return the exit code of a comparison, and the words for it."""
    changes = comparison.changes
    failed = int(changes["failed"].sum())
    words = [f"{md.counted(failed, 'point')} failed"] if failed else []
    missing = uncompared(comparison)
    is_incomplete = bool(missing)
    if missing:
        words += [f"nothing of {', '.join(missing)} could be compared"]
    reasons = {
        schema.OTHER_CODE: "of an older code, so finish the run",
        schema.OTHER_ENVIRONMENT: "of another driver, torch or Triton than the others of the run, "
        "so measure them again",
    }
    for reason, remedy in reasons.items():
        if count := int(changes["note"].str.contains(reason, regex=False).sum()):
            words += [f"{md.counted(count, 'point')} {remedy}"]
            is_incomplete = True
    for name, is_timed in _new_kernels(*comparison[:2]).items():
        words += [f"{name} is new" + ("" if is_timed else ", and no point of it was timed")]
        is_incomplete = is_incomplete or not is_timed
    if is_incomplete or (changes["change"] == BROKE).any():
        return exit_codes.BROKE, "; ".join(words)
    if failed:
        return exit_codes.SLOWER, "; ".join(words)
    return exit_codes.DONE, "; ".join(["passed", *words])


def _over_copy(run: pd.DataFrame) -> pd.DataFrame:
    """Return rows whose `speedup` is over the copy; its interval is relatively as wide."""
    speedup = ["speedup", "speedup_low", "speedup_high"]
    return run.assign(**run[speedup].mul(run["of_copy"] / run["speedup"], axis=0))


def counts(changes: pd.DataFrame) -> str:
    """Return `1 slower, 4 same of 5 points`: every class that has a point, worst first."""
    if changes.empty:
        return "no point to compare"
    return f"{md.counts(changes['change'], CLASSES)} of {md.counted(len(changes), 'point')}"


def _differences(old: pd.DataFrame, new: pd.DataFrame, shared: pd.MultiIndex) -> dict:
    """Return the conditions whose values at a point, over all replicates, differ between runs."""
    differences = {}
    for name in CONDITIONS:
        texts = (_values(run, name).reindex(shared, fill_value="") for run in (old, new))
        # An empty value is unknown: of a row that crashed, or of a package that a kernel lacks.
        if pairs := sorted({(a, b) for a, b in zip(*texts, strict=True) if a and b and a != b}):
            differences[name] = pairs
    return differences


def _values(run: pd.DataFrame, name: str) -> pd.Series:
    """Return the different values of a column at each point, as text."""
    texts = run[name].map(lambda v: f"{v:.15g}" if isinstance(v, float) else v)
    filled = run.assign(text=texts)[~texts.isin(["", "nan"])]
    return filled.groupby(POINT)["text"].agg(lambda part: " and ".join(sorted(set(part))))


def describe(differences: dict) -> str:
    """Return `driver 570 in OLD, 580 in NEW` for every difference, hashes shortened."""
    return "; ".join(
        f"{name} {_short(old)} in OLD, {_short(new)} in NEW" + (" and others" if further else "")
        for name, ((old, new), *further) in differences.items()
    )


def _short(values: str) -> str:
    return " and ".join(value[:24] for value in values.split(" and "))


def _has(run: pd.DataFrame) -> str:
    parts = [f"{name} {'/'.join(sorted(set(run[name])))}" for name in PROTOCOL]
    return ", ".join([*parts, *(f"{name} {md.span(run[name])}" for name in ("M", "N"))])
