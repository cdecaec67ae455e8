"""Flags of rows: which there are, and whether a row that carries some of them ranks."""

import argparse
import difflib
from collections.abc import Collection
from functools import cache
from pathlib import Path

import yaml

CONFIG_SCHEMA = Path(__file__).resolve().parents[1] / "workflow/schemas/config.schema.yaml"

# What keeps a row from ranking where no configuration says so; config.yaml has the same. Beyond L2
# nothing can move its bytes faster than a copy does: such a time is an error of the measurement.
UNRANKED = ("faster_than_copy",)


@cache
def known() -> tuple[str, ...]:
    """Every flag that a row may carry, as the schema of the configuration lists them."""
    schema = yaml.safe_load(CONFIG_SCHEMA.read_text(encoding="utf-8"))
    return tuple(schema["properties"]["unranked_flags"]["items"]["enum"])


def named(flag: str) -> str:
    """`flag`, for argparse; raises ArgumentTypeError when there is no such flag."""
    if flag not in known():
        close = difflib.get_close_matches(flag, known(), n=1, cutoff=0.5)
        hint = f"did you mean {close[0]!r}?" if close else f"allowed: {', '.join(known())}"
        raise argparse.ArgumentTypeError(f"unknown flag {flag!r}; {hint}")
    return flag


def ranked(flags: str, unranked: Collection[str]) -> str:
    """`false` when one of `flags` (separated by blanks) is among `unranked`, else `true`."""
    return "true" if set(flags.split()).isdisjoint(unranked) else "false"
