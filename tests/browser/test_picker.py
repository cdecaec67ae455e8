"""The answer is that of the rows: at every recorded size, between sizes, and where none is."""

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
    """{(gpu, op, dtype, M, N): (best set, row of the fastest)}."""
    found = {}
    sizes = ranking.over_sweeps(ranking.rank_variants(data)).sort_values("rank")
    for key, part in sizes.groupby(list(FIELDS)):
        best = part.loc[part["in_best_set"], "variant"].tolist()
        found[key] = best, part.iloc[0]
    return found


def test_every_recorded_size_has_the_answer_of_its_rows(opened, recorded):
    data, path = recorded
    expected = best_sets(data)
    said = ask(opened(path=path), *expected)
    assert len(said) > 250
    for (best, row), text in zip(expected.values(), said, strict=True):
        more = f" and {len(best) - 4} more" if len(best) > 4 else ""
        winner = "Tie: " * (len(best) > 1) + ", ".join(best[:4]) + more
        assert text["winner"].strip() == (winner if best else "No winner")
        assert text["notice"] == ""
        assert f"{float(f'{row.time_us:.4g}'):.10g}"[:5] in text["facts"]
        assert best or text["lead"].endswith(f", but {row.no_winner}.")


# A race of one, a tie, and two winners; one N has two M.
SPEEDS = {
    (1024, 64): {"triton_row": 2},
    (1024, 128): {"frontier": 2, "triton_row": 1.995},
    (1024, 256): {"frontier": 2, "triton_row": 1.5},
    (4096, 256): {"frontier": 2, "triton_row": 1.5},
    (1024, 1024): {"frontier": 1.5, "triton_row": 2},
}
# Question -> the winner, and the sizes that answer it: in M if N was measured, else in N.
ANSWERS = {
    (1024, 64): ("No winner", []),
    (1024, 128): ("Tie: frontier, triton_row", []),
    (1500, 256): ("frontier", [(1024, 256), (4096, 256)]),
    (9, 128): ("Tie: frontier, triton_row", [(1024, 128)]),
    (1024, 100): ("Tie: frontier, triton_row", [(1024, 128), (1024, 64)]),
    (1024, 200): ("frontier", [(1024, 256), (1024, 128)]),
    (1024, 400): ("frontier or triton_row", [(1024, 256), (1024, 1024)]),
    (1024, 4000): ("triton_row", [(1024, 1024)]),
    (1024, 256): ("frontier", []),
}


def test_a_size_that_was_not_measured_is_answered_by_both_neighbours(opened, tmp_path):
    """A race of one names no winner, and a tie all."""
    rows = [r for (m, n), of in SPEEDS.items() for r in synthetic.with_speedups(of, [n], M=m)]
    page = opened(path=made.page(synthetic.frame_of(rows), tmp_path))
    said = ask(page, *(("h200", "softmax", "float32", *size) for size in ANSWERS))
    for text, (asked, (winner, near)) in zip(said, ANSWERS.items(), strict=True):
        assert text["winner"].strip() == winner
        size, *sizes = (f"{m} × {n}" for m, n in (asked, *near))  # noqa: RUF001
        where = f"{size} was not measured. The answer is that of {' and '.join(sizes)}."
        assert text["notice"] == where * bool(near)
    alone, *_, won = said
    assert alone["lead"].endswith(", but only torch was timed beside it.")
    assert won["lead"].startswith("triton_row is next, 1.33")
    assert "from softmax_bench import softmax" in page.locator("#about").inner_text()


def test_a_named_shape_can_be_picked_and_its_name_stands_at_its_size(opened, report, tmp_path):
    data, names = synthetic.frame_of(made.rows()), {"64x50257": "GPT-2 sampling", "4x8": "tiny"}
    page = opened(path=made.page(data, tmp_path, names))
    models = page.locator("#named select")
    models.select_option(label="GPT-2 sampling: 64\u00a0×\u00a050257")  # noqa: RUF001
    assert values(page)[3:] == ["64", "50257"]
    assert "(GPT-2 sampling)" in page.locator("#asked").inner_text()
    page.locator("[name=M]").fill("65")
    assert models.input_value() == ""
    assert "GPT-2" not in page.locator("#asked").inner_text()
    assert not opened(path=report).locator("#named").is_visible()  # a page without names


def test_rivals_without_a_time_at_a_size_are_named_with_the_reason(opened, tmp_path):
    rows = [*synthetic.with_speedups({"frontier": 2, "peer_liger": 1.5}, [256, 512])]
    rows += synthetic.with_speedups({"peer_quack": 1.8}, [512])
    rows[1] = synthetic.row(variant="peer_liger", N=256, status="unavailable", message="no liger")
    page = opened(path=made.page(synthetic.frame_of(rows), tmp_path))
    ask(page, ("h200", "softmax", "float32", 1024, 256))
    said = page.locator("#untimed").inner_text()
    assert said == "Not timed here: peer_liger (unavailable), peer_quack (not measured)."
    ask(page, ("h200", "softmax", "float32", 1024, 512))
    assert page.locator("#untimed").inner_text() == ""


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
    config = "'gpus=[a100]' op=log_softmax dtype=float32 shape=1024x512"
    assert f"snakemake --cores all --config {config}" in notice.inner_text()
    notice.locator("a", has_text="see NVIDIA H200").click()
    expect(page.locator("[name=gpu]")).to_have_value("h200")
    assert values(page)[1] == "log_softmax"
    assert page.locator("#winner").inner_text() == "No winner"
    assert "triton_row is the fastest" in page.locator("#lead").inner_text()


def test_the_question_is_in_the_address(opened):
    page = opened(asks="#h200/softmax/float16/1000x5000")
    assert values(page) == ["h200", "softmax", "float16", "1000", "5000"]
    page.locator("[name=N]").fill("4096")
    page.wait_for_url("**#h200/softmax/float16/1000x4096")
    assert page.locator("#link").get_attribute("href") == "#h200/softmax/float16/1000x4096"


@pytest.mark.parametrize(
    ("address", "fault"),
    [
        ("#a100x/softmax/float32/4x8", "gpu “a100x”, where this page has"),
        ("#h200/softmin/float32/4x8", "op “softmin”, where this page has log_softmax, "),
        ("#h200/softmax/float23/4x8", "dtype “float23”, where this page has float32, "),
        ("#h200/softmax/float32/abcx12", "the size “abcx12”, which is M x N"),
        ("#h200/softmax/float32/4x8/9", "the size “4x8/9”"),
        ("#a100x", "gpu “a100x”, where this page has"),
        ("#h200/softmax", "dtype “”, where this page has"),
        ("#compare", ""),  # a section of the page
    ],
)
def test_an_address_that_asks_for_what_is_not_here_says_which_part(address, fault, opened):
    page = opened(asks=address)
    said = page.locator("#fault").inner_text()
    assert fault in said
    assert bool(said) == bool(fault)
    assert "undefined" not in page.locator("#answer").inner_text()
    assert all(values(page)), "the form has another question"
    page.locator("[name=N]").fill("256")
    assert page.locator("#fault").inner_text() == ""


def test_other_words_are_refused(opened):
    page = opened()
    for given in ("", "0", "-3", "1e3", "1.5", "N", "1" * 13):
        page.locator("[name=N]").fill(given)
        assert "whole numbers" in page.locator("#fault").inner_text()
        assert page.locator("[name=N]").get_attribute("aria-invalid") == "true"
    page.locator("[name=N]").fill("256")
    assert page.locator("#fault").inner_text() == ""
