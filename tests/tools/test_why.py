"""The page on why kernels differ: its figures come from recorded rows, and links lead into it."""

import re

import pytest
from PIL import Image

from analysis.claims import CLAIMS
from measure import ROOT
from tests.docs.test_commands import anchors
from tools import figures, why

PAGE = ROOT / "docs/explanation/why_kernels_differ.md"
LINK = re.compile(r"docs/explanation/why_kernels_differ\.md#([\w-]+)")


@pytest.mark.parametrize("name", why.FIGURES)
def test_a_figure_is_the_one_that_the_page_shows(name, tmp_path):
    """Its title, which is computed from the rows, is that of the tracked file."""
    _, drawn = why.style.save(why.FIGURES[name](), tmp_path / name)
    with Image.open(drawn) as now, Image.open(figures.SHOWN / f"why/{name}.png") as tracked:
        assert now.text["Title"] == tracked.text["Title"]
        assert now.size == tracked.size
    assert f"figures/why/{name}.png" in PAGE.read_text(encoding="utf-8")


def test_the_bytes_of_a_design_are_those_that_its_file_states():
    """A kernel that reads k times and writes once moves k + 1 matrices."""
    for name, text in {
        "triton_online": "reads 2·M·N, writes M·N",
        "triton_tiled": "reads 3·M·N, writes M·N",
        "torch_naive": "reads 5MN + 2M elements, writes 3MN",
        "triton_fused": "Bytes: 2·M·N·itemsize",
    }.items():
        (file,) = (ROOT / "kernels/published").rglob(f"{name}.py")
        assert text in file.read_text(encoding="utf-8")
        counts = [int(count) for count in re.findall(r"(?:reads|writes) (\d?)", text) if count]
        reads_and_writes = sum(counts) + ("writes M" in text)
        assert why.MATRICES_MOVED[name] == (reads_and_writes or 2)


def test_each_claim_and_each_published_kernel_leads_to_its_paragraph():
    explained = anchors(PAGE)
    assert {claim.explained for claim in CLAIMS} <= explained
    files = [
        path
        for path in (ROOT / "kernels/published").rglob("*.py")
        if not path.name.startswith("_") and path.stem != "torch_logits"
    ]
    assert len(files) > 10
    for path in files:
        (anchor,) = LINK.findall(path.read_text(encoding="utf-8"))
        assert anchor in explained, path


def test_the_tiles_of_the_cache_trick_are_those_of_the_kernels():
    for name, tile in why.TILES.items():
        text = (ROOT / f"kernels/published/{name}.py").read_text(encoding="utf-8")
        (power,) = re.findall(r"^TILE = 2\*\*(\d+)", text, re.MULTILINE)
        assert tile == 2 ** int(power)


def test_the_cache_trick_gains_most_where_the_rows_in_flight_exceed_l2():
    """Both kernels gain there more than at any shorter row of several tiles, as the page says."""
    rows = why.recorded_rows("online_softmax")
    for name in why.TILES:
        gains = why.cache_trick(rows, name).query("tiles > 1")
        beyond = gains["in_flight"] > why.L2_BYTES / 2**20
        assert gains[beyond]["gain"].min() > gains[~beyond]["gain"].max()
        assert gains[beyond].index.min() == {"triton_tiled": 65536, "triton_online": 32768}[name]
