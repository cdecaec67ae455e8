"""The first screen answers what the rows say."""

import csv
import math
import unicodedata

import pytest

from tests.analysis import synthetic
from tests.browser import made

TIMES = unicodedata.lookup("MULTIPLICATION SIGN")
pytestmark = pytest.mark.xdist_group("browser")


@pytest.fixture(scope="module")
def winners(report):
    with (report.parent / "summary.csv").open(newline="") as file:
        return [row for row in csv.DictReader(file) if row["rank"] == "1"]


def choose(page, gpu, op, dtype, m, n):
    form = page.locator("#picker")
    form.locator("[name=place]").select_option(index=["a100", "h200"].index(gpu))
    form.locator("[name=op]").select_option(op)
    form.locator("[name=dtype]").select_option(dtype)
    form.locator("[name=M]").fill(str(m))
    form.locator("[name=N]").fill(str(n))


def expected(winners, gpu, op, dtype, m, n):
    """The winner at the measured size whose M and N are off by the smallest factors."""
    fitting = [r for r in winners if (r["gpu"], r["op"], r["dtype"]) == (gpu, op, dtype)]
    return min(
        fitting, key=lambda r: abs(math.log(int(r["M"]) / m)) + abs(math.log(int(r["N"]) / n))
    )


ASKED = [
    ("h200", "softmax", "float32", 1024, 8192),  # measured
    ("h200", "softmax", "float32", 1000, 50000),  # near a measured size
    ("h200", "softmax", "float32", 1, 1),  # far from any
    ("h200", "softmax", "float16", 1024, 5000),
    ("h200", "log_softmax", "float32", 2048, 512),
    ("h200", "log_softmax", "float32", 7, 1234567),
    ("a100", "softmax", "float32", 1024, 65536),
]


def test_the_answer_is_the_row_of_the_nearest_size(opened, winners):
    page = opened()
    for gpu, op, dtype, m, n in ASKED:
        choose(page, gpu, op, dtype, m, n)
        row = expected(winners, gpu, op, dtype, m, n)
        text = page.locator("#answer").inner_text()
        assert page.locator("#winner").inner_text() == row["variant"]
        assert f"{dtype} at {row['M']} {TIMES} {row['N']}" in text
        shown = float(page.locator("#over").inner_text().rstrip(TIMES))
        assert shown == pytest.approx(float(row["speedup"]), rel=5e-4)
        interval = page.locator("#over-interval").inner_text()
        low, high = interval.removeprefix("95 % interval ").split(" to ")
        assert float(low) == pytest.approx(float(row["speedup_low"]), rel=5e-4)
        assert float(high) == pytest.approx(float(row["speedup_high"]), rel=5e-4)
        of_copy = float(page.locator("#of-copy").inner_text())
        assert of_copy == pytest.approx(float(row["of_copy"]), rel=5e-3)
        assert ("significantly slower" in text) == (int(row["competitors"]) > 1)
        exact = (int(row["M"]), int(row["N"])) == (m, n)
        assert ("Measured at exactly this size" in text) == exact
        assert (f"{m} {TIMES} {n} was not measured" in text) != exact
        far = max(abs(math.log2(int(row["M"]) / m)), abs(math.log2(int(row["N"]) / n))) > 1
        assert ("measure your own size" in text) == far


def test_what_can_be_chosen_was_measured(opened):
    page = opened()
    choose(page, "h200", "log_softmax", "float32", 2048, 512)
    assert page.locator("[name=dtype] option").all_inner_texts() == ["float32"]
    assert page.locator("#sizes button").all_inner_texts() == ["512", "5000"]
    page.locator("#sizes button", has_text="5000").click()
    assert page.locator("[name=N]").input_value() == "5000"
    assert f"2048 {TIMES} 5000" in page.locator("#asked").inner_text()


def test_sizes_are_offered_that_were_measured_at_about_the_m(opened, tmp_path):
    rows = synthetic.sweep_rows(variants=["torch_softmax", "triton_row"])
    rows += [synthetic.row(M=2**20 // n, N=n) for n in (16, 32)]
    page = opened(path=made.write(rows, tmp_path))
    m, sizes = page.locator("[name=M]"), page.locator("#sizes button")
    for near in ("1024", "1000", "2048"):
        m.fill(near)
        assert sizes.all_inner_texts() == [str(n) for n in synthetic.ONLINE_SIZES], near
        assert page.locator("#h-sizes").inner_text() == "Measured N at M = 1024"
    m.fill("30000")  # two sizes at 32768 are few: all are offered, and set M too
    texts = [
        f"{rows} {TIMES} {columns}" for rows, columns in ((65536, 16), (32768, 32), (1024, 256))
    ]
    assert sizes.all_inner_texts()[:3] == texts
    sizes.nth(0).click()
    assert (m.input_value(), page.locator("[name=N]").input_value()) == ("65536", "16")
    assert "Measured at exactly this size" in page.locator("#nearest").inner_text()


def test_other_words_are_refused(opened):
    page = opened()
    for given in ("", "0", "-3", "1e3", "1.5", "N", "1" * 13):
        page.locator("[name=N]").fill(given)
        assert "whole numbers" in page.locator("#fault").inner_text()
        assert page.locator("[name=N]").get_attribute("aria-invalid") == "true"
        assert page.locator("#answer[aria-hidden=true], .ranking[aria-hidden=true]").count() == 2
        page.locator("[name=N]").fill("256")
        assert page.locator("#fault").inner_text() == ""
        assert page.locator("#answer[aria-hidden=false], .ranking[aria-hidden=false]").count() == 2
