"""The page for those who doubt the numbers: its lines of pandas print what the page shows."""

import re
import subprocess
import sys
from statistics import geometric_mean

from analysis import ranking
from measure import ROOT
from tests.docs.test_commands import fences
from tools import goals, results

PAGE = ROOT / "docs/howto/check_us.md"


def fence(language: str) -> str:
    (text,) = (text for name, text in fences(PAGE) if name == language)
    return text


def test_the_lines_of_pandas_print_what_the_page_shows():
    said = subprocess.check_output(
        [sys.executable, "-c", fence("python")], cwd=ROOT, text=True, encoding="utf-8"
    )
    assert said == fence("text")


def test_they_agree_with_the_ranking():
    """The ranking joins replicates and widens intervals, and its values are the same."""
    rows = results.recorded().query("gpu == 'h200' and sweep == 'random'")
    ranks = ranking.rank_variants(rows)
    level = goals.judged_sizes(ranks)["level"]
    mean = geometric_mean(goals.leads(ranking.over_sweeps(ranks), goals.TORCH))
    numbers = re.findall(r"[\d.]+", fence("text"))
    assert numbers[0] == f"{mean:.3f}"
    assert [str(level["met"].sum()), str(len(level))] == numbers[2:4]
    assert numbers[4] == f"{level['value'].max():.3f}"
