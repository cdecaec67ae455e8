"""Print the tables and the code of docs/explanation/why_kernels_differ.md, and draw its figures.

The numbers are computed from rows of one GPU, in float32. `python -m tools.why moved` prints one
table, and `python -m tools.figures copy` draws the figures.
"""

import functools
import math
import textwrap

import pandas as pd
import seaborn as sns
from matplotlib import pyplot as plt
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from analysis import eligibility, frame, merge, palette
from analysis.figures import labels, style
from analysis.markdown import number, percent, span, table
from measure import ROOT
from tools import results
from tools.inserts import print_block

RECORDED = ROOT / "data/recorded/h200"  # the GPU of all figures
ITEMSIZE, MIB = 4, 2**20
# An H200 SXM: what its driver says of L2 (no longer call has a `warm_us`), and its data sheet.
L2_BYTES, MULTIPROCESSORS = 60 * MIB, 132
TILES = {"triton_tiled": 2**14, "triton_online": 2**12}  # elements, as their files say
LONGEST = 131072  # columns of the articles' longest rows
# Matrices that a kernel reads and writes by its design, as its own file says.
MATRICES_MOVED = {
    "frontier": 2,
    "triton_fused": 2,
    "triton_online": 3,
    "triton_online_nocache": 3,
    "triton_tiled": 4,
    "torch_softmax": 4,
    "cuda_oneflow_uncached": 4,
    "triton_tiled_nocache": 4,
    "torch_naive": 8,
}
# The longest row of each kernel of torch 2.11 in float32, by ATen's SoftMax.cu: 1024 threads keep
# up to nine elements each in registers; then a row and 32 sums fit in 48 KiB of shared memory.
TORCH_KERNELS = {2048: "one warp", 6144: "one block: registers", 9216: "7th element per thread"}
TORCH_KERNELS[12252] = "shared memory"
BEYOND = "reads\nthree\ntimes"  # torch's kernel of longer rows
POWERS_OF_TWO = {2**i: f"{2**i}" for i in range(10, 14)}
COPY, COLUMNS = "% of a copy's speed", "N (columns)"
# Seconds of `make run` for a point beside its `wall_s`: on an H100, 182 points took 470 s.
POINT_S = 1.0
COUNTED = ["gpu", "M", "N", "mb", "dram_read_mb", "times"]


@functools.cache
def recorded_rows(sweep: str) -> pd.DataFrame:
    """Return the rows of a recorded sweep that rank, in float32: medians over replicates."""
    recorded = merge.recorded_rows(RECORDED / f"{sweep}.csv")
    rows = frame.from_rows(eligibility.mark_ranked(recorded))
    rows = rows[frame.is_ranked(rows, any_board=True) & (rows["dtype"] == "float32")]
    rows = rows.groupby(["M", "N", "variant"]).median(numeric_only=True).reset_index()
    return rows.assign(copies=1 / rows["of_copy"], **{COPY: 100 * rows["of_copy"]})


def rows_at_1024() -> pd.DataFrame:
    """Return the rows of online_softmax, and `frontier` at longer N of another sweep."""
    longer = "M == 1024 and N > @LONGEST and variant == 'frontier'"
    parts = recorded_rows("online_softmax"), recorded_rows("frontier").query(longer)
    return pd.concat(parts, ignore_index=True)


def line(rows: pd.DataFrame, variant: str) -> pd.DataFrame:
    """Return the rows of a variant by N."""
    return rows[rows["variant"] == variant].set_index("N").sort_index()


def longest_rows() -> pd.DataFrame:
    """Return a line for each kernel of MATRICES_MOVED at rows of LONGEST, by bytes and time."""
    rows = recorded_rows("online_softmax").query("N == @LONGEST").set_index("variant")
    rows = rows.loc[[*MATRICES_MOVED]].assign(moved=pd.Series(MATRICES_MOVED) / 2)
    return rows.sort_values(["moved", "copies"])


def cache_trick(rows: pd.DataFrame, name: str) -> pd.DataFrame:
    """Return by N what walking backwards gains, the tiles of a row, and the MiB in flight.

    Rows are in flight on all multiprocessors; each is read, and written to another place.
    """
    forwards, backwards = line(rows, f"{name}_nocache"), line(rows, name)
    resident = MULTIPROCESSORS * backwards["blocks_per_sm"]
    return pd.DataFrame(
        {
            "variant": name,
            "gain": forwards["time_us"] / backwards["time_us"],
            "tiles": -(-backwards.index // TILES[name]),
            "in_flight": 2 * resident * backwards.index * ITEMSIZE / MIB,
        }
    ).dropna()


def bytes_moved() -> Figure:
    """Times at rows of 131072 elements, beside the bytes that each kernel moves by its design."""
    rows = longest_rows()
    figure, axes = plt.subplots()
    sns.barplot(rows, x="copies", y="variant", color=style.PALE, saturation=1)
    for name, end in rows[["copies", "moved"]].max(axis=1).items():
        spilling = " (spills)" if name == "triton_fused" else ""
        text = number(rows["copies"][name], 3) + spilling
        axes.text(end + 0.16, name, text, color=style.INK, va="center_baseline")
    ticks = {"s": 60, "color": style.INK, "edgecolor": "white", "linewidth": 0.8, "zorder": 3}
    axes.scatter(rows["moved"], rows.index, marker="D", **ticks)
    axes.set(xlabel="copies", ylabel="", xlim=(0, 1.12 * rows["copies"].max()))
    longest = number(rows["copies"]["triton_fused"], 2)
    title = (
        f"Time follows the bytes moved; triton_fused spills and takes as long as {longest} copies"
    )
    about = "Bar: time / time of a copy; diamond: bytes moved by design / bytes of a copy"
    return finished(figure, title, f"1024x{LONGEST}", left=1.75, about=about)


def spills() -> Figure:
    """Share of a copy of triton_fused and its spilled bytes, over N."""
    rows, names = rows_at_1024(), ["triton_fused", "triton_online", "frontier"]
    figure, (above, below) = plt.subplots(2, sharex=True)
    draw_lines(above, rows, COPY, names)
    draw_lines(below, rows, "spilled_bytes", names[:1])
    above.set_ylim(0)
    below.set(ylim=(0, None), xlabel=COLUMNS, ylabel="spilled bytes per thread")
    fused = line(rows, names[0])
    first = fused.index[fused["spilled_bytes"] > 0][0]
    for axes in (above, below):  # between two measured N
        axes.axvline(first / 2**0.5, color="0.5", linestyle="--", linewidth=1)
    below.text(first / 2**0.55, 1500, "spills from here", color=style.GREY, ha="right")
    before, after = (percent(fused["of_copy"][n]) for n in (first // 2, LONGEST))
    title = f"Spilling registers, triton_fused falls from {before} of a copy's speed to {after}"
    return finished(figure, title, "M = 1024", names)


def clusters() -> Figure:
    """Share of a copy of one block and of a cluster of blocks, over long rows."""
    rows = rows_at_1024().query("N >= 4096")
    names = ["torch_softmax", "triton_fused", "triton_online", "frontier"]
    figure, axes = plt.subplots()
    draw_lines(axes, rows, COPY, names)
    axes.set(ylim=(0, 105), xlabel=COLUMNS)
    torch, ours = (percent(line(rows, name)["of_copy"][LONGEST]) for name in names[::3])
    title = (
        f"At {style.size_label(LONGEST)} columns torch rereads each row: {torch} of a copy; "
        f"frontier keeps it in a cluster: {ours}"
    )
    shown = [*(f"{name}, one block" for name in names[:-1]), "frontier, cluster for long rows"]
    return finished(figure, title, "M = 1024", shown)


def steps(variant: str, marks: dict[int, str], reason: str, last: str = "") -> Figure:
    """Share of a copy of a variant at every 128th N; `marks`: N -> what ends there.

    With a name of the `last` region, names stand in the middle of their regions.
    """
    share = line(recorded_rows("steps"), variant)["of_copy"]
    figure, axes = plt.subplots()
    colour = palette.styles([variant])[variant].colour
    sns.lineplot(x=share.index, y=100 * share, color=colour, marker="o", ms=3)
    axes.margins(y=0.15)
    axes.set(xlim=(0, 1.02 * share.index.max()), xlabel=COLUMNS)
    axes.set_ylabel(f"{COPY} (axis from {round(axes.get_ylim()[0])} %)")
    at_bottom = {"transform": axes.get_xaxis_transform(), "color": style.GREY}
    ends = [*marks, axes.get_xlim()[1]] if last else [*marks]
    for start, n, text in zip([0, *marks], ends, [*marks.values(), last], strict=False):
        if n in marks:
            axes.axvline(n, color="0.75", linewidth=0.8)
        middle = ((start + n) / 2, "center") if last else (n, "right")
        axes.text(middle[0], 0.03, text if last else f"{text} ", ha=middle[1], **at_bottom)
    before, after = (percent(share[n]) for n in (2048, 2176))
    title = f"{variant} reaches {before} of a copy at 2048 columns, and {after} at 2176: {reason}"
    return finished(figure, title, "M = 4096; every 128th N")


def l2() -> Figure:
    """Time without the cache trick over that with it, by the bytes of the rows in flight."""
    rows = recorded_rows("online_softmax")
    gains = pd.concat([cache_trick(rows, name) for name in TILES], ignore_index=True)
    figure, axes = plt.subplots()
    draw_lines(axes, gains[gains["tiles"] > 1], "gain", [*TILES], "in_flight")
    draw_lines(axes, gains[gains["tiles"] == 1], "gain", [*TILES], "in_flight", linestyle=":")
    axes.axhline(1, color="0.5", linewidth=1, zorder=1.5)
    axes.axvline(L2_BYTES / MIB, color="0.5", linestyle="--", linewidth=1)
    axes.text(L2_BYTES / MIB * 1.05, 0.93, f"L2, {L2_BYTES // MIB} MiB", color=style.GREY)
    axes.xaxis.set_major_formatter("{x:g}")
    axes.set(xlabel="rows in flight, input and output (MiB)")
    axes.set(ylabel="time without / with the trick", ylim=(0.9, 1.25))
    most = f"{gains['gain'].max():.2f}{style.TIMES}"
    title = f"Once the rows in flight exceed L2, walking backwards is up to {most} as fast"
    about = "The trick is to walk backwards over the tiles of a row; dotted: a row is one tile"
    return finished(figure, title, "M = 1024", [*TILES], about=about)


def launch() -> Figure:
    """Time of the GPU over N, and of the host for an eager call, of torch and frontier."""
    rows, names = rows_at_1024(), ["torch_softmax", "frontier"]
    # the host does the same at every N, and other work there disturbs single sizes
    rows["host_us"] = rows.groupby("variant")["latency_us"].transform("median")
    figure, axes = plt.subplots()
    draw_lines(axes, rows, "time_us", names)
    draw_lines(axes, rows, "host_us", names, linestyle=":", markers=False)
    axes.set_yscale("log")
    axes.yaxis.set_major_formatter("{x:g}")
    axes.set(xlabel=COLUMNS, ylabel="µs per call")
    rows["eager_us"] = rows[["host_us", "time_us"]].max(axis=1)
    torch, ours = (line(rows, name) for name in names)
    bound = torch.index[torch["host_us"] > torch["time_us"]].max()
    slower = ours.index[ours["eager_us"] > torch["eager_us"]].max()
    ends = {"torch: host-bound": bound, "frontier: slower eager calls": slower}
    for name, (text, n) in zip(names, ends.items(), strict=True):  # between two measured N
        colour = palette.styles(names)[name].colour
        axes.axvline(n * 2**0.5, color=colour, ls="--", linewidth=0.8)
        look = {"color": colour, "rotation": 90, "ha": "right", "va": "top", "fontsize": 7}
        axes.text(n * 2**0.48, 0.97, text, transform=axes.get_xaxis_transform(), **look)
    title = (
        f"torch's eager calls are host-bound up to N = {bound}; "
        f"frontier's are slower than torch's up to {slower}"
    )
    shown = [f"{name}, {clock}" for clock in ("GPU", "host (median)") for name in names]
    return finished(figure, title, "M = 1024", shown)


def draw_lines(
    axes: Axes, rows: pd.DataFrame, y: str, names: list[str], x: str = "N", **look: object
) -> None:
    """Draw `y` of these variants, in this order, over powers of two."""
    looks = palette.styles(names)
    look = {"markers": {name: looks[name].marker for name in names}} | look
    sns.lineplot(
        rows, x=x, y=y, hue="variant", hue_order=names, style="variant", style_order=names,
        palette={name: looks[name].colour for name in names}, dashes=False, legend=False,
        ax=axes, **look,
    )  # fmt: skip
    axes.set_xscale("log", base=2)
    axes.xaxis.set_major_formatter(lambda n, _: style.size_label(round(n)))


def finished(
    figure: Figure,
    title: str,
    shape: str,
    names: list[str] = (),
    left: float = 0.65,
    about: str = "",
) -> Figure:
    """Add the title, `about` and the small print.

    `names`: those of the first lines of the first panel. `left`: inches for the labels of y.
    """
    axes, *further = figure.axes
    facts = f"{RECORDED.name.upper()} · softmax · float32 · {shape}"
    margins = left, labels.width(names) if names else 0.15
    height = 2.6 + 0.8 * len(further)
    place = {"above": 0.15, "margins": margins, "gaps": (0.3, 0.2)}
    style.finish(figure, height, title, about, facts, **place)
    ends = []
    for name, drawn in zip(names, axes.lines, strict=False):
        look = drawn.get_color(), drawn.get_marker(), drawn.get_linestyle()
        ends.append(labels.End(name, drawn.get_ydata()[-1], *look))
    labels.write(axes, ends)
    sns.despine(figure)
    return figure


FIGURES = {
    "bytes_moved": bytes_moved,
    "spills": spills,
    "sawtooth": lambda: steps("triton_row", POWERS_OF_TWO, "its block is padded to 4096"),
    "torch": lambda: steps("torch_softmax", TORCH_KERNELS, "torch switches kernels", BEYOND),
    "clusters": clusters,
    "l2": l2,
    "launch": launch,
}


def moved() -> str:
    """Return what each kernel moves by its design, and the time that it takes, in copies."""
    lines = [
        [f"`{name}`", f"{row['moved']:g}", number(row["copies"], 3)]
        for name, row in longest_rows().iterrows()
    ]
    return table(["kernel", "bytes moved by design (copies)", "time relative to a copy"], lines)


def residency() -> str:
    """Return registers, warps and resident blocks of triton_row around powers of two."""
    rows = line(recorded_rows("steps"), "triton_row")
    rows["warps_there"] = rows["num_warps"] * rows["blocks_per_sm"]
    columns = ["num_warps", "registers", "blocks_per_sm", "warps_there"]
    lines = [
        [n, *(round(rows[name][n]) for name in columns), percent(rows["of_copy"][n])]
        for n in (1024, 1152, 2048, 2176, 4096, 4224, 8192, 8320)
    ]
    heads = ["N", "warps per block", "registers per thread", "blocks on a multiprocessor"]
    return table([*heads, "resident warps", "share of a copy's speed"], lines)


def trick() -> str:
    """Return what walking backwards gains, here and in the article's table, before and beyond L2.

    The article's kernels have the same tiles; where its rows exceed L2 is read from our own.
    """
    rows = recorded_rows("online_softmax")
    table_of_article = pd.read_csv(ROOT / "data/published/a100_online_softmax_2024.csv")
    article = table_of_article.pivot_table(index="N", columns="variant", values="time_ms")
    lines = []
    for name in TILES:
        ours = cache_trick(rows, name)
        theirs = article[f"{name}_nocache"] / article[name]
        fits = ours["in_flight"] <= L2_BYTES / MIB
        parts = [ours["tiles"] == 1, (ours["tiles"] > 1) & fits, ~fits]
        for source, gains in (("here", ours["gain"]), ("the article", theirs)):
            cells = [gains[ours.index[part]].dropna() for part in parts]
            spans = [span(cell, "{:.2f}".format, " to ") for cell in cells]
            lines.append([f"`{name}`, {source}", *spans])
    heads = ["time without / with the trick", "one tile a row", "more, within L2", "beyond L2"]
    return table(heads, lines)


def counted() -> str:
    """Return the bytes that `frontier` read from memory, by hardware counters."""
    files = {gpu: ROOT / f"studies/data/{gpu}/counters.csv" for gpu in ("h200", "h100")}
    counts = pd.concat(map(pd.read_csv, files.values()), keys=files, names=["gpu"]).reset_index()
    counts["mb"] = counts["M"] * counts["N"] * ITEMSIZE / 1e6
    counts["times"] = counts["dram_read_mb"] / counts["mb"]
    counts = counts.query("variant == 'frontier' and dtype == 'float32' and mb * 1e6 > @L2_BYTES")
    lines = [
        [gpu.upper(), f"{M} x {N}", number(size, 3), number(read, 3), f"{times:.2f}"]
        for gpu, M, N, size, read, times in counts.sort_values("times")[COUNTED].itertuples(False)
    ]
    heads = ["GPU", "matrix, float32", "its size, MB", "read from memory, MB", "times read"]
    return table(heads, lines)


def short_rows() -> str:
    """Return the share of a copy at short rows, by the warps that a row has."""
    rows = recorded_rows("online_softmax").query("N in [256, 1024, 4096]")
    shares = rows.pivot(index="variant", columns="N", values="of_copy")
    warps = rows.query("N == 256").set_index("variant")["num_warps"]
    text = shares.map(percent, na_action="ignore").fillna("")
    names = ["cuda_oneflow_warp", "triton_row", "triton_fused", "triton_online", "triton_tiled"]
    lines = [[f"`{name}`", round(warps[name]), *text.loc[name]] for name in names]
    return table(["kernel", "warps per block at N = 256", *map(str, shares.columns)], lines)


def reproduce() -> str:
    """Return what each sweep of the articles takes here, and a number that its report has."""
    checked, lines = results.checked_claims(results.recorded()), []
    said = checked["why"].str.extract(r"(measured .*?, published [^;]*)")[0]
    checked = checked.assign(numbers=said).dropna(subset="numbers").drop_duplicates("sweep")
    for claim in checked.query("gpu == @RECORDED.name").itertuples():
        rows = pd.read_csv(RECORDED / f"{claim.sweep}.csv").query("replicate == 1")
        minutes = math.ceil((rows["wall_s"] + POINT_S).sum() / 60)
        command = f'`make run ARGS="--configfile sweeps/{claim.sweep}.yaml"`'
        lines.append([command, len(rows), minutes, claim.claim, claim.quantity, claim.numbers])
    heads = ["command", "points", "minutes on an H200", "a claim", "judged by", "in float32"]
    return table(heads, lines)


def excerpt(kernel: str, first: str, last: str) -> str:
    """Return the lines of a kernel from the one with `first` to that with `last`, as a block."""
    lines = (ROOT / f"kernels/published/{kernel}.py").read_text(encoding="utf-8").splitlines()
    begin, end = (next(i for i, text in enumerate(lines) if part in text) for part in (first, last))
    code = textwrap.dedent("\n".join(lines[begin : end + 1]))
    return f"```python\n{code}\n```"


TABLES = {
    "one_pass": lambda: excerpt("triton_row", "cols = tl.arange", "tl.store"),
    "online": lambda: excerpt("triton_online", "lane_max = tl.full", "row_sum ="),
    "moved": moved,
    "counted": counted,
    "trick": trick,
    "residency": residency,
    "short_rows": short_rows,
    "reproduce": reproduce,
}

if __name__ == "__main__":
    print_block(TABLES)
