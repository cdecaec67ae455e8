"""README's figure: bars of torch, `frontier` and its rivals at large shapes, losses among them."""

import pandas as pd
import seaborn as sns
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Patch
from matplotlib.ticker import PercentFormatter

from analysis import ranking
from analysis.figures import findings, style
from analysis.figures.panels import Selection
from analysis.frame import is_baseline, is_ranked, mark, roofline_share
from analysis.markdown import percent
from analysis.schema import SIZE

KERNELS = ("torch_softmax", "peer_liger", "peer_tileops", "peer_quack", "frontier")
SWEEPS = ("workloads", "peers")  # have shapes of real models, and the rivals
DTYPES = ("bfloat16", "float32")
MOST_SHAPES = 4  # The largest of a panel
SHAPE_HEIGHT = 0.8  # inches of the bars of a shape
BARS = 0.86  # Share of that height that the bars take
TEXT = 10  # points: README shows the figure at half its size
# Status -> what stands in place of a bar.
ABSENT = {"unsupported": "cannot run", "incorrect": "wrong result", "ok": "no reliable time"}


def draw_hero(selection: Selection) -> Figure:
    """Draw the share of the limit that softmax reaches: a row of panels per GPU, one per dtype.

    The shapes are the largest ones of SWEEPS, or of all sweeps if none of these was measured. A
    point of several sweeps is their median. A number is that of the fastest kernel drawn. Words in
    place of a bar say why there is none.
    """
    own = selection.own
    rows = own[own["variant"].isin(KERNELS) & own["dtype"].isin(DTYPES) & (own["op"] == "softmax")]
    rows = rows[rows["sweep"].isin(SWEEPS)] if rows["sweep"].isin(SWEEPS).any() else rows
    timed = rows[is_ranked(rows, any_board=True)]
    if timed.empty:
        return style.nothing(selection, "Share of the limit")
    groups = timed.groupby([*SIZE, "variant"])
    points = groups.first().assign(**groups[["of_copy", "of_meet", "speedup"]].median())
    points = points.assign(of_limit=roofline_share(points)).reset_index()
    sizes = points.groupby(["gpu", "dtype"])["elements"]
    points = points[sizes.rank("dense", ascending=False) <= MOST_SHAPES]
    points = points.sort_values(["elements", "N"], ascending=False)
    points["shape"], rows["shape"] = _shapes(points), _shapes(rows)
    kernels = [name for name in KERNELS if (points["variant"] == name).any()]
    colours = {name: selection.styles[name].colour for name in kernels}
    titles = style.gpu_titles(points)
    grid = sns.catplot(
        points, kind="bar", x="of_limit", y="shape", hue="variant", hue_order=kernels,
        row="gpu", col="dtype", col_order=[name for name in DTYPES if name in set(points["dtype"])],
        palette=colours, saturation=1, width=BARS, errorbar=None, legend=False, sharey=False,
        facet_kws={"despine": False},
    )  # fmt: skip
    for (gpu, dtype), axes in grid.axes_dict.items():
        panel = points[(points["gpu"] == gpu) & (points["dtype"] == dtype)]
        shapes = list(panel["shape"].unique())
        axes.set_yticks(range(len(shapes)), shapes)
        axes.set_title(f"{titles[gpu]}, {dtype}", fontsize=TEXT)
        axes.tick_params(labelsize=TEXT - 0.5)
        axes.axvline(1, color="0.25", linestyle="--", linewidth=1, zorder=0.9)
        axes.set(xlabel="", ylabel="", xlim=(0, 1.2), xticks=[0, 0.25, 0.5, 0.75, 1])
        axes.xaxis.set_major_formatter(PercentFormatter(1, symbol=" %"))
        inside = rows[(rows["gpu"] == gpu) & (rows["dtype"] == dtype)]
        statuses = inside.groupby(["shape", "variant"])["status"].first()
        _write_texts(axes, panel, statuses, colours)
    marks = points.groupby("variant")["flags"].agg(" ".join).map(mark)
    names = [f"{findings.name_of(name)}{' ' * bool(marks[name])}{marks[name]}" for name in kernels]
    keys = [Patch(color=colours[name]) for name in kernels]
    lines = len(grid.axes)
    height = lines * SHAPE_HEIGHT * points.groupby(["gpu", "dtype"])["shape"].nunique().max()
    height += 0.5 * (lines - 1)
    below = {"loc": "upper left", "bbox_to_anchor": (0, -0.3 * lines / height), "ncols": len(names)}
    look = {"fontsize": TEXT, "frameon": False, "handlelength": 1, "borderpad": 0}
    grid.axes[-1, 0].legend(keys, names, columnspacing=1.4, **below, **look)
    about = (
        f"Share of the limit at M{style.TIMES}N, the largest shapes first; number: the fastest; ‡: "
        "wrong on special values. The limit is a copy of the same bytes, or the second roofline of "
        "few long rows"
    )
    facts = style.facts(selection._replace(rows=rows.merge(points[SIZE].drop_duplicates())))
    finding = findings.hero(points.assign(near=ranking.is_near_best(points)), is_baseline(points))
    return style.finish(
        grid.figure, height, finding, about, facts, (1.2, 0.1), (1.25, 0.5), below=0.68
    )


def _write_texts(
    axes: Axes, panel: pd.DataFrame, statuses: pd.Series, colours: dict[str, str]
) -> None:
    """Write the share of the fastest kernel of each shape, and why a kernel has no bar.

    `statuses`: (shape, kernel) -> the status of its rows.
    """
    bars = panel.set_index(["shape", "variant"])
    first = bars.groupby("shape")["of_limit"].idxmax()
    step = BARS / len(colours)
    for place, shape in enumerate(panel["shape"].unique()):
        for number, (name, colour) in enumerate(colours.items()):
            look = {"y": place + step * (number + 0.5) - BARS / 2, "color": colour}
            look |= {"va": "center_baseline", "fontsize": TEXT - 1.5}
            if (shape, name) not in bars.index:
                status = statuses.get((shape, name), "not measured")
                axes.text(x=0.01, s=ABSENT.get(status, status.replace("_", " ")), **look)
            elif first[shape] == (shape, name):
                share, flags = bars.loc[(shape, name), ["of_limit", "flags"]]
                look["bbox"] = {"facecolor": "white", "linewidth": 0, "pad": 0.2}
                text = percent(share) + mark(flags)
                axes.text(x=share + 0.015, s=text, fontweight="bold", **look)


def _shapes(rows: pd.DataFrame) -> pd.Series:
    """Return M and N of each row as the axis names them."""
    return rows["M"].astype(str) + style.TIMES + rows["N"].astype(str)
