"""The report says what the rows say: best sets, claims verdict first, how far to trust it."""

from pathlib import Path

import pandas as pd
import pytest

from analysis import claims, frame
from analysis.claims.reproduction import OPEN, REPRODUCED
from analysis.markdown import number, with_interval
from analysis.report import trust, write
from analysis.report.claim_lines import document
from tests.analysis import synthetic
from tests.analysis.synthetic import frame_of, oneflow_rows, with_speedups
from tests.workflow.runner import read_csv


@pytest.fixture(scope="module")
def written(tables, tmp_path_factory):
    """Function that writes the report of a frame of rows; returns its folder and its text."""

    def make(frame, **options):
        folder = tmp_path_factory.mktemp("report")
        checked = claims.check(frame, tables)
        write.write(frame, checked, tables, folder, "make run", **options)
        return folder, (folder / "report.md").read_text(encoding="utf-8")

    return make


@pytest.fixture(scope="module")
def online(written):
    """The report of the online softmax protocol on an H200."""
    return written(frame_of(synthetic.sweep_rows()))


def section(text, title):
    return text.split(f"## {title}\n", 1)[1].split("\n## ", 1)[0]


def cells(text, first):
    """The cells of the only table row whose first cell is `first`."""
    (line,) = [line for line in text.splitlines() if line.startswith(f"| {first} |")]
    return line.strip("| ").split(" | ")


def test_a_run_of_one_sweep_is_one_page_that_opens_with_the_answer(online):
    folder, text = online
    titles = [line[3:] for line in text.splitlines() if line.startswith("## ")]
    assert titles == ["Answer", "Your shape", "Published claims", "Trust", "Notes"]
    assert text.startswith("# Which softmax is fastest for your shape?\n\n## Answer\n\n| GPU")
    assert len(text.splitlines()) <= 120
    assert "](report/profile.csv)" in text
    assert (folder / "report/profile.csv").is_file()
    assert "![" not in text, "the report needs no figure"
    page = (folder / "report.html").read_text(encoding="utf-8")
    assert "<code>make run</code>" in page
    assert "<img" not in page


def test_one_line_answers_and_a_cell_per_shape(online):
    _, text = online
    line = cells(section(text, "Answer"), "h200, softmax, float32")
    assert line[1].startswith("triton_persistent 10/10, ")
    assert line[5].startswith("triton_persistent: 0.")
    assert line[6] == "10 of 10"
    line = cells(section(text, "Your shape"), "1K")
    assert line[-1] == "triton_persistent tie"


def test_the_safest_choice_is_judged_where_there_is_a_rival(written):
    """Most kernels are not timed at the sizes of a sweep of torch and one more."""
    rows = with_speedups({"frontier": 2.0, "peer_quack": 1.5, "triton_row": 0.5}, [4096])
    rows += with_speedups({"torch_softmax": 1.0, "triton_row": 2.0}, [256, 512, 768])
    _, text = written(frame_of(rows))
    line = cells(section(text, "Answer"), "h200, softmax, float32")
    assert (line[5], line[6]) == ("frontier: 0.0 %", "1 of 4")


def test_the_answers_are_about_the_gpus_measured_here(written):
    rows = [synthetic.sweep_rows(), synthetic.sweep_rows(gpu="a100")]
    frames = [frame_of(rows[0], origin="recorded"), frame_of(rows[1])]
    _, text = written(pd.concat(frames, ignore_index=True))
    assert "| a100, softmax, float32 |" in section(text, "Answer")
    assert "| h200," not in section(text, "Answer")
    assert "softmax, float32, on NVIDIA H200" in section(text, "Your shape")


def test_a_run_on_a_cpu_is_a_check_and_the_answers_are_the_recorded_ones(written):
    cpu = synthetic.sweep_rows([256], ["torch_softmax", "torch_naive"], gpu="cpu")
    cpu += synthetic.sweep_rows([256], synthetic.TRITON, gpu="cpu", status="interpreted")
    cpu += [synthetic.row(N=256, variant="cuda_oneflow", gpu="cpu", status="incorrect")]
    frames = [frame_of(cpu), frame_of(synthetic.sweep_rows(), origin="recorded")]
    _, text = written(pd.concat(frames, ignore_index=True))
    answer = section(text, "Answer")
    assert "This run checked 9 results on a CPU, and ranked no kernel" in answer
    assert "Not right there: 1 incorrect; see Trust." in answer
    assert "| h200, softmax, float32 |" in answer
    assert "cpu" not in section(text, "Your shape")
    assert "- NVIDIA H200 (h200): recorded 2026-11-20, 10 shapes" in section(text, "Notes")
    _, alone = written(frame_of(cpu))
    assert "recorded GPUs" not in section(alone, "Answer")
    assert "|" not in section(alone, "Answer")


def test_no_rows_at_all(written):
    _, text = written(frame_of([]))
    assert "To measure this machine: \\`make run\\`" in section(text, "Answer")
    assert "- Without rows here: S0-a" in text


def test_a_named_shape_has_a_line_with_the_answer_of_each_element_type(written):
    rows = with_speedups({"frontier": 2.0, "peer_quack": 1.5}, [4096])
    rows += with_speedups({"frontier": 2.0}, [50257], time_us=3.0)
    timed = [["LM head", "softmax", dtype, 1024, 4096] for dtype in ("float32", "bfloat16")]
    alone = ["GPT-2", "softmax", "float32", 1024, 50257]
    absent = [["ImageNet", "softmax", "float32", 256, 1000], ["LM", "logsumexp", "float32", 1, 8]]
    _, text = written(frame_of(rows), workloads=[*timed, alone, *absent])
    lines = section(text, "Shapes of real models")
    assert "softmax: 2 of 3 shapes" in lines
    assert "Not measured for softmax: ImageNet (256 x 1000)." in lines
    assert "No shape of a model was measured for logsumexp." in lines
    assert lines.count("<details>") == 1
    line = cells(lines, "LM head")
    assert line[1] == "1024 x 4096"
    assert line[2].startswith("float32: frontier; ")
    assert line[2].endswith(" µs, 2.00 times torch; bfloat16: not measured")
    assert cells(lines, "GPT-2")[2] == "float32: no winner: no rival besides torch was timed"


def test_a_named_shape_counts_the_kernels_of_a_tie_that_it_does_not_name(written):
    rows = with_speedups(
        dict.fromkeys(["frontier", "peer_quack", "triton_row", "a", "b"], 2.0), [8]
    )
    _, text = written(frame_of(rows), workloads=[["tiny", "softmax", "float32", 1024, 8]])
    assert " and 2 more; " in cells(section(text, "Shapes of real models"), "tiny")[2]


def test_documents_are_beside_the_page_or_in_the_repository_that_publishes_it(monkeypatch):
    name, root = "docs/explanation/method.md", Path("/x")
    for variable in ("GITHUB_SERVER_URL", "GITHUB_REPOSITORY"):
        monkeypatch.delenv(variable, raising=False)
    assert document(name, root / "results" / "recorded", root) == f"../../{name}"
    monkeypatch.setenv("GITHUB_SERVER_URL", "https://example.org")
    monkeypatch.setenv("GITHUB_REPOSITORY", "us/bench")
    assert document(name, root, root) == f"https://example.org/us/bench/blob/HEAD/{name}"


def test_claims_have_the_verdict_first_and_the_published_value_beside_it(written):
    _, text = written(frame_of(oneflow_rows(), sweep="oneflow"))
    lines = section(text, "Published claims").splitlines()
    (line,) = [row for row in lines if "S3-a" in row]
    assert line.startswith(f"- **{OPEN} on h200 float32**: S3-a")
    assert "published 1.96, measured 2.00" in line


def test_a_claim_without_a_table_is_shown_in_float32_and_other_types_are_folded(written):
    errors = {"triton_online": 1.5e-11, "torch_softmax": 4e-13}
    rows = [
        synthetic.row(N=32768, variant=variant, dtype=dtype, max_abs_error=error)
        for variant, error in errors.items()
        for dtype in ("bfloat16", "float32")
    ]
    _, text = written(frame_of(rows))
    (line,) = [row for row in section(text, "Published claims").splitlines() if "S0-e" in row]
    assert line.startswith(f"- **{REPRODUCED} on h200 float32**: S0-e")
    assert "(h200, float32)" in line
    assert f"Also {REPRODUCED} on h200 bfloat16." in line


def test_a_row_that_is_wrong_on_special_values_ranks_with_a_mark(written):
    wrong = {"flags": "edge_cases", "message": "nan where a row is -inf"}
    rows = synthetic.sweep_rows([8192], ["torch_softmax", "triton_online"])
    rows += synthetic.sweep_rows([8192], ["peer_quack"], speedup=9, **wrong)
    _, text = written(frame_of(rows))
    assert "peer_quack‡" in cells(section(text, "Answer"), "h200, softmax, float32")[1]
    assert "‡ right on ordinary input" in section(text, "Notes")
    assert "1 wrong on special values, peer_quack, N = 8192: nan where a row is -inf" in text


def test_faults_that_differ_in_numbers_have_one_line():
    faults = {64: "N = 64: a row needs 256 bytes", 128: "N = 128: a row needs 512 bytes"}
    rows = [synthetic.row(N=n, status="unsupported", message=text) for n, text in faults.items()]
    on_trust = {line.title: line for line in trust.controls(frame_of(rows))}
    (line,) = on_trust["Failures"].table.to_numpy().tolist()
    assert line == ["unsupported", 2, "triton_online", "64 … 128", "a row needs 256 bytes"]


def test_flags_noise_and_accuracy_are_counted(written):
    off = {"aa_ratio": 1.03, "aa_low": 1.02, "aa_high": 1.04, "flags": "launch_bound throttled"}
    rows = synthetic.sweep_rows([131072], ["triton_row", "triton_online", "triton_fused"])
    rows.append(synthetic.row(N=131072, variant="triton_tiled", **off))
    folder, text = written(frame_of(rows))
    said = section(text, "Trust")
    assert "95 % by less than 2.56 %" in said
    assert "looks different in 25.0 % of runs" in said
    assert "1 (launch-bound: the launch takes longer than the kernel), 1 (the driver" in said
    assert "varies by 0.50 % between processes" in said
    accuracy = read_csv(folder / "report" / "accuracy.csv")
    (row,) = [row for row in accuracy if row["variant"] == "triton_row"]
    assert float(row["max_rel_error"]) == 3e-7
    (line,) = read_csv(folder / "report" / "processes.csv")
    assert (line["gpu"], line["relative"]) == ("h200", "0.005")


def test_each_operation_has_a_line_of_its_own(written):
    rows = with_speedups({"triton_row": 1.5, "triton_online": 1.2}, [1024])
    rows += with_speedups({"triton_row": 1.1, "triton_online": 1.4}, [1024], op="log_softmax")
    _, text = written(frame_of(rows))
    answer = section(text, "Answer")
    assert "| h200, softmax, float32 | triton_row 1/1" in answer
    assert "| h200, log_softmax, float32 | triton_online 1/1" in answer


def test_numbers():
    values = [1.35312, 131072.0, 1.5e-11, float("nan"), 9.99951, 0.0]
    shown = ["1.353", "131072", "1.500e-11", "", "10.00", "0.000"]
    assert [number(value) for value in values] == shown
    assert with_interval(1.5, 1.4, 1.6) == "1.500 [1.400, 1.600]"
    assert with_interval(1.5, float("nan"), float("nan")) == "1.500"


@pytest.mark.parametrize("sign", ["=", "+", "-", "@", "\t"])
def test_a_message_is_neither_a_formula_nor_html(sign, written):
    """In tables that a spreadsheet opens, and in the Markdown; numbers stay as they are."""
    message = f"{sign}cmd('x') <script>alert(1)</script> `a` [b](c)"
    crash = {"status": "crash", "message": message, "variant": "triton_row"}
    rows = [*synthetic.sweep_rows(), synthetic.row(**crash, M=7)]
    folder, text = written(frame_of(rows))
    assert "<script>" not in text
    assert r"&lt;script&gt;alert(1)&lt;/script&gt; \`a\` \[b](c)" in text
    tables = [path.read_text(encoding="utf-8") for path in (folder / "report").glob("*.csv")]
    assert any(f"'{message}" in table for table in tables)
    assert not any(f",{message}" in table or f'"{message}' in table for table in tables)


def test_a_table_for_people_keeps_its_numbers(tmp_path):
    table = pd.DataFrame({"x": ["-1.5e-3", "-x", "+2", "=1+1", ""], "y": [-1.0, -2, 3, 4, None]})
    frame.write(tmp_path / "table.csv", table)
    lines = (tmp_path / "table.csv").read_text(encoding="utf-8").splitlines()
    assert lines == ["x,y", "-1.5e-3,-1.0", "'-x,-2.0", "+2,3.0", "'=1+1,4.0", ","]
