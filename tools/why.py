"""Print the tables of docs/explanation/why_kernels_differ.md, computed from recorded rows.

`python -m tools.why moved` prints one block, and `python -m tools.why draw` draws the figures.
"""

import pandas as pd

from analysis.markdown import number, percent, span, table
from measure import ROOT
from tools.inserts import print_block
from tools.why_figures import (
    ITEMSIZE,
    L2_BYTES,
    LONGEST,
    MATRICES_MOVED,
    TILES,
    by_bytes,
    cache_trick,
    draw,
    line,
    recorded_rows,
)


def moved() -> str:
    """Return what each kernel moves by its design, and the time that it takes, in copies."""
    rows = recorded_rows("online_softmax").query(f"N == {LONGEST}").set_index("variant")
    lines = [
        [f"`{name}`", f"{MATRICES_MOVED[name] / 2:g}", number(rows.loc[name, "copies"], 3)]
        for name in by_bytes(rows)
    ]
    return table(["kernel", "bytes moved by design (copies)", "time relative to a copy"], lines)


def residency() -> str:
    """Return registers, warps and resident blocks of triton_row around powers of two."""
    row = line(recorded_rows("steps"), "triton_row")
    columns = ["num_warps", "registers", "blocks_per_sm"]
    lines = [
        [n, *(f"{row[name][n]:.0f}" for name in columns),
         f"{row['num_warps'][n] * row['blocks_per_sm'][n]:.0f}", percent(row["of_copy"][n])]
        for n in (1024, 1152, 2048, 2176, 4096, 4224, 8192, 8320) if n in row.index
    ]  # fmt: skip
    heads = ["N", "warps of a block", "registers of a thread", "blocks on a multiprocessor"]
    return table([*heads, "warps there", "of a copy"], lines)


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
        fits = ours["in_flight"] <= L2_BYTES / 2**20
        parts = [ours["tiles"] == 1, (ours["tiles"] > 1) & fits, ~fits]
        for source, gains in (("here", ours["gain"]), ("the article", theirs)):
            cells = (_range(gains[ours.index[part]]) for part in parts)
            lines.append([f"`{name}`, {source}", *cells])
    heads = ["time without / with the trick", "one tile a row", "more, within L2", "beyond L2"]
    return table(heads, lines)


def _range(values: pd.Series) -> str:
    """Return `1.01 to 1.05`, or the one number."""
    return span(values.dropna(), "{:.2f}".format, " to ")


def counted() -> str:
    """Return the bytes that `frontier` read from memory, by hardware counters."""
    lines = []
    for gpu in ("h200", "h100"):
        counts = pd.read_csv(ROOT / f"studies/data/{gpu}/counters.csv")
        counts = counts[(counts["variant"] == "frontier") & (counts["dtype"] == "float32")]
        for row in counts[counts["M"] * counts["N"] * ITEMSIZE > L2_BYTES].itertuples():
            size = row.M * row.N * ITEMSIZE / 1e6
            share = row.dram_read_mb / size
            lines.append([gpu.upper(), f"{row.M} x {row.N}", *(
                number(megabytes, 3) for megabytes in (size, row.dram_read_mb)
            ), f"{share:.2f}"])  # fmt: skip
    heads = ["GPU", "matrix, float32", "its size, MB", "read from memory, MB", "times read"]
    return table(heads, sorted(lines, key=lambda line: float(line[-1])))


def short_rows() -> str:
    """Return the share of a copy at short rows, by the warps that a row has."""
    rows = recorded_rows("online_softmax").query("N in [256, 1024, 4096]")
    wide = rows.pivot_table(index="variant", columns="N", values="of_copy")
    warps = rows.query("N == 256").set_index("variant")["num_warps"]
    names = ["cuda_oneflow_warp", "triton_row", "triton_fused", "triton_online", "triton_tiled"]
    lines = [
        [f"`{name}`", f"{warps[name]:.0f}", *(percent(v) if v == v else "" for v in wide.loc[name])]
        for name in names
    ]
    return table(["kernel", "warps of a block at N = 256", *map(str, wide.columns)], lines)


BLOCKS = {
    "draw": draw,
    "moved": moved,
    "counted": counted,
    "trick": trick,
    "residency": residency,
    "short_rows": short_rows,
}

if __name__ == "__main__":
    print_block(BLOCKS)
