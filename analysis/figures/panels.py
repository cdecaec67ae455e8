"""Which rows are shown together: a set has one gpu, dtype and sweep; a panel has one rule for M."""

from typing import NamedTuple

import pandas as pd

from analysis import palette
from analysis.frame import distinct, is_baseline, is_ranked
from analysis.published import Published, Source
from analysis.schema import SWEEP_MATRIX

SET = ["gpu", "dtype", "sweep"]
MIN_SIZES = 3  # sizes of one M, or of one M·N, which fewer may have by chance
CONTROL = "control"  # the flag of rows that `with_controls` adds
MEDIANS = ["time_us", "eager_us", "throughput_gbps", "of_copy", "of_meet", "copy_us", "meet_us"]
UNKNOWN = ["time_us_q20", "time_us_q80", "warm_us", "latency_us", "speedup_low", "speedup_high"]
UNKNOWN += ["rank"]  # it does not compete


class Selection(NamedTuple):
    """Measured and published `rows`, the sources of all tables, and `styles` of all variants."""

    rows: pd.DataFrame
    sources: dict[str, Source]
    styles: dict[str, palette.Style]

    @property
    def own(self) -> pd.DataFrame:
        """The measured and recorded rows."""
        return self.rows[self.rows["origin"] != "published"]


def select(measurements: pd.DataFrame, published: Published, *key: str) -> Selection:
    """Return the rows of a gpu, dtype and sweep, or of the first of these; there may be none.

    `with_controls` adds rows of torch. Columns are added: `elements` is M·N; `roof_gbps`, the
    bandwidth of the copy of a measured row, and the memory peak in the data sheet for a published
    row; `meet_gbps` likewise, of few long rows. Published rows do not rank; their `of_copy` is of
    that peak.
    """
    measurements = with_controls(measurements)
    # throughput · time is the number of bytes that the row counts, for every dtype and operation
    moved_kb = measurements["throughput_gbps"] * measurements["time_us"]
    own = measurements.assign(table="", roof_gbps=moved_kb / measurements["copy_us"])
    own["meet_gbps"] = moved_kb / measurements["meet_us"]
    peaks = {name: source.memory_peak_gbps for name, source in published.sources.items()}
    peaks = published.rows["table"].map(peaks).astype(float)
    tables = published.rows.assign(in_best_set=False, roof_gbps=peaks, meet_gbps=float("nan"))
    tables["of_copy"] = tables["throughput_gbps"] / peaks
    rows = pd.concat([part for part in (own, tables) if len(part)] or [own], ignore_index=True)
    rows["elements"] = rows["M"] * rows["N"]
    chosen = (rows[SET[: len(key)]] == list(key)).all(axis=1)
    styles = palette.styles(rows["variant"], distinct(rows["baseline"]))
    return Selection(rows[chosen], published.sources, styles)


def with_controls(frame: pd.DataFrame) -> pd.DataFrame:
    """Return `frame` with a row of torch added for each matrix without a timed one.

    The row has the medians of torch's times over the rows of the matrix, and the flag CONTROL.
    Added rows come last, and the index continues.
    """
    timed = frame[is_ranked(frame, any_board=True) & is_baseline(frame)]
    matrices = pd.MultiIndex.from_frame(timed[SWEEP_MATRIX])
    rows = frame[is_ranked(frame)]
    rows = rows[~pd.MultiIndex.from_frame(rows[SWEEP_MATRIX]).isin(matrices)]
    if rows.empty:
        return frame
    scale = rows["time_us"] / rows["torch_us"]
    values = {
        "variant": rows["baseline"],
        "flags": CONTROL,
        "time_us": rows["torch_us"],
        "eager_us": rows["torch_eager_us"],
        "speedup": 1.0,
        "eager_speedup": 1.0,
        "eager_speedup_low": 1.0,
        "eager_speedup_high": 1.0,
    }
    values |= {name: rows[name] * scale for name in ("throughput_gbps", "of_copy", "of_meet")}
    values |= dict.fromkeys(UNKNOWN, float("nan")) | {"in_best_set": False, "competitors": 0}
    groups = rows.assign(**values).groupby(SWEEP_MATRIX, sort=False)
    controls = groups.first().assign(**groups[MEDIANS].median()).reset_index()
    return pd.concat([frame, controls[list(frame.columns)]], ignore_index=True)


def by_rule(rows: pd.DataFrame) -> pd.DataFrame:
    """Return the timed rows of the rules of M with many sizes, and the rule in words as `rule`.

    They have two sizes, and half of those of the rule with the most. A row of two rules
    comes twice. Where GPUs have rules in common, only these are shown. Where no rule has so many
    sizes, all timed rows have the rule "". Rows of another board count.
    """
    rows, parts = rows[is_ranked(rows, any_board=True)], []
    for (_, op), group in rows.groupby(["gpu", "op"]):
        head = "" if (rows["op"] == op).all() else f"{op}, "
        for part in split_by_m(group):
            if part["N"].nunique() > 1 and (rule := rule_of_m(part)):
                parts.append(part.assign(rule=head + rule.replace("M·N =", "M·N ≈")))
    if not parts:
        return rows.assign(rule="")
    split = pd.concat(parts, ignore_index=True)
    gpus, sizes = (split.groupby("rule")[name].nunique() for name in ("gpu", "N"))
    gpus = gpus[sizes >= sizes.max() / 2]
    shown = gpus.index[(gpus > 1) | (gpus == gpus.max())]
    return split[split["rule"].isin(shown)]


def describe_m(rows: pd.DataFrame) -> str:
    """Return the M of `rows`: `rule_of_m`, or else `M = 96 to 786,432`."""
    return rule_of_m(rows) or f"M = {rows['M'].min():,} to {rows['M'].max():,}"


def rule_of_m(rows: pd.DataFrame) -> str:
    """Return the rule that gives M for each N in words; "" where there is none.

    `M = 1024`, `M = 2048·N`, `M·N = 100,663,296`, or with `≈` where M was rounded.
    """
    shapes = rows[["M", "N"]].drop_duplicates()
    m, n, elements = shapes["M"], shapes["N"], shapes["M"] * shapes["N"]
    if m.nunique() == 1:
        return f"M = {m.iloc[0]}"
    if (m % n == 0).all() and (m // n).nunique() == 1:
        return f"M = {(m // n).iloc[0]}·N"
    # A constant rounded to a multiple of N lies within N elements of every product. Every N that
    # divides the constant has it exactly, so it is the most frequent product.
    if n.is_unique and (elements - n).max() <= (elements + n).min():
        return f"M·N {'=' if elements.nunique() == 1 else '≈'} {elements.mode().iloc[0]:,}"
    return ""


def split_by_m(rows: pd.DataFrame) -> list[pd.DataFrame]:
    """Return `rows` in parts, each with one rule for M, and a last one for the sizes without one.

    If each N has one M, there is one part, unless several M have several sizes each: then a line
    over N would alternate between them. Otherwise there is one part per M with MIN_SIZES sizes, and
    one per constant M·N that as many sizes share. A row may be in two parts.
    """
    shapes = rows[["M", "N"]].drop_duplicates()
    lone = shapes[shapes.groupby("M")["N"].transform("size") == 1]
    if shapes["N"].is_unique and (len(lone) or shapes["M"].nunique() == 1):
        return [rows]
    products = []
    while len(lone):
        # The M·N that fits the most shapes, where M is rounded down.
        candidates = sorted(map(int, (lone["M"] * lone["N"]).unique()))
        elements = max(candidates, key=lambda e: (lone["M"] == e // lone["N"]).sum())
        follows = lone["M"] == elements // lone["N"]
        if follows.sum() < MIN_SIZES:
            break
        products.append(rows[rows["M"] == elements // rows["N"]])
        lone = lone[~follows]
    enough = rows.groupby("M")["N"].transform("nunique") >= MIN_SIZES
    missing = ~rows.index.to_series().isin({i for part in products for i in part.index})
    few = rows[~enough & missing.groupby(rows["M"]).transform("any")]
    parts = [part for _, part in rows[enough].groupby("M")] + products
    return [*parts, few] if len(few) else parts
