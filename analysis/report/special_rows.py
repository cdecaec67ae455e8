"""Which variant is right on which special row: a table for each operation, from rows."""

import re

import pandas as pd

from analysis import palette
from analysis.frame import once
from analysis.markdown import counted, table

SEPARATOR = "; "  # between names, as measure/check/edge_cases.py writes them
RIGHT, WRONG = "special_rows_right", "special_rows_wrong"
# The words of a table that need a note -> the note.
NOTES = {
    "|  |": "An empty cell: no checked row was long enough.",
    "wrong** in ": "“wrong in 2 of 5”: at 2 of the 5 combinations of size, dtype and GPU that "
    "were checked.",
}


def tables(rows: pd.DataFrame) -> str:
    """Return a heading and a table for each operation of which rows name special rows.

    A table has a line for each special row, and a column for each variant, or the other way round
    where there are more variants. Notes come first. Last come the variants that are `incorrect`
    at some point, where no special row is named.
    """
    names_special_rows = (rows[RIGHT] != "") | (rows[WRONG] != "")
    failed = once(rows[(rows["status"] == "incorrect") & (rows["replicate"] == 1)])
    rows = once(rows[names_special_rows])
    if rows.empty:
        return "No recorded row names special rows yet."
    text = "\n\n".join(f"### {op}\n\n{_table(part)}" for op, part in rows.groupby("op"))
    notes = " ".join(note for words, note in NOTES.items() if words in text)
    return "\n\n".join(filter(None, (notes, text, _failed(failed))))


def _failed(rows: pd.DataFrame) -> str:
    """Return at how many points each variant failed the check."""
    if rows.empty:
        return ""
    wrong = ", ".join(
        f"`{name}` at {counted(count, 'point')}"
        for name, count in rows["variant"].value_counts().sort_index().items()
    )
    return f"Not in these tables: kernels that failed the correctness check, {wrong}."


def _table(rows: pd.DataFrame) -> str:
    variants = sorted(set(rows["variant"]), key=palette.order)
    lines = [["special rows", *(f"`{name}`" for name in variants)]]
    named = {
        column: rows.assign(special=rows[column].str.split(SEPARATOR)).explode("special")
        for column in (RIGHT, WRONG)
    }
    right, wrong = (part.groupby(["special", "variant"]).size() for part in named.values())
    for special in _order(rows):
        places = [(special, name) for name in variants]
        cells = (_cell(right.get(place, 0), wrong.get(place, 0)) for place in places)
        lines.append([_label(special), *cells])
    counts = rows["variant"].value_counts()
    lines.append(["checked", *(counted(counts[name], "point") for name in variants)])
    if len(variants) > len(lines):
        lines[0][0] = "kernel"
        lines = [*map(list, zip(*lines, strict=True))]
    return table(lines[0], lines[1:])


def _label(special: str) -> str:
    """Return the name of special rows as a reader expects it: `first 32 logits -inf`."""
    name = re.sub(r"^first (\d+) -inf", r"first \1 logits -inf", special)
    return name.replace("first 1 logits", "first logit")


def _cell(right: int, wrong: int) -> str:
    if not wrong:
        return "right" if right else ""
    return f"**wrong** in {wrong} of {right + wrong}" if right else "**wrong**"


def _order(rows: pd.DataFrame) -> list[str]:
    """Return the names in the order of the checks, which rows without a wrong one have."""
    longest_first = rows.sort_values(RIGHT, key=lambda cells: -cells.str.len(), kind="stable")
    names = pd.concat([longest_first[RIGHT], longest_first[WRONG]]).str.split(SEPARATOR).explode()
    return [name for name in names.unique() if name]
