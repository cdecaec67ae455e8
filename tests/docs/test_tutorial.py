"""The kernel that the tutorial makes of the template is right."""

import re

from kernels.registry import scaffold
from measure import ROOT
from tests.bench import Bench


def test_the_faster_kernel_of_the_tutorial_is_right(tmp_path):
    text = (ROOT / "docs/tutorial.md").read_text(encoding="utf-8")
    (lines,) = re.findall(r"```text\n(    cols = .*?)```", text, re.DOTALL)
    template = (scaffold.TEMPLATES / "triton.py.in").read_text(encoding="utf-8")
    head, loops = template.split("    out_ptr += row * out_stride\n")
    _, launch = loops.split("\n\ndef softmax(")
    kernel = f"{head}    out_ptr += row * out_stride\n{lines}\n\ndef softmax({launch}"
    bench = Bench(tmp_path / "project")
    bench.add("faster", kernel)
    assert bench.row("faster", M=4, N=781)["status"] == "interpreted"
