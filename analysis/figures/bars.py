"""README's figure: bars of torch, `frontier` and its rivals at large shapes, losses among them."""

import seaborn as sns
from matplotlib.figure import Figure
from matplotlib.patches import Patch
from matplotlib.ticker import PercentFormatter

from analysis import ranking
from analysis.figures import findings, style
from analysis.figures.panels import Selection
from analysis.frame import is_baseline, is_ranked, mark
from analysis.markdown import percent
from analysis.schema import SIZE

KERNELS = ("torch_softmax", "peer_liger", "peer_tileops", "peer_quack", "frontier")
SWEEPS = ("workloads", "peers")  # have shapes of real models, and the rivals
DTYPES = ("bfloat16", "float32")
MOST_SHAPES = 8  # The largest of a panel
SHAPE_HEIGHT = 0.5  # inches of the bars of a shape
TEXT = 10  # points: README shows the figure at half its size


def draw_hero(selection: Selection) -> Figure:
    """Draw the share of a copy's speed of softmax: a row of panels per GPU, a column per dtype.

    The shapes are the largest ones of SWEEPS, or of all sweeps if none of these was measured. A
    point of several sweeps is their median. A number is that of the fastest kernel drawn.
    """
    own = selection.own
    rows = own[own["variant"].isin(KERNELS) & own["dtype"].isin(DTYPES) & (own["op"] == "softmax")]
    rows = rows[rows["sweep"].isin(SWEEPS)] if rows["sweep"].isin(SWEEPS).any() else rows
    timed = rows[is_ranked(rows, any_board=True)]
    if timed.empty:
        return style.nothing(selection, "Share of a copy's speed")
    groups = timed.groupby([*SIZE, "variant"])
    points = groups.first().assign(**groups[["of_copy", "speedup"]].median()).reset_index()
    sizes = points.groupby(["gpu", "dtype"])["elements"]
    points = points[sizes.rank("dense", ascending=False) <= MOST_SHAPES]
    points = points.sort_values(["elements", "N"], ascending=False)
    points["shape"] = points["M"].astype(str) + style.TIMES + points["N"].astype(str)
    kernels = [name for name in KERNELS if (points["variant"] == name).any()]
    colours = {name: selection.styles[name].colour for name in kernels}
    titles = style.gpu_titles(points)
    grid = sns.catplot(
        points, kind="bar", x="of_copy", y="shape", hue="variant", hue_order=kernels,
        row="gpu", col="dtype", col_order=[name for name in DTYPES if name in set(points["dtype"])],
        palette=colours, saturation=1, width=0.86, errorbar=None, legend=False, sharey=False,
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
        for best in panel.loc[panel.groupby("shape")["of_copy"].idxmax()].itertuples():
            step = 0.86 / len(kernels)
            y = shapes.index(best.shape) + step * (
                kernels.index(best.variant) - (len(kernels) - 1) / 2
            )
            look = {"color": colours[best.variant], "fontsize": TEXT - 1.5, "fontweight": "bold"}
            look["bbox"] = {"facecolor": "white", "linewidth": 0, "pad": 0.2}
            text = percent(best.of_copy) + mark(best.flags)
            axes.text(best.of_copy + 0.015, y, text, va="center_baseline", **look)
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
        f"Share of a copy's speed at M{style.TIMES}N; number: the fastest; "
        "no bar: cannot run, is wrong, or was not timed soundly; ‡: wrong on special values"
    )
    facts = style.facts(selection._replace(rows=rows.merge(points[SIZE].drop_duplicates())))
    finding = findings.hero(points.assign(near=ranking.is_near_best(points)), is_baseline(points))
    return style.finish(
        grid.figure, height, finding, about, facts, (1.2, 0.1), (1.25, 0.5), below=0.68
    )
