"""Print what the tutorial and the howtos show of recorded rows.

`python -m tools.guides shape` prints what `make shape` says on a GPU; `make docs` puts it into the
page.
"""

from analysis import frame, merge, ranking
from analysis.eligibility import mark_ranked
from analysis.markdown import number, table
from analysis.report import shape_ranking
from analysis.schema import ITEMSIZE
from analysis.stats import eager
from measure import ROOT
from tools.goals import OURS
from tools.inserts import print_block
from tools.results import recorded

GPU = "h200"
SHAPE = {"op": "softmax", "dtype": "float32", "M": 1024, "N": 4096}  # of the sweep `peers`


def shape() -> str:
    """Return the ranking of SHAPE without its notes, and the verdict on OURS."""
    rows = merge.recorded_rows(ROOT / f"data/recorded/{GPU}/peers.csv")
    rows = frame.from_rows(mark_ranked(rows))
    rows = ranking.rank_variants(rows[(rows[[*SHAPE]] == [*SHAPE.values()]).all(axis=1)])
    rows = rows.assign(of_limit=frame.of_limit(rows))
    ranked, *_ = shape_ranking.report(rows, {}).split("\n\n")
    head = "{op}, {dtype}, {M} x {N}".format(**SHAPE)
    return f"```text\n{head}, on {GPU}\n\n{ranked}\n\n{shape_ranking.verdict(rows, OURS, {})}\n```"


def gains() -> str:
    """Return the speed of OURS over torch on GPU, by dtype: geometric means."""
    rows = recorded()
    sizes = ranking.over_sweeps(ranking.rank_variants(rows[rows["gpu"] == GPU]))
    means = {name: eager.over_torch(sizes[sizes["dtype"] == name], OURS) for name in ITEMSIZE}
    lines = [
        [name, mean.sizes, number(mean.graph, 2), number(mean.eager, 2), mean.slower]
        for name, mean in means.items()
        if mean
    ]
    heads = [
        f"{GPU.upper()}, softmax and log-softmax",
        "sizes",
        "speed-up over torch in a CUDA graph",
    ]
    return table([*heads, "in eager calls", "sizes where an eager call is slower"], lines)


if __name__ == "__main__":
    print_block({"shape": shape, "gains": gains})
