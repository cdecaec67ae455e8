"""Direct labels at the ends of lines, pushed apart until none covers another."""

from dataclasses import dataclass

from matplotlib.axes import Axes

SIZE = 6.5  # points
AWAY = 0.2  # inches, of the labels from the axes
LINE = 1.25 * SIZE / 72  # inches, from one label to the next
# The way from a line's end to its label. Of a line that ends early it crosses the axes, and there
# anything in the line's colour would be read as data: so grey, dotted, and behind all but the grid.
LEADER = {"color": "0.6", "lw": 0.6, "linestyle": (0, (1, 2)), "shrinkA": 1, "shrinkB": 2}
BEHIND = 1.1  # zorder


@dataclass(frozen=True)
class End:
    """A line's right end (data coordinates), its colour, and the label it gets."""

    x: float
    y: float
    colour: str
    text: str
    bold: bool = False


def spread(positions: list[float], gap: float, low: float, high: float) -> list[float]:
    """Positions at least `gap` apart between `low` and `high`, in order, near those given.

    Least squares under the order constraint: after taking i·gap off the i-th smallest, that is
    an isotonic regression, solved by pooling adjacent violators; clipping its result solves the
    bounded problem. More labels than fit between the bounds run over the upper one.
    """
    by_height = sorted(range(len(positions)), key=positions.__getitem__)
    pools: list[list[float]] = []  # each: [mean, number of members]
    for i, index in enumerate(by_height):
        pools.append([positions[index] - i * gap, 1])
        while len(pools) > 1 and pools[-2][0] > pools[-1][0]:
            (mean, count), (before, others) = pools.pop(), pools.pop()
            pools.append([(mean * count + before * others) / (count + others), count + others])
    top = max(low, high - (len(positions) - 1) * gap)
    flat = [min(max(mean, low), top) for mean, count in pools for _ in range(int(count))]
    placed = [0.0] * len(positions)
    for i, index in enumerate(by_height):
        placed[index] = flat[i] + i * gap
    return placed


def label_ends(axes: Axes, ends: list[End]) -> None:
    """Write each label right of the axes, level with its line where there is room.

    Call after the limits and the position of the axes are final: it works in pixels.
    """
    if not ends:
        return
    box, dpi = axes.get_window_extent(), axes.figure.dpi
    heights = [axes.transData.transform((end.x, end.y))[1] for end in ends]
    half = LINE * dpi / 2
    placed = spread(heights, 2 * half, box.y0 + half, box.y1 - half)
    for end, y in zip(ends, placed, strict=True):
        axes.annotate(
            end.text,
            xy=(end.x, end.y),
            xytext=(1 + AWAY * dpi / box.width, (y - box.y0) / box.height),
            textcoords="axes fraction",
            color=end.colour,
            fontsize=SIZE,
            fontweight="bold" if end.bold else "normal",
            va="center",
            annotation_clip=False,
            zorder=BEHIND,
            arrowprops={"arrowstyle": "-", "relpos": (0, 0.5), **LEADER},
        )
