"""The report says what the rows say: best sets, claims verdict first, how far to trust it."""

import pandas as pd
import pytest

from analysis import claims, frame
from analysis.markdown import number, with_interval
from analysis.report import trust, write
from analysis.schema import UNRANKED
from tests.analysis import synthetic
from tests.analysis.synthetic import frame_of, oneflow_rows, with_speedups
from tests.workflow.runner import read_csv


@pytest.fixture(scope="module")
def written(tables, tmp_path_factory):
    """Function that writes the report of a frame of rows; returns its folder and its text."""

    def make(frame):
        folder = tmp_path_factory.mktemp("report")
        checked = claims.check(frame, tables)
        write.write(frame, checked, tables, folder, "make run")
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


def test_a_run_of_one_sweep_is_one_page_of_five_parts(online):
    folder, text = online
    titles = [line[3:] for line in text.splitlines() if line.startswith("## ")]
    assert titles == [
        *("Answer", "Best set by N, over all sweeps", "Published claims"),
        *("Trust", "Environment", "More"),
    ]
    assert len(text.splitlines()) <= 200
    assert "](report/profile.csv)" in text
    assert (folder / "report/profile.csv").is_file()
    assert "![" not in text, "the report needs no figure"
    page = (folder / "report.html").read_text(encoding="utf-8")
    assert "<code>make run</code>" in page
    assert "<img" not in page


def test_one_line_answers_and_one_line_per_n(online):
    _, text = online
    found = cells(section(text, "Answer"), "h200")
    assert found[:5] == ["h200", "softmax", "float32", "online_softmax", "10"]
    assert found[5].startswith("triton_fused 3/3")
    assert found[-1].startswith("triton_persistent: 0.")
    names = "triton_persistent", "torch_softmax"
    best, torch = (synthetic.time_us(name, 1024, 131072, 4) for name in names)
    _, by_n = cells(section(text, "Best set by N, over all sweeps"), "131072")
    assert by_n.startswith(f"tie: triton_persistent, triton_row, {torch / best:.2f}x, ")
    assert by_n.endswith(f"{best:.1f} µs")


def test_the_answer_is_about_what_was_measured_here(written):
    cpu = synthetic.sweep_rows([256], ["torch_softmax", "torch_naive"], gpu="cpu")
    cpu += synthetic.sweep_rows([256], synthetic.TRITON, gpu="cpu", status="interpreted")
    frames = [frame_of(cpu), frame_of(synthetic.sweep_rows(), origin="recorded")]
    _, text = written(pd.concat(frames, ignore_index=True))
    answer = section(text, "Answer")
    assert "Only torch's variants are timed here: 7 Triton variants ran in" in answer
    assert "| cpu |" in answer
    assert "| h200 |" not in answer
    assert "- NVIDIA H200 (h200), recorded 2026-11-20" in text


def test_no_rows_at_all(written):
    _, text = written(frame_of([]))
    assert "measure this machine with `make run`" in section(text, "Answer")
    assert "**no data here**: S0-a" in text


def test_claims_have_the_verdict_first_and_the_published_value_beside_it(written):
    _, text = written(frame_of(oneflow_rows(), sweep="oneflow"))
    lines = section(text, "Published claims").splitlines()
    (line,) = [row for row in lines if "S3-a" in row]
    assert line.startswith("- **holds on h200 float32; holds in its own table**: S3-a")
    assert "published 1.965" in line


def test_a_row_that_is_wrong_on_special_values_ranks_with_a_mark(written):
    wrong = {"flags": "edge_cases", "message": "nan where a row is -inf"}
    rows = synthetic.sweep_rows([8192], ["torch_softmax", "triton_online"])
    rows += synthetic.sweep_rows([8192], ["peer_quack"], speedup=9, **wrong)
    _, text = written(frame_of(rows))
    assert "peer_quack‡" in cells(section(text, "Answer"), "h200")[6]
    assert "‡ right on ordinary input" in section(text, "Answer")
    assert "1 wrong on special values, peer_quack, N = 8192: nan where a row is -inf" in text


def test_faults_that_differ_in_numbers_have_one_line():
    faults = {64: "N = 64: a row needs 256 bytes", 128: "N = 128: a row needs 512 bytes"}
    rows = [synthetic.row(N=n, status="unsupported", message=text) for n, text in faults.items()]
    found = {each.title: each for each in trust.findings(frame_of(rows), UNRANKED)}
    (line,) = found["Not ok"].table.to_numpy().tolist()
    assert line == ["unsupported", 2, "triton_online", "64 … 128", "a row needs 256 bytes"]


def test_flags_noise_and_accuracy_are_counted(written):
    off = {"aa_ratio": 1.03, "aa_low": 1.02, "aa_high": 1.04, "flags": "launch_bound throttled"}
    rows = synthetic.sweep_rows([131072], ["triton_row", "triton_online", "triton_fused"])
    rows.append(synthetic.row(N=131072, variant="triton_tiled", **off))
    folder, text = written(frame_of(rows))
    said = section(text, "Trust")
    assert "less than 2.56 % at 95 % of 4 rows" in said
    assert "25.0 % of these intervals exclude 1" in said
    assert "1 launch_bound, 1 throttled" in said
    assert "varies by 0.50 % between processes" in said
    accuracy = read_csv(folder / "report" / "accuracy.csv")
    (row,) = [row for row in accuracy if row["variant"] == "triton_row"]
    assert float(row["max_rel_error"]) == 3e-7
    (line,) = read_csv(folder / "report" / "processes.csv")
    assert (line["gpu"], line["relative"]) == ("h200", "0.005")
    assert "Biased control" not in text


def test_each_operation_has_a_line_of_its_own(written):
    rows = with_speedups({"triton_row": 1.5, "triton_online": 1.2}, [1024])
    rows += with_speedups({"triton_row": 1.1, "triton_online": 1.4}, [1024], op="log_softmax")
    _, text = written(frame_of(rows))
    answer = section(text, "Answer")
    assert "| softmax | float32 | online_softmax | 1 | triton_row |" in answer
    assert "| log_softmax | float32 | online_softmax | 1 | triton_online |" in answer


def test_numbers():
    values = [1.35312, 131072.0, 1.5e-11, float("nan")]
    assert [number(value) for value in values] == ["1.353", "131072", "1.500e-11", ""]
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
