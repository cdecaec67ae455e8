"""A variant looks the same everywhere, and unlike any other known one."""

import subprocess
import sys

from analysis import palette
from tests.analysis import synthetic


def test_known_variants_have_different_looks():
    assert len(set(palette.KNOWN.values())) == len(palette.KNOWN)
    assert set(synthetic.VARIANTS) <= set(palette.KNOWN)


def test_an_unknown_variant_never_looks_like_a_known_one():
    known = set(palette.KNOWN.values())
    assert all(palette.style(f"mine_{i}") not in known for i in range(500))


def test_relatives_share_the_colour_and_not_the_marker():
    plain, relative = palette.style("triton_online"), palette.style("triton_online_nocache")
    assert plain.colour == relative.colour
    assert plain.marker != relative.marker


def test_the_look_of_an_unknown_variant_does_not_change_between_processes():
    program = "from analysis import palette; print(palette.style('mine'))"
    seen = {
        subprocess.run(
            [sys.executable, "-c", program],
            env={"PYTHONHASHSEED": seed, "PYTHONPATH": ":".join(sys.path)},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed in ("1", "2")
    }
    assert seen == {f"{palette.style('mine')}\n"}


def test_thirty_unknown_variants_are_all_different_and_unlike_known_ones():
    names = [f"mine_{i}" for i in range(30)]
    found = palette.styles([*names, *palette.KNOWN])
    assert len(set(found.values())) == len(found)
    assert {name: found[name] for name in palette.KNOWN} == palette.KNOWN


def test_more_variants_than_styles_still_have_one_each():
    names = [f"mine_{i}" for i in range(len(palette.OTHERS) + 5)]
    found = palette.styles(names)
    assert set(found) == set(names)
    assert set(found.values()) == set(palette.OTHERS)


def test_the_order_of_names_does_not_matter():
    names = [f"mine_{i}" for i in range(30)]
    assert palette.styles(names) == palette.styles(reversed(names))


def test_the_first_of_each_family_has_a_marker_of_its_own():
    families = {style.colour: style.marker for style in reversed(palette.KNOWN.values())}
    del families[palette.GREY]  # the other two of torch
    assert len(set(families.values())) == len(families)
