"""A variant looks the same everywhere, and unlike any other known one."""

from analysis import palette
from tests.analysis import synthetic


def test_known_variants_and_thirty_unknown_ones_have_different_looks():
    assert set(synthetic.VARIANTS) <= set(palette.KNOWN)
    names = [f"mine_{i}" for i in range(30)]
    found = palette.styles([*names, *palette.KNOWN])
    assert len(set(found.values())) == len(found)
    assert {name: found[name] for name in palette.KNOWN} == palette.KNOWN


def test_other_projects_have_colours_of_their_own():
    owner = {}
    for name, style in [*palette.KNOWN.items(), *(("mine", style) for style in palette.OTHERS)]:
        project = name.split("__")[0] if name.startswith("peer_") else "this"
        assert owner.setdefault(style.colour, project) == project
