"""Lines over N: time, throughput, gain over torch, published beside measured."""

import pandas as pd
from matplotlib.figure import Figure
from matplotlib.ticker import Formatter, FuncFormatter, NullLocator, PercentFormatter

from analysis import palette, ranking
from analysis.figures import facets, findings, style
from analysis.figures.panels import Selection, by_rule
from analysis.frame import distinct, is_baseline, is_ranked

NAMES = {
    "time_us": "time of a call (µs)",
    "throughput_gbps": "throughput (GB/s)",
    "of_copy": "share of a copy's speed",
    "of_peak": "share of the fastest copy, or of the data sheet's bandwidth where published",
    "speedup": f"speed-up over torch ({style.TIMES})",
    "saved_us": "saved per call (µs; axis linear from -1 to 1, logarithmic beyond)",
    "over_base": "ratio of speeds",
}
LABELLED = 7  # lines with a name and a colour; the other ones are grey
NUMBERS = FuncFormatter(lambda value, _: f"{value:,.10g}")
ENDS = ("speedup_low", "speedup", "speedup_high")
LOG_FROM = 20  # times the shortest time; an axis of longer ones is logarithmic
GAINERS = 4  # variants in a figure of gains
POINT = ["op", "M", "N", "variant"]


def draw_over_n(selection: Selection, value: str) -> Figure:
    """Draw time_us, throughput_gbps or of_peak over N: a row of panels per rule of M, one a GPU.

    The roofline is the copy in the same processes or, for a published table, the memory peak of the
    vendor. Few long rows have a second one. Random shapes are dots over M·N.
    """
    rows = by_rule(selection.rows)
    if rows.empty:
        return style.nothing(selection, _sentence(NAMES[value]))
    rows["peak_gbps"] = rows.groupby("gpu")["roof_gbps"].transform("max")
    rows["of_peak"] = rows["throughput_gbps"] / rows["peak_gbps"]
    main = rows[rows["rule"] == rows.groupby("rule")["N"].nunique().idxmax()]
    # the title is about what was measured here
    measured = main["origin"] != "published"
    shared = findings.same_order(main) if value == "of_peak" else ""
    main = main[measured] if measured.any() else main
    random, finding = (rows["rule"] == "").all(), findings.winner(main)
    if value == "time_us":
        finding = findings.cost(main)
    elif random:  # a throughput of unlike matrices says nothing, but its share of the copy's does
        value = "of_copy"
    else:
        finding = shared or findings.torch_loss(main) or finding
    rows = rows.assign(panel=_gpu_titles(rows), band=rows["rule"])
    points, names = rows, labelled(rows, selection)
    if rows["gpu"].nunique() > 1:  # grey lines of one GPU have no counterpart on another
        points = rows[rows["variant"].isin(names)]
    points = points.assign(y=points[value]) if random else _with_ends(points, value)
    drawn = facets.draw(points, names, selection.styles)
    is_log = value == "time_us" and rows["time_us"].max() > LOG_FROM * rows["time_us"].min()
    if is_log:
        drawn.grid.set(yscale="log")
    formatter = PercentFormatter(1, symbol=" %") if value.startswith("of_") else NUMBERS
    _format(drawn, formatter)
    roofs = {key: _rooflines(part, value) for key, part in rows.groupby(["band", "panel"])}
    one_rule = rows["rule"].nunique() == 1 and not random
    about = _sentence(NAMES[value]) + (f", {main['rule'].iloc[0]}" if one_rule else "")
    lowest = None if is_log else 0
    return facets.finish(drawn, roofs, finding, about, _facts(selection, rows), lowest)


def draw_gain(selection: Selection) -> Figure:
    """Draw the gain over torch in times and in µs of the fastest variants, a column per GPU.

    The rows follow the rule of M with the most sizes, because a gain in µs grows with the matrix.
    """
    rows = by_rule(selection.own[selection.own["speedup"].notna()])
    rows = rows[~is_baseline(rows) & (rows["rule"] != "")]
    if rows.empty:
        return style.nothing(selection, "Gain over torch")
    rows = rows[rows["rule"] == rows.groupby("rule")["N"].nunique().idxmax()]
    rows = rows.assign(panel=_gpu_titles(rows))
    order = rows.groupby("variant").agg({"in_best_set": "sum", "speedup": "median"})
    names = [*order.sort_values(["in_best_set", "speedup"], ascending=False).index[:GAINERS]]
    rows = rows[rows["variant"].isin(names)]
    rows["saved_us"] = rows["time_us"] * (rows["speedup"] - 1)
    bands = {value: NAMES[value] for value in ("speedup", "saved_us")}
    parts = [_with_ends(rows, value).assign(band=name) for value, name in bands.items()]
    drawn = facets.draw(pd.concat(parts), names, selection.styles, [*bands.values()])
    for level, band in zip((1, 0), drawn.grid.axes, strict=True):
        for axes in band:
            axes.axhline(level, color="0.25", lw=1, ls="--", zorder=1.5)
    for axes in drawn.grid.axes[1]:  # a loss may be a hundred times as large as every gain
        axes.set_yscale("symlog", linthresh=1, linscale=0.5)
        axes.margins(y=0.08)
        axes.yaxis.set(major_formatter=NUMBERS, minor_locator=NullLocator())
    about = f"Compared with torch at {rows['rule'].iloc[0]}; below the dashed line torch is faster"
    finding = findings.gain(rows, names[0])
    facts = _facts(selection._replace(rows=selection.own), rows)
    return facets.finish(drawn, {}, finding, about, facts, None)


def draw_published(selection: Selection, tables: pd.DataFrame) -> Figure:
    """Draw ratios of speeds as published and as measured: a column of panels per kernel.

    They are ratios to torch, or to the slowest variant of a table without torch.
    """
    own = selection.own.merge(tables[POINT].drop_duplicates(), on=POINT)
    # a ratio of times of two boards would compare the boards, too
    rows = pd.concat([own[is_ranked(own)], tables], ignore_index=True)
    slowest = tables.groupby("variant")["time_us"].mean().idxmax()
    base = next(iter(tables.loc[is_baseline(tables), "variant"]), slowest)
    # A published table without torch has times alone.
    speed = rows["speedup"].fillna(1 / rows["time_us"])
    size = [rows[name] for name in ("gpu", "origin", *POINT[:3])]
    rows["over_base"] = speed / speed.where(rows["variant"] == base).groupby(size).transform("max")
    rows = rows[(rows["variant"] != base) & rows["over_base"].notna()]
    table = rows.pivot_table("over_base", ["variant", "M", "N"], ["origin", "gpu"])
    rows = rows.assign(panel=rows["variant"], variant=_gpu_titles(rows), band="", rule="M")
    is_measured = rows["origin"] != "published"
    names = rows.assign(last=is_measured).sort_values(["last", "gpu"])["variant"].unique()
    looks = dict(zip(names, palette.GPUS, strict=False))
    chosen = selection._replace(rows=pd.concat([own, tables]), styles=looks)
    drawn = facets.draw(_with_ends(rows, "over_base"), [*looks], looks)
    drawn.grid.refline(y=1)
    finding, facts = findings.agreement(table, base), style.facts(chosen)
    kernels = [*dict.fromkeys(table.index.get_level_values("variant"))]
    kernel = findings.name_of(kernels[0]) if len(kernels) == 1 else "the kernel"
    about = f"{findings.name_of(base)}'s time / {kernel}'s; dashed: equal"
    return facets.finish(drawn, {}, finding, about, facts)


def labelled(rows: pd.DataFrame, selection: Selection) -> list[str]:
    """Return the variants that are named: torch, those of all panels, and frequent winners."""
    panels = rows.groupby("variant")["panel"].nunique()
    torch = [name for name in distinct(rows["baseline"]) if name in panels]
    wins = ranking.wins(selection.rows[selection.rows["in_best_set"]])
    wins = wins.reindex(panels.index.difference(torch), fill_value=0)
    # fewer panels are worth less than any number of wins
    names = palette.most_first(wins + len(selection.rows) * panels[wins.index])
    return sorted([*torch, *names[: LABELLED - len(torch)]], key=palette.order)


def _format(drawn: facets.Facets, formatter: Formatter) -> None:
    for axes in drawn.grid.axes.flat:
        axes.yaxis.set(major_formatter=formatter, minor_formatter="")


def _sentence(words: str) -> str:
    return words[0].upper() + words[1:]


def _gpu_titles(rows: pd.DataFrame) -> pd.Series:
    """Return the title of each row's GPU."""
    return rows["gpu"].map(style.gpu_titles(rows))


def _facts(selection: Selection, drawn: pd.DataFrame) -> str:
    """Return the small print about the sizes that are drawn."""
    sizes = drawn[["M", "N"]].drop_duplicates()
    return style.facts(selection._replace(rows=selection.rows.merge(sizes)))


def _with_ends(rows: pd.DataFrame, value: str) -> pd.DataFrame:
    """Return the rows three times, with `y` at the value and at the ends of its interval.

    seaborn draws the range of the three. The unit of an interval is torch's time.
    """
    parts = []
    for end in ENDS:
        faster = (rows[end] / rows["speedup"]).fillna(1)
        y = rows[value] / faster if value == "time_us" else rows[value] * faster
        if value == "saved_us":
            y = rows[value] + rows["time_us"] * (1 - 1 / faster)
        parts.append(rows.assign(y=y)[(rows[end].notna()) | (end == "speedup")])
    return pd.concat(parts, ignore_index=True)


def _rooflines(rows: pd.DataFrame, value: str) -> pd.DataFrame:
    """Return the rooflines of a panel: `name`, `x`, and the median `y` of the rows there."""
    over = "N" if (rows["rule"] != "").all() else "elements"
    published = (rows["origin"] == "published").all()
    rates = {
        "data sheet" if published else "copy": rows["roof_gbps"],
        "few-row limit": rows["meet_gbps"],
    }
    parts = []
    for name, rate in rates.items():
        time = rows["throughput_gbps"] * rows["time_us"] / rate
        shares = {"of_copy": rate / rows["roof_gbps"], "of_peak": rate / rows["peak_gbps"]}
        y = ({"time_us": time, "throughput_gbps": rate} | shares)[value]
        median = y.groupby(rows[over]).median().dropna()
        if name == "few-row limit" and len(median) < 2:
            continue  # a line needs two points
        parts.append(pd.DataFrame({"name": name, "x": median.index, "y": median.to_numpy()}))
    return pd.concat(parts, ignore_index=True)
