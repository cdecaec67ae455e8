"""The answer is that of the rows: at every recorded size, between sizes, and where none is."""

import math

import pytest
from playwright.sync_api import expect

from analysis import ranking
from tests.analysis import synthetic
from tests.browser import made

pytestmark = pytest.mark.xdist_group("browser")
FIELDS = ("gpu", "op", "dtype", "M", "N")
# Asks each question of a list; returns what the page says of it.
ASK = """(all) => all.map((asked) => {
  const form = document.querySelector("#question");
  ["gpu", "op", "dtype", "M", "N"].forEach((name, i) => (form.elements[name].value = asked[i]));
  form.dispatchEvent(new Event("input"));
  const said = (id) => document.getElementById(id).innerText.replaceAll("\\u00a0", " ");
  return Object.fromEntries(["notice", "winner", "facts", "lead"].map((id) => [id, said(id)]));
})"""


def ask(page, *questions):
    return page.evaluate(ASK, [list(map(str, each)) for each in questions])


def values(page):
    return [page.locator(f"#question [name={name}]").input_value() for name in FIELDS]


def best_sets(data):
    """{(gpu, op, dtype, M, N): (kernels that rank, best set, row of the fastest)}."""
    found = {}
    sizes = ranking.over_sweeps(ranking.rank_variants(data)).sort_values("rank")
    for key, part in sizes.groupby(list(FIELDS)):
        best = part.loc[part["in_best_set"], "variant"].tolist()
        found[key] = len(part), best, part.iloc[0]
    return found


def words(competitors, best):
    if competitors == 1:
        return "No winner"
    more = f" and {len(best) - 4} more" if len(best) > 4 else ""
    return "Tie: " * (len(best) > 1) + ", ".join(best[:4]) + more


def test_every_recorded_size_has_the_answer_of_its_rows(opened, recorded):
    data, path = recorded
    expected = best_sets(data)
    said = ask(opened(path=path), *expected)
    assert len(said) > 250
    for (competitors, best, row), text in zip(expected.values(), said, strict=True):
        assert text["winner"].strip() == words(competitors, best)
        assert text["notice"] == ""
        assert f"{float(f'{row.time_us:.4g}'):.10g}"[:5] in text["facts"]
        assert ("Only " in text["lead"]) == (competitors == 1)


def neighbours(sizes, m, n):
    """The nearest (M, N) below and above, in M where this N was measured, else in N."""

    def off(size):
        return 4 * abs(math.log2(size[1] / n)) + abs(math.log2(size[0] / m))

    same = [size for size in sizes if size[1] == n]
    at, value, among = (0, m, same) if same else (1, n, sizes)
    sides = ([s for s in among if s[at] < value], [s for s in among if s[at] > value])
    found = sorted((min(side, key=off) for side in sides if side), key=off)
    return [size for size in found if max(size[1] / n, n / size[1]) <= 4]


# at a measured N, between two N, beyond all
SHAPES = [(8, 131072), (4096, 32000), (4096, 128256), (2, 50257), (7, 700), (3000, 1000), (1, 9)]
SHAPES += [(512, 100000), (333, 4096), (64, 30000)]
UNMEASURED = [("h200", "softmax", dtype, *s) for dtype in ("float32", "bfloat16") for s in SHAPES]


def test_a_size_that_was_not_measured_is_answered_by_both_neighbours(opened, recorded):
    data, path = recorded
    known = best_sets(data)
    assert len(UNMEASURED) == 20
    assert not set(UNMEASURED) & set(known)
    for asked, text in zip(UNMEASURED, ask(opened(path=path), *UNMEASURED), strict=True):
        near = neighbours([key[3:] for key in known if key[:3] == asked[:3]], *asked[3:])
        assert near
        assert "was not measured" in text["notice"]
        for m, n in near:
            assert f"{m} × {n}" in text["notice"]  # noqa: RUF001
        raced = [known[*asked[:3], *size][1] for size in near if known[*asked[:3], *size][0] > 1]
        common = [name for name in (raced or [[]])[0] if all(name in best for best in raced)]
        expected = words(2, common) if common else " or ".join(b[0] for b in raced) or "No winner"
        assert text["winner"].strip().startswith(expected)


def test_beyond_four_times_in_n_no_kernel_is_named(opened):
    page = opened()
    (text,) = ask(page, ("h200", "softmax", "float32", 1000000, 1000000))
    assert "no kernel is named" in text["notice"]
    assert text["winner"] == text["facts"] == ""
    assert not page.locator("#behind").is_visible()
    page.locator("#notice a").click()
    expect(page.locator("[name=N]")).to_have_value("131072")
    assert page.locator("#winner").inner_text() != ""


def test_what_was_not_measured_says_where_it_was_and_changes_no_other_field(opened):
    page = opened()
    ask(page, ("a100", "softmax", "float32", 1024, 512))
    for field, value in (("op", "log_softmax"), ("dtype", "bfloat16"), ("dtype", "float32")):
        page.locator(f"[name={field}]").select_option(value)
    assert values(page) == ["a100", "log_softmax", "float32", "1024", "512"]
    notice = page.locator("#notice")
    assert "was not measured on" in notice.inner_text()
    assert "snakemake --cores all --config op=log_softmax" in notice.inner_text()
    notice.locator("a", has_text="see NVIDIA H200").click()
    expect(page.locator("[name=gpu]")).to_have_value("h200")
    assert values(page)[1] == "log_softmax"
    assert "triton_row" in page.locator("#winner").inner_text()


def test_a_race_of_one_names_no_winner_and_a_tie_all(opened, tmp_path):
    rows = [synthetic.with_speedup(2, variant="triton_row", N=64)]
    for n, second in ((128, 1.995), (256, 1.5)):
        rows += [synthetic.with_speedup(2, 0.0005, variant="frontier", N=n)]
        rows += [synthetic.with_speedup(second, 0.0005, variant="triton_row", N=n)]
    page = opened(path=made.page(synthetic.frame_of(rows), tmp_path))
    alone, tie, won = ask(page, *(("h200", "softmax", "float32", 1024, n) for n in (64, 128, 256)))
    assert alone["winner"].strip() == "No winner"
    assert alone["lead"].startswith("Only triton_row was timed here")
    assert tie["winner"].strip() == "Tie: frontier, triton_row"
    assert won["winner"].strip() == "frontier"
    assert won["lead"].startswith("triton_row is next, 1.33")
    assert "from kernels import softmax" in page.locator("#about").inner_text()


def test_the_question_is_in_the_address(opened):
    page = opened(asks="#h200/softmax/float16/1000x5000")
    assert values(page) == ["h200", "softmax", "float16", "1000", "5000"]
    page.locator("[name=N]").fill("4096")
    page.wait_for_url("**#h200/softmax/float16/1000x4096")
    assert page.locator("#link").get_attribute("href") == "#h200/softmax/float16/1000x4096"


def test_other_words_are_refused(opened):
    page = opened()
    for given in ("", "0", "-3", "1e3", "1.5", "N", "1" * 13):
        page.locator("[name=N]").fill(given)
        assert "whole numbers" in page.locator("#fault").inner_text()
        assert page.locator("[name=N]").get_attribute("aria-invalid") == "true"
    page.locator("[name=N]").fill("256")
    assert page.locator("#fault").inner_text() == ""
