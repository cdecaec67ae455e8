"""The gallery and the README show pictures that exist, and `make docs` makes them."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
GALLERY = (ROOT / "docs/gallery.md").read_text()
SHOWN = re.findall(r"^!\[.+\]\(figures/(\w+)\.png\)$", GALLERY, flags=re.MULTILINE)


def made():
    """The figures that `make docs` copies."""
    text = (ROOT / "Makefile").read_text().replace("\\\n", " ")
    values = dict(re.findall(r"^(ONLINE|SHOWN) := (.+)$", text, flags=re.MULTILINE))
    return values["SHOWN"].replace("$(ONLINE)", values["ONLINE"]).split()


def test_every_picture_of_the_gallery_is_made_and_no_other():
    assert SHOWN
    assert sorted(SHOWN) == sorted(made())


@pytest.mark.parametrize("name", SHOWN)
def test_a_picture_is_there_and_small(name):
    content = (ROOT / f"docs/figures/{name}.png").read_bytes()
    assert content.startswith(b"\x89PNG")
    assert len(content) < 250_000


def test_each_command_redraws_the_picture_above_it():
    parts = re.split(r"^```\n", GALLERY, flags=re.MULTILINE)
    drawn = [re.search(r"results/figures/(\w+)\.png\b", part.strip()) for part in parts[1::2]]
    commands = [found.group(1) for found in drawn if found]
    assert set(commands) <= set(SHOWN)
    assert "overview" in commands
    for name in commands:
        before = GALLERY[: GALLERY.index(f"results/figures/{name}.png")]
        assert f"figures/{name}.png)" in before


def test_pictures_of_the_readme_are_there():
    shown = re.findall(r"!\[[^]]+\]\((docs/figures/\S+)\)", (ROOT / "README.md").read_text())
    assert len(shown) >= 3
    assert all((ROOT / path).is_file() for path in shown)
