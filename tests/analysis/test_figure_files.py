"""Which figures are drawn, and what their files hold."""

from matplotlib import pyplot as plt

from analysis.figures import style, write
from tests.analysis import synthetic
from tests.analysis.synthetic import frame_of


def test_the_files_of_a_gpu_are_the_same_twice(tables, tmp_path):
    rows = synthetic.oneflow_rows()
    frame = frame_of([*rows, *(row | {"gpu": "cpu"} for row in rows)], "oneflow")
    first, second = (write.write(frame, tables, "h200", tmp_path / folder) for folder in "ab")
    kinds = ("time", "throughput", "speedup")
    assert {path.stem for path in first} == {f"float32_oneflow_{kind}" for kind in kinds}
    assert sorted((tmp_path / "a/h200").iterdir()) == sorted(first)
    assert [path.read_bytes() for path in first] == [path.read_bytes() for path in second]
    assert {path.read_bytes()[:5] for path in first} == {b"\x89PNG\r", b"<?xml"}
    # text stays text
    svg = (tmp_path / "a/h200/float32_oneflow_time.svg").read_text(encoding="utf-8")
    assert "cuda_oneflow</text>" in svg
    # times of a CPU stand beside no GPU's
    cpu = write.write(frame, tables, "cpu", tmp_path)
    assert {path.stem for path in cpu} == {path.stem for path in first}
    shared = write.write(frame, tables, write.ALL, tmp_path)
    kinds = ("throughput", "gain", "published")
    expected = {"hero", "softmax_grid", *(f"float32_oneflow_{kind}" for kind in kinds)}
    assert {path.stem for path in shared} == expected
    write.write(frame[frame["gpu"] == "cpu"], tables, write.ALL, tmp_path)
    assert "no timed rows" in (tmp_path / "all/hero.svg").read_text(encoding="utf-8")
    assert write.write(frame, tables, "h100", tmp_path) == []


def test_one_size_is_no_line(tables, tmp_path):
    frame = frame_of(synthetic.sweep_rows([64], ["torch_softmax", "a"]), "mine")
    written = write.write(frame, tables, "h200", tmp_path)
    assert {path.stem for path in written} == {"float32_mine_speedup"}


def test_a_name_is_text_and_no_formula(tables, tmp_path):
    r"""A broken formula would end the drawing; `$\frac{` may be in any text of a table."""
    name = r"NVIDIA $\frac{ _^$ H200"
    table = frame_of(synthetic.sweep_rows(gpu_name=name, driver="$x^"))
    written = write.write(table, tables, "h200", tmp_path)
    svgs = [path.read_text(encoding="utf-8") for path in written if path.suffix == ".svg"]
    assert len(svgs) >= 2
    assert all(name.removeprefix("NVIDIA ") in svg and "$x^" in svg for svg in svgs)


def test_a_figure_that_cannot_be_drawn_costs_no_other(tmp_path, capsys):
    drawings = {
        "good": lambda: style.finish(plt.figure(), 1, "a title"),
        "bad": lambda: 1 / 0,
        "last": lambda: style.finish(plt.figure(), 1, "a title"),
    }
    written = write.draw(drawings, tmp_path)
    assert [path.name for path in written] == ["good.svg", "good.png", "last.svg", "last.png"]
    said = capsys.readouterr().err
    assert said.count("\n") == 1
    assert "no figure bad, as drawing it failed: ZeroDivisionError" in said
    assert write.draw({"bad": lambda: 1 / 0}, tmp_path / "none") == []
    assert (tmp_path / "none").is_dir()
