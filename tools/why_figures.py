"""Draw the figures of docs/explanation/why_kernels_differ.md from recorded rows.

Each shows rows of one GPU, in float32, and its title is computed from them. `python -m tools.why
draw` writes them to docs/figures/why/.
"""

from collections.abc import Mapping

import pandas as pd
import seaborn as sns
from matplotlib import pyplot as plt
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from analysis import eligibility, frame, merge, palette
from analysis.figures import labels, style
from analysis.markdown import number, percent
from measure import ROOT

FOLDER = ROOT / "docs/figures/why"
RECORDED = ROOT / "data/recorded/h200"  # the GPU of all figures
ITEMSIZE, GIGA = 4, 1e9
L2_BYTES, MULTIPROCESSORS = 50 * 2**20, 132  # An H200 SXM, by its data sheet.
TILES = {"triton_tiled": 2**14, "triton_online": 2**12}  # elements, as their files say
LONGEST = 131072  # columns of the articles' longest rows
# Matrices that a kernel reads and writes by its design, as its own file says.
MATRICES_MOVED = {
    "frontier": 2,
    "triton_online": 3,
    "triton_online_nocache": 3,
    "triton_tiled": 4,
    "triton_tiled_nocache": 4,
    "torch_softmax": 4,
    "cuda_oneflow_uncached": 4,
    "torch_naive": 8,
    "triton_fused": 2,
}
# The longest row of each kernel of torch 2.11 in float32, by ATen's SoftMax.cu: 1024 threads keep
# up to nine elements each in registers; then a row and 32 sums fit in 48 KiB of shared memory.
TORCH_KERNELS = {2048: "one warp", 9216: "one block: registers", 12252: "shared memory"}
PANEL = 2.6  # inches


def recorded_rows(sweep: str) -> pd.DataFrame:
    """Return the rows of a recorded sweep that rank, in float32: medians over replicates."""
    recorded = merge.recorded_rows(RECORDED / f"{sweep}.csv")
    rows = frame.from_rows(eligibility.mark_ranked(recorded))
    rows = rows[frame.is_ranked(rows, any_board=True) & (rows["dtype"] == "float32")]
    values = rows.select_dtypes("number").columns.difference(["M", "N"])
    merged = rows.groupby(["M", "N", "variant"])[[*values]].median().reset_index()
    return merged.assign(copies=1 / merged["of_copy"], gpu_name=rows["gpu_name"].iloc[0])


def rows_at_1024() -> pd.DataFrame:
    """Return the rows of online_softmax, and `frontier` at longer N of another sweep."""
    rows = recorded_rows("online_softmax")
    longer = recorded_rows("frontier").query("M == 1024 and N > @LONGEST")
    return pd.concat([rows, longer[longer["variant"] == "frontier"]], ignore_index=True)


def line(rows: pd.DataFrame, variant: str) -> pd.DataFrame:
    """Return the rows of a variant by N."""
    return rows[rows["variant"] == variant].set_index("N").sort_index()


def bytes_moved() -> Figure:
    """Times at rows of 131072 elements, beside the bytes that each kernel moves by its design."""
    rows = recorded_rows("online_softmax").query("N == @LONGEST").set_index("variant")
    names = by_bytes(rows)
    moved = [MATRICES_MOVED[name] / 2 for name in names]
    styles = palette.styles(names)
    figure, axes = plt.subplots()
    sns.barplot(
        x=rows["copies"][names].tolist(), y=names, hue=names, legend=False, ax=axes, width=0.6,
        palette={name: look.colour for name, look in styles.items()}, saturation=1,
    )  # fmt: skip
    axes.scatter(moved, range(len(names)), marker="|", s=420, color=style.INK, linewidth=1.2)
    for place, name in enumerate(names):
        # beside the bar and beside the tick, whichever reaches further
        axes.text(
            max(rows["copies"][name], moved[place]) + 0.08, place, number(rows["copies"][name], 3),
            va="center", fontsize="small", color=style.GREY,
        )  # fmt: skip
    axes.set(xlabel="time relative to a copy of the matrix; tick: the bytes that the design moves")
    spilling = number(rows["copies"]["triton_fused"], 2)
    title = f"Time follows the bytes moved; triton_fused spills and takes {spilling} copies"
    return _finished(figure, rows, title, f"1024x{LONGEST}, {_size(1024, LONGEST)}", left=1.75)


def by_bytes(rows: pd.DataFrame) -> list[str]:
    """Return the kernels by the bytes that they move by design, then by their time."""
    return sorted(MATRICES_MOVED, key=lambda name: (MATRICES_MOVED[name], rows["copies"][name]))


def spills() -> Figure:
    """Share of a copy of triton_fused and its spilled bytes, over N."""
    rows = rows_at_1024()
    fused = line(rows, "triton_fused")
    figure, (above, below) = plt.subplots(2, sharex=True)
    ends = _lines(
        above, rows, {name: name for name in ("triton_fused", "triton_online", "frontier")}
    )
    above.set_ylabel("% of a copy")
    colour = palette.styles(["triton_fused"])["triton_fused"].colour
    below.bar(range(len(fused)), fused["spilled_bytes"], color=colour, width=0.6)
    below.set_ylabel("spilled B/thread")
    below.set_xticks(range(len(fused)), [style.size_label(n) for n in fused.index])
    below.set_xlabel("N")
    first = fused.index[fused["spilled_bytes"] > 0][0]
    loss = fused["of_copy"]
    title = (
        f"triton_fused falls from {percent(loss[first // 2])} of a copy to "
        f"{percent(loss[LONGEST])} once a row no longer fits in registers"
    )
    return _finished(figure, rows, title, "M = 1024", ends=(above, ends))


def sawtooth() -> Figure:
    """Share of a copy of triton_row at every 128th N, with the powers of two."""
    rows = recorded_rows("steps")
    row = line(rows, "triton_row")
    figure, axes = plt.subplots()
    look = palette.styles(["triton_row"])["triton_row"]
    sns.lineplot(x=row.index, y=100 * row["of_copy"], color=look.colour, marker="o", ms=3, ax=axes)
    for power in (2**i for i in range(8, 14) if 2**i <= row.index.max()):
        axes.axvline(power, color="0.75", linewidth=0.8)
        axes.text(power, 62, f" {style.size_label(power)}", color=style.GREY)
    axes.set(ylim=(60, 102), xlabel="N", ylabel="% of a copy")
    before, after = row["of_copy"][2048], row["of_copy"][2176]
    title = (
        f"triton_row reaches {percent(before)} of a copy at 2048 columns, and {percent(after)} at "
        "2176: its block is padded to 4096"
    )
    return _finished(figure, rows, title, "M = 4096; every 128th N")


def torch_kernels() -> Figure:
    """Share of a copy of torch at every 128th N, with the longest row of each of its kernels."""
    rows = recorded_rows("steps")
    torch = line(rows, "torch_softmax")["of_copy"]
    figure, axes = plt.subplots()
    look = palette.styles(["torch_softmax"])["torch_softmax"]
    sns.lineplot(x=torch.index, y=100 * torch, color=look.colour, marker=look.marker, ms=3, ax=axes)
    for first, (last, name) in zip((0, *TORCH_KERNELS), TORCH_KERNELS.items(), strict=False):
        axes.axvline(last, color="0.75", linewidth=0.8)
        axes.text((first + last) / 2, 97, name, color=style.GREY, ha="center", va="top")
    axes.set(xlim=(0, torch.index.max() * 1.02), ylim=(30, 100), xlabel="N", ylabel="% of a copy")
    before, after = torch[2048], torch[2176]
    title = (
        f"torch falls from {percent(before)} of a copy at 2048 columns to {percent(after)} at "
        "2176, where another kernel begins"
    )
    return _finished(figure, rows, title, "M = 4096; every 128th N")


def clusters() -> Figure:
    """Share of a copy of one block and of a cluster of blocks, over long rows."""
    rows = rows_at_1024().query("N >= 4096")
    one_block = ("torch_softmax", "triton_fused", "triton_online")
    names = {name: f"{name}, one block" for name in one_block}
    figure, axes = plt.subplots()
    ends = _lines(axes, rows, names | {"frontier": "frontier, cluster for long rows"})
    sizes = sorted(rows["N"].unique())
    axes.set_xticks(range(len(sizes)), [style.size_label(int(n)) for n in sizes])
    axes.set(ylim=(0, 105), xlabel="N", ylabel="% of a copy")
    torch, ours = (line(rows, name)["of_copy"][LONGEST] for name in ("torch_softmax", "frontier"))
    title = (
        f"At {style.size_label(LONGEST)} columns one block rereads the row and reaches "
        f"{percent(torch)} of a copy; a cluster keeps it and reaches {percent(ours)}"
    )
    return _finished(figure, rows, title, "M = 1024", ends=(axes, ends))


def l2() -> Figure:
    """Time without the cache trick over that with it, by the bytes of the rows in flight."""
    rows = recorded_rows("online_softmax")
    figure, axes = plt.subplots()
    gains, ends = {name: cache_trick(rows, name) for name in TILES}, []
    for name, look in palette.styles(TILES).items():
        gain = gains[name]
        drawn = {"color": look.colour, "marker": look.marker, "ax": axes, "x": "in_flight"}
        sns.lineplot(gain[gain["tiles"] == 1], y="gain", linestyle=":", alpha=0.45, **drawn)
        sns.lineplot(gain[gain["tiles"] > 1], y="gain", **drawn)
        ends.append(labels.End(name, gain["gain"].iloc[-1], look.colour, look.marker))
    axes.axvline(L2_BYTES / 2**20, color="0.5", linestyle="--", linewidth=1)
    axes.text(L2_BYTES / 2**20 * 1.05, 0.93, "L2", color=style.GREY)
    axes.axhline(1, color="0.5", linewidth=0.8)
    axes.set_xscale("log", base=2)
    axes.xaxis.set_major_formatter("{x:g}")
    axes.set(xlabel="MiB of the rows in flight, in and out; dotted: a row is one tile")
    axes.set(ylabel="time without / with the trick", ylim=(0.9, 1.25))
    best = gains["triton_tiled"]["gain"].max()
    title = (
        f"Walking backwards makes triton_tiled up to {number(best, 3)} times as fast once the rows "
        "in flight exceed L2"
    )
    return _finished(figure, rows, title, "M = 1024", ends=(axes, ends))


def cache_trick(rows: pd.DataFrame, name: str) -> pd.DataFrame:
    """Return by N what walking backwards gains, the tiles of a row, and the MiB in flight.

    Rows are in flight on all multiprocessors; each is read, and written to another place.
    """
    forwards, backwards = line(rows, f"{name}_nocache"), line(rows, name)
    table = pd.DataFrame({"gain": forwards["time_us"] / backwards["time_us"]}).dropna()
    resident = MULTIPROCESSORS * backwards["blocks_per_sm"]
    return table.assign(
        tiles=-(-table.index // TILES[name]),
        in_flight=2 * resident * table.index * ITEMSIZE / 2**20,
    )


def launch() -> Figure:
    """Time of the GPU over N, and of the host for an eager call, of torch and frontier."""
    rows = rows_at_1024()
    figure, axes = plt.subplots()
    styles, ends = palette.styles(["torch_softmax", "frontier"]), []
    for name, look in styles.items():
        row = line(rows, name)
        x = range(len(row))
        sns.lineplot(x=x, y=row["time_us"], color=look.colour, marker=look.marker, ax=axes)
        # the host does the same at every N, and other work there disturbs single sizes
        host = row["latency_us"].median()
        axes.axhline(host, color=look.colour, linestyle=":", linewidth=1.4)
        ends.append(labels.End(f"{name}, GPU", row["time_us"].iloc[-1], look.colour, look.marker))
        ends.append(labels.End(f"{name}, host", host, look.colour, "", ":"))
        axes.set_xticks(x, [style.size_label(n) for n in row.index])
    axes.set_yscale("log")
    axes.yaxis.set_major_formatter("{x:g}")
    axes.set(xlabel="N; dotted: the median over all N", ylabel="µs per call")
    torch = line(rows, "torch_softmax")
    waits = torch.index[torch["latency_us"].median() > torch["time_us"]].max()
    title = f"Up to N = {waits} eager calls are bound by the host, even torch's"
    return _finished(figure, rows, title, "M = 1024", ends=(axes, ends))


def _lines(axes: Axes, rows: pd.DataFrame, names: Mapping[str, str]) -> list[labels.End]:
    """Draw the share of a copy of variants over the sizes of `rows`; return the ends of the lines.

    `names`: variant -> what it is called there.
    """
    sizes, ends = {n: place for place, n in enumerate(sorted(rows["N"].unique()))}, []
    for variant, look in palette.styles(names).items():
        row = line(rows, variant)
        x, shares = [sizes[n] for n in row.index], 100 * row["of_copy"]
        sns.lineplot(x=x, y=shares, color=look.colour, marker=look.marker, ax=axes)
        ends.append(labels.End(names[variant], shares.iloc[-1], look.colour, look.marker))
    return ends


def _finished(
    figure: Figure,
    rows: pd.DataFrame,
    title: str,
    shape: str,
    ends: tuple[Axes, list[labels.End]] | None = None,
    left: float = 0.65,
) -> Figure:
    """Add the title, the small print and the names of lines.

    `ends`: the panel whose lines have names, and these. `left`: inches for the labels of y.
    """
    facts = f"{style.short_name(rows['gpu_name'].iloc[0])} · softmax · float32 · {shape}"
    right = labels.width([end.name for end in ends[1]]) if ends else 0.15
    height = PANEL if len(figure.axes) == 1 else PANEL + 0.8
    style.finish(
        figure, height, title, facts=facts, above=0.15, margins=(left, right), gaps=(0.3, 0.2)
    )
    if ends:
        figure.canvas.draw()
        labels.write(*ends)
    sns.despine(figure)
    return figure


def _size(rows: int, columns: int) -> str:
    return f"{number(rows * columns * ITEMSIZE / GIGA, 2)} GB"


FIGURES = {
    "bytes_moved": bytes_moved,
    "spills": spills,
    "sawtooth": sawtooth,
    "torch": torch_kernels,
    "clusters": clusters,
    "l2": l2,
    "launch": launch,
}


def draw() -> str:
    """Draw every figure of the page."""
    for name, make in FIGURES.items():
        style.save(make(), FOLDER / name)
        (FOLDER / f"{name}.svg").unlink()
    return f"{len(FIGURES)} figures drawn"
