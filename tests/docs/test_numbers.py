"""Every measured number of the user documents is printed from rows, or is checked here."""

import math
import re

import pandas as pd
import pytest
import yaml

import kernels
from analysis.claims import CLAIMS
from measure import ROOT
from measure.clock import graph, sampling
from measure.stats import left_out
from planning import points
from tests.marks import slow
from tools import inserts
from tools.why import POINT_S

MEASURED = re.compile(
    r"\b0\.\d+(?![\de])|\b\d+(?:\.\d+)?(?= ?(?:µs|ms|x)\b| times as)|\b\d+\.\d+(?= %)"
)
PRINTED = re.compile(r"<!-- output of: .*?<!-- end -->|^```.*?^```$", re.MULTILINE | re.DOTALL)


def coverage(blocks: int) -> float:
    """Percent of medians that the interval of so many values holds."""
    tail = sum(math.comb(blocks, i) for i in range(left_out(blocks) + 1)) / 2**blocks
    return round(100 * (1 - 2 * tail), 1)


(FIRST_CLAIM,) = (c for c in CLAIMS if c.id == "S0-a" and "reduction" in c.quantity)
# Versions of other libraries, in the docstrings of the functions that patch them.
VERSIONS = re.findall(r"\((?:verl )?(0\.\d+)\)", (ROOT / "kernels/integrate.py").read_text("utf-8"))
# Page -> numbers that no row has, each with what it is.
STATED = {
    "docs/howto/logits.md": {version: float(version) for version in VERSIONS},
    "docs/explanation/method.md": {
        "1.5": graph.MIN_REPLAY_US / 1000,
        "0.5": 100 * sampling.SETTLED,
        "95.1": coverage(points.Point.blocks),
        "10": 10,  # the first band of the table in the notebook
    },
    "docs/tutorial.md": {"26.1": round(100 * FIRST_CLAIM.arguments["stated"], 1)},
}


# README.md and docs/ without the notebook, which is for maintainers, and the captions of figures.
ALL_PAGES = [str(path.relative_to(ROOT)) for path in inserts.pages()]
USER_PAGES = [p for p in ALL_PAGES if re.match("README|docs/(?!notebook/|gallery.md)", p)]


@pytest.mark.parametrize("page", USER_PAGES)
def test_a_measured_number_is_printed_by_its_command_or_checked_here(page):
    stated = STATED.get(page, {})
    numbers = MEASURED.findall(PRINTED.sub("", (ROOT / page).read_text(encoding="utf-8")))
    assert set(numbers) <= set(stated)
    assert all(float(number) == value for number, value in stated.items())


def test_pages_have_the_points_and_the_minutes_of_the_default_sweep_and_of_the_peers():
    config = yaml.safe_load((ROOT / "config.yaml").read_text(encoding="utf-8"))
    gpu, on_cpu = (
        [p for p in points.expand(config, name) if kernels.family(p.variant) != "contributed"]
        for name in ("h200", "cpu")
    )
    cpu = len(points.within_limits({"cpu": on_cpu})["cpu"])
    rows = pd.read_csv(ROOT / "data/recorded/h200/online_softmax.csv").query("replicate == 1")
    walls = rows.set_index(["dtype", "M", "N", "variant"])["wall_s"]
    seconds = sum(walls[p.dtype, p.M, p.N, p.variant] + POINT_S for p in gpu)
    text = f"{len(gpu)} points, {math.ceil(seconds / 60)} minutes on an H200"
    readme, howto = (
        (ROOT / page).read_text(encoding="utf-8") for page in ("README.md", "docs/howto/measure.md")
    )
    assert f"{text}; {cpu} points on two CPU cores" in readme
    rivals = pd.read_csv(ROOT / "data/recorded/h200/peers.csv").query("replicate == 1")
    minutes = math.ceil((rivals["wall_s"] + POINT_S).sum() / 60)
    assert text in howto
    assert f"{len(rivals)} points, {minutes} minutes on an H200" in howto


PAGES = [
    page for page in ALL_PAGES if inserts.BLOCK.search((ROOT / page).read_text(encoding="utf-8"))
]


# README.md reads rows, cli.md reads parsers; the other pages take a minute together.
@pytest.mark.parametrize(
    "page", [p if p in ("README.md", "docs/reference/cli.md") else slow(p) for p in PAGES]
)
def test_the_tables_of_a_page_are_what_their_commands_print(page):
    assert not inserts.stale([ROOT / page])
