"""Print what the tutorial and the howtos show of recorded rows, of a notebook and of a template.

`python -m tools.guides shape` prints what `make shape` says on a GPU; `make docs` puts it into the
page.
"""

import itertools
import re

from analysis import frame, merge, ranking
from analysis.eligibility import mark_ranked
from analysis.markdown import number, span, table
from analysis.report import shape_ranking
from analysis.schema import ITEMSIZE
from analysis.stats import eager
from kernels.registry.scaffold import TEMPLATES
from measure import ROOT
from tools.goals import OURS
from tools.inserts import print_block
from tools.results import recorded

GPU = "h200"
SHAPE = {"op": "softmax", "dtype": "float32", "M": 1024, "N": 4096}  # A size of the sweep `peers`


def shape() -> str:
    """Return the ranking of SHAPE without its notes, and the verdict on OURS."""
    rows = merge.recorded_rows(ROOT / f"data/recorded/{GPU}/peers.csv")
    rows = frame.from_rows(mark_ranked(rows))
    rows = ranking.rank_variants(rows[(rows[[*SHAPE]] == [*SHAPE.values()]).all(axis=1)])
    rows = rows.assign(of_limit=frame.roofline_share(rows))
    ranked, *_ = shape_ranking.report(rows, {}).split("\n\n")
    head = "{op}, {dtype}, {M} x {N}".format(**SHAPE)
    return f"```text\n{head}, on {GPU}\n\n{ranked}\n\n{shape_ranking.verdict(rows, OURS, {})}\n```"


def gains() -> str:
    """Return the speed of OURS over torch on GPU, by function and dtype: geometric means."""
    rows = recorded()
    sizes = ranking.over_sweeps(ranking.rank_variants(rows[rows["gpu"] == GPU]))
    lines = []
    for op, dtype in itertools.product(("softmax", "log_softmax"), ITEMSIZE):
        group = sizes[(sizes["op"] == op) & (sizes["dtype"] == dtype)]
        if mean := eager.over_torch(group, OURS):
            speeds = number(mean.graph, 2), number(mean.eager, 2)
            lines.append([f"{op}, {dtype}", mean.sizes, *speeds, mean.slower])
    heads = [GPU.upper(), "sizes", "speed-up over torch in a CUDA graph", "in eager calls"]
    return table([*heads, "sizes where an eager call is slower"], lines)


# Functions of the drop-in -> a pattern of their lines in the notebook's table of host times.
CALLS = {
    "softmax, log_softmax": "float32(, log_softmax)?|bfloat16",
    "the same of 16-bit input, with float32 output": "bfloat16(, dtype=.+| under autocast)",
    "logsumexp": "logsumexp",
    "token_log_probs": "token_log_probs",
    "token_log_probs with entropies": "token_log_probs, entropy",
    "cross_entropy": "cross_entropy",
}


def host() -> str:
    """Return the drop-in's host time over torch's, from the table of medians in the notebook."""
    text = (ROOT / "docs/notebook/drop_in.md").read_text(encoding="utf-8")
    calls = re.findall(r"^\| ([^|]+) \| [\d.]+ \| [\d.]+ \| ([\d.]+) \[", text, re.MULTILINE)

    def range_of(pattern: str) -> str:
        ratios = [float(ratio) for call, ratio in calls if re.fullmatch(pattern, call)]
        return span(ratios, lambda ratio: number(ratio, 2), " to ") if ratios else ""

    ends = {"a call": "", "recorded by autograd": ", with gradient"}
    ends["forward and backward"] = ", forward and backward"
    lines = [
        [name, *(range_of(f"({CALLS[name]}){end}") for end in ends.values())] for name in CALLS
    ]
    return table([f"host time over torch's, {GPU.upper()}", *ends], lines)


def plan() -> str:
    """Return the Python file of the template of CUDA C++, without its docstring."""
    text = (TEMPLATES / "cuda.py.in").read_text(encoding="utf-8")
    code = text.split('"""', 2)[2].strip()
    return f"```python\n{code}\n```"


if __name__ == "__main__":
    print_block({"shape": shape, "gains": gains, "host": host, "plan": plan})
