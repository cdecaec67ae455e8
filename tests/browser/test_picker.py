"""The answer is that of the rows: at every recorded size, between sizes, and where none is."""

import re

import pytest
from playwright.sync_api import expect

from analysis import ranking, schema
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
  const parts = ["notice", "winner", "graph", "eager", "lead", "marks-here", "untimed"];
  return Object.fromEntries(parts.map((id) => [id, said(id)]));
})"""


def ask(page, *questions):
    return page.evaluate(ASK, [list(map(str, question)) for question in questions])


def values(page):
    return [page.locator(f"#question [name={name}]").input_value() for name in FIELDS]


DOUBT = {True: "‡", False: ""}  # wrong on special values


def best_sets(data):
    """{(gpu, op, dtype, M, N): (best set with marks, row of the fastest)}."""
    sizes = ranking.over_sweeps(ranking.rank_variants(data)).sort_values("rank")
    return {
        key: (names[part["in_best_set"]].tolist(), part.iloc[0])
        for key, part in sizes.groupby(list(FIELDS))
        for names in [part["variant"] + part["flags"].str.contains("edge_cases").map(DOUBT)]
    }


# How `no_winner` begins -> the words of the page.
UNRACED = {"no": "Only torch as a rival here", "fr": "Usual winner not timed here"}


def test_every_recorded_size_has_the_answer_of_its_rows(opened, recorded):
    data, path = recorded
    expected = best_sets(data)
    said = ask(opened(path=path), *expected)
    assert len(said) > 250
    for (best, row), text in zip(expected.values(), said, strict=True):
        more = f" and {len(best) - 4} more" if len(best) > 4 else ""
        winner = "Tie: " * (len(best) > 1) + ", ".join(best[:4]) + more
        assert text["winner"].strip() == (winner if best else UNRACED[row.no_winner[:2]])
        shown = re.match(r"(?:In|[\w‡]+ in) a CUDA graph: ([\d.]+)", text["graph"])[1]
        assert float(shown) == pytest.approx(row.time_us, rel=0.005)
        if not best:
            assert text["lead"].endswith(f", but {row.no_winner}.")
            assert text["notice"].startswith("To time every rival here: make shape M=")
        else:
            assert text["notice"] == ""
        words = text["lead"] + text["winner"]
        assert best or not ("fastest" in words or "best" in words), "a winner without a rival"


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
    (1024, 64): ("Only torch as a rival here", []),
    (1024, 128): ("Tie: frontier, triton_row", []),
    (1500, 256): ("Likely frontier", [(1024, 256), (4096, 256)]),
    (9, 128): ("Likely a tie: frontier, triton_row", [(1024, 128)]),
    (1024, 100): ("Likely a tie: frontier, triton_row", [(1024, 128), (1024, 64)]),
    (1024, 200): ("Likely frontier", [(1024, 256), (1024, 128)]),
    (1024, 400): ("Likely frontier or triton_row", [(1024, 256), (1024, 1024)]),
    (1024, 4000): ("Likely triton_row", [(1024, 1024)]),
    (1024, 256): ("frontier", []),
}


@pytest.fixture(scope="module")
def few(tmp_path_factory):
    """The page of SPEEDS."""
    rows = [
        row
        for (m, n), speeds in SPEEDS.items()
        for row in synthetic.with_speedups(speeds, [n], M=m)
    ]
    return made.page(synthetic.frame_of(rows), tmp_path_factory.mktemp("few"))


def test_a_size_that_was_not_measured_is_answered_by_both_neighbours(opened, few):
    """A race of one names no winner, and a tie all."""
    page = opened(path=few)
    said = ask(page, *(("h200", "softmax", "float32", *size) for size in ANSWERS))
    for text, (asked, (winner, near)) in zip(said, ANSWERS.items(), strict=True):
        assert text["winner"].strip() == winner
        size, *sizes = (f"{m} × {n}" for m, n in (asked, *near))  # noqa: RUF001
        where = f"{size} was not measured. The ranking is that at {' and '.join(sizes)}."
        assert text["notice"].startswith(where * bool(near))
    alone, *_, won = said
    assert alone["lead"].endswith(", but no rival besides torch was timed.")
    assert won["lead"].startswith("Runner-up: triton_row, 1.33")
    assert "from softmax_bench import softmax" in page.locator("#about-kernel").inner_text()


def test_an_unmeasured_size_gets_an_estimate_with_its_spread_and_the_command(opened, tmp_path):
    """100 and 300 µs at 1024 and 4096 columns: 200 to 150 µs by the bandwidth at each."""
    rows = [
        synthetic.with_speedup(speed, variant=variant, N=n, time_us=us, torch_us=us * speed)
        for n, us in ((1024, 100.0), (4096, 300.0))
        for variant, speed in (("frontier", 2.0), ("peer_quack", 1.5))
    ]
    page = opened(path=made.page(synthetic.frame_of(rows), tmp_path))
    (text,) = ask(page, ("h200", "softmax", "float32", 1024, 2048))
    sizes = "1024 × 1024 and 1024 × 4096"  # noqa: RUF001
    assert f"frontier\t173 µs (150 to 200)\t1.75\u00d7\t{sizes}" in text["notice"]
    (text,) = ask(page, ("h200", "softmax", "float32", 1024, 3500))
    assert re.search(r"frontier\t26[0-9] µs \(256 to 342\)", text["notice"]), "nearer to 4096"
    (text,) = ask(page, ("h200", "softmax", "float32", 512, 1024))
    assert "frontier\t50.0 µs\t1.75\u00d7\t1024" in text["notice"], "of the same N alone"
    (text,) = ask(page, ("h200", "softmax", "float32", 1024, 2048))
    command = "make shape M=1024 N=2048 DTYPE=float32 OP=softmax"
    assert page.locator("#notice code").inner_text() == command
    assert text["graph"] == text["eager"] == "", "no measured time is told for another size"
    page.locator("#chooser [name=metric]").select_option("graph")
    expect(page.locator("#plot .guess")).to_have_count(2)  # the estimate and its spread


def test_a_kernel_that_one_neighbour_did_not_time_may_still_win(opened, tmp_path):
    rows = synthetic.with_speedups({"frontier": 2.0, "triton_row": 1.5}, [1024])
    rows += synthetic.with_speedups({"frontier": 2.0, "peer_quack": 1.998}, [4096])
    page = opened(path=made.page(synthetic.frame_of(rows), tmp_path))
    (text,) = ask(page, ("h200", "softmax", "float32", 1024, 2048))
    assert text["winner"].strip() == "Likely frontier or peer_quack"
    assert "frontier at 1024 × 1024; tie: frontier, peer_quack at" in text["lead"]  # noqa: RUF001
    first, second = text["untimed"].split(" Not ranked at 1024 × 4096: ")  # noqa: RUF001
    assert ("peer_quack" in first, "peer_quack" in second) == (True, False)


def test_a_kernel_that_is_wrong_on_special_values_has_its_mark_in_the_answer(opened, tmp_path):
    sizes = {256: {"frontier": 2.0, "peer_quack": 1.5}, 4096: {"frontier": 1.5, "peer_quack": 2.0}}
    rows = [row for n, speeds in sizes.items() for row in synthetic.with_speedups(speeds, [n])]
    for row in rows:
        row["flags"] = "edge_cases" * (row["variant"] == "peer_quack")
    page = opened(path=made.page(synthetic.frame_of(rows), tmp_path))
    questions = [("h200", "softmax", "float32", 1024, n) for n in sizes]
    first, second = ask(page, *questions)
    assert first["lead"] == "Runner-up: peer_quack‡, 1.33× the time."  # noqa: RUF001
    assert first["marks-here"] == f"‡ {schema.MARKS['‡']}."
    assert second["winner"].strip() == "peer_quack‡"
    assert second["lead"] == "Runner-up: frontier, 1.33× the time."  # noqa: RUF001


def test_the_ends_of_an_interval_differ_as_told(opened, tmp_path):
    rows = synthetic.with_speedups({"frontier": 2.0, "peer_quack": 1.5}, [256])
    for row in rows:
        if row["variant"] == "frontier":
            row |= {"speedup_low": "1.9998", "speedup_high": "2.0004"}
    page = opened(path=made.page(synthetic.frame_of(rows), tmp_path))
    (text,) = ask(page, ("h200", "softmax", "float32", 1024, 256))
    low, high = re.search(r"95 % interval ([\d.]+) to ([\d.]+)", text["graph"]).groups()
    assert float(low) < float(high)


def regime(page, **times):
    """What the page says of eager calls."""
    (text,) = ask(page, ("h200", "softmax", "float32", 1024, times["N"]))
    return text["eager"]


def test_the_answer_says_whether_the_host_or_the_gpu_decides(opened, tmp_path):
    host = {"time_us": 4.0, "torch_us": 8.0, "latency_us": 12.0, "torch_latency_us": 7.2}
    gpu = {"time_us": 40.0, "torch_us": 80.0, "latency_us": 12.0, "torch_latency_us": 7.2}
    rows = [
        synthetic.with_speedup(speed, variant=variant, N=n, eager_speedup=ratio, **times)
        for n, times, ratio in ((256, host, 8 / 12), (8192, gpu, 2.0))
        for variant, speed in (("frontier", 2.0), ("peer_quack", 1.5))
    ]
    unclear = host | {"eager_speedup": 8 / 12, "eager_speedup_low": 0.5, "eager_speedup_high": 1.2}
    rows.append(synthetic.with_speedup(2.0, variant="frontier", N=1024, **unclear))
    unknown = {"latency_us": "", "torch_latency_us": ""}
    unknown |= dict.fromkeys(("eager_speedup", "eager_speedup_low", "eager_speedup_high"), "")
    rows += [
        synthetic.with_speedup(speed, variant=variant, N=65536, **unknown)
        for variant, speed in (("frontier", 2.0), ("peer_quack", 1.5))
    ]
    page = opened(path=made.page(synthetic.frame_of(rows), tmp_path))
    said = [regime(page, N=n) for n in (256, 8192, 65536, 1024)]
    assert said[0].startswith("Called eagerly: 12.0 µs a call (torch 8.00), bound by the host")
    assert said[0].endswith("Without a graph, torch is faster.")
    assert (
        said[1] == "Called eagerly: 40.0 µs a call (torch 80.0), bound by the GPU, as in a graph."
    )
    assert said[2] == "No eager call was timed here."
    assert said[3].endswith("than the GPU takes to run it."), "torch is not significantly faster"


def test_named_shapes_can_be_picked_and_fill_the_operation_and_the_type(opened, report, tmp_path):
    names = [["GPT-2 sampling", "softmax", "float16", 64, 50257]]
    names += [["loss", "cross_entropy", "bfloat16", 4, 8]]
    page = opened(path=made.page(synthetic.frame_of(made.rows()), tmp_path, names))
    models = page.locator("#named select")
    label = "GPT-2 sampling: softmax, 64\u00a0×\u00a050257, float16"  # noqa: RUF001
    assert models.locator("optgroup").last.get_attribute("label") == "not measured"
    models.select_option(label=label)
    assert values(page)[1:] == ["softmax", "float16", "64", "50257"]
    assert "(GPT-2 sampling)" in page.locator("#asked").inner_text()
    page.locator("[name=M]").fill("65")
    assert models.input_value() == ""
    assert "GPT-2" not in page.locator("#asked").inner_text()
    assert "Not measured yet: softmax, cross_entropy." in page.locator("#models").inner_text()
    models.select_option(label="loss: cross_entropy, 4\u00a0×\u00a08, bfloat16")  # noqa: RUF001
    expect(page.locator("[name=op]")).to_have_value("cross_entropy")
    assert "No cross_entropy in bfloat16 was measured" in page.locator("#notice").inner_text()
    assert not opened(path=report).locator("#named").is_visible()  # a page without names


def test_rivals_without_a_time_at_a_size_are_named_with_the_reason(opened, tmp_path):
    rows = [*synthetic.with_speedups({"frontier": 2, "peer_liger": 1.5}, [256, 512])]
    rows += synthetic.with_speedups({"peer_quack": 1.8}, [512])
    rows[1] = synthetic.row(variant="peer_liger", N=256, status="unavailable", message="no liger")
    flags = {"flags": "overlaps_calls"}
    rows += synthetic.with_speedups({"peer_flashinfer": 1.8}, [256], **flags)
    page = opened(path=made.page(synthetic.frame_of(rows), tmp_path))
    (text,) = ask(page, ("h200", "softmax", "float32", 1024, 256))
    assert text["untimed"].startswith("Not ranked here: ")
    assert "peer_liger (unavailable)" in text["untimed"]
    assert "peer_flashinfer (consecutive calls overlap)" in text["untimed"]
    assert "peer_quack" in text["untimed"]
    assert "torch_softmax" not in text["untimed"], "every process times it"
    (text,) = ask(page, ("h200", "softmax", "float32", 1024, 512))
    assert "peer_liger" not in text["untimed"]


def test_beyond_four_times_in_n_no_kernel_is_named(opened):
    page = opened()
    (text,) = ask(page, ("h200", "softmax", "float32", 1000000, 1000000))
    assert "no kernel is named" in text["notice"]
    assert "Estimate" not in text["notice"]
    assert text["winner"] == text["graph"] == ""
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
    assert "No log_softmax in float32 was measured on" in notice.inner_text()
    assert "make shape M=1024 N=512 DTYPE=float32 OP=log_softmax" in notice.inner_text()
    notice.locator("a", has_text="See NVIDIA H200").click()
    expect(page.locator("[name=gpu]")).to_have_value("h200")
    assert values(page)[1] == "log_softmax"
    assert page.locator("#winner").inner_text() == "Only torch as a rival here"
    assert "triton_row was timed" in page.locator("#lead").inner_text()


def test_a_cpu_is_a_check_and_the_page_opens_with_a_gpu(opened, tmp_path):
    rows = synthetic.sweep_rows([256], ["torch_softmax", "torch_naive"], gpu="cpu")
    rows += synthetic.sweep_rows([256], ["torch_softmax", "frontier", "peer_liger"])
    page = opened(path=made.page(synthetic.frame_of(rows), tmp_path))
    assert values(page)[0] == "h200"
    assert page.locator("#graph").inner_text() != ""
    (text,) = ask(page, ("cpu", "softmax", "float32", 1024, 256))
    assert text["winner"] == "This CPU, to show that all works"
    assert text["graph"] == text["eager"] == text["lead"] == ""
    assert page.locator("#kernels tbody tr").count() == 2
    assert page.locator("#kernels :is(.best, .tied, .slower0, .slower1, .slower2)").count() == 0
    assert page.locator("#chooser option", has_text="CPU").count() == 0
    assert page.locator("#no-grid").is_visible()
