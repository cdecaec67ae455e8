"""Work grows as the points of a sweep do: calls and opened files are counted, not timed."""

import sys
import threading

import pandas as pd
import pytest

from analysis import claims, collect, merge, published, report, summary
from analysis.frame import load
from measure.fingerprint import ROOT
from tests.analysis import synthetic

pytestmark = pytest.mark.slow  # 1,400 rows to the report, twice
COUNTS = (200, 400, 800)


class Counted:
    """``with Counted() as found``: calls of Python functions, and opened files, in this thread."""

    listening: "Counted | None" = None
    calls = opened = 0

    def __enter__(self):
        Counted.listening = self
        self.thread = threading.get_ident()
        self.before = sys.getprofile()
        sys.setprofile(self._profile)
        return self

    def __exit__(self, *_):
        sys.setprofile(self.before)
        Counted.listening = None

    def _profile(self, frame, event, argument):
        self.calls += event == "call"


@sys.addaudithook
def _opens(event, arguments):
    """An audit hook cannot be taken away again: it counts for whoever listens."""
    if event == "open" and (found := Counted.listening) and found.thread == threading.get_ident():
        found.opened += 1


def steps(cells, folder) -> dict:
    """The steps from rows to the report, each a function to be counted."""
    merged, table = folder / f"{len(cells)}.csv", folder / f"all{len(cells)}.csv"
    merge.merge_cells(cells, "growth", merged)
    collect.collect([merged], [], table)
    data, tables = load(table), published.load(ROOT / "data/published")
    ranks, found = summary.summarise(data), claims.table.check(data, tables)
    ranks["best"], ranks["lead_sure"] = ranks["best"].astype(bool), ranks["lead_sure"].astype(bool)
    return {
        "merge": lambda: merge.merge_cells(cells, "growth", merged),
        "collect": lambda: collect.collect([merged], [], table),
        "load": lambda: load(table),
        "summary": lambda: summary.summarise(data),
        "claims": lambda: claims.table.check(data, tables),
        "report": lambda: report.write(
            data, ranks, pd.DataFrame(found), tables, folder, "none", folder / "report.md"
        ),
    }


@pytest.fixture(scope="module")
def counts(tmp_path_factory):
    """step -> (calls, opened files) for each of COUNTS."""
    folder = tmp_path_factory.mktemp("growth")
    sizes = range(256, 256 + 128 * (COUNTS[-1] // len(synthetic.VARIANTS)), 128)
    rows = synthetic.sweep_rows(sizes)
    cells = [synthetic.write_cell(folder, row) for row in rows]
    found = {}
    for count in COUNTS:
        for name, step in steps(cells[:count], folder).items():
            step()  # what is loaded or remembered once is no growth
            with Counted() as counted:
                step()
            found.setdefault(name, []).append((counted.calls, counted.opened))
    return found


@pytest.mark.parametrize("step", ["merge", "collect", "load", "summary", "claims", "report"])
def test_no_step_grows_faster_than_the_points(counts, step):
    (few, _), (some, _), (many, _) = counts[step]
    assert many - some <= 2.2 * (some - few) + 1000


def test_only_merging_opens_more_files_for_more_points(counts):
    opened = {name: [number for _, number in found] for name, found in counts.items()}
    few, some, many = opened.pop("merge")
    assert (some - few, many - some) == (2 * 200, 2 * 400)  # each row and its samples, once
    for name, numbers in opened.items():
        assert len(set(numbers)) == 1, name
