"""Which rows and lines rank: one environment and board, the newest code, no excluding flag.

A table has a line for each process, or for each variant with the number of its `processes`.
"""

from collections.abc import Iterable, Mapping, Sequence

import pandas as pd

from analysis import schema
from analysis.frame import is_ranked
from analysis.row_files import Row

# This decides between the values of a key: column -> its aggregate over the lines of a value. The
# first column counts most, and the largest wins.
MOST = {"processes": "sum", "started_at": "max"}
NEWEST = {"started_at": "max", "processes": "sum"}
MOST_OF_SWEEP = {"processes": "sum", "of_sweep": "max"}


def mark_ranked(rows: Iterable[Row]) -> pd.DataFrame:
    """Return rows as a frame of text, with schema.RANKING_COLUMNS; they have SOURCE_COLUMNS.

    A row with a flag of schema.UNRANKED does not rank. Within a matrix, only the environment
    with the most rows ranks (schema.ENVIRONMENT), because speed-ups over two versions of torch say
    nothing about each other. Within that, only the newest code of each variant ranks.

    Of the boards of a matrix only the one with most rows ranks; of equal boards, the one with most
    rows of the sweep. Boards of one model differ: at 1024x131072 torch takes 523 µs on one H200 and
    540 µs on another, and the copy takes the same.
    """
    table = pd.DataFrame(list(rows), columns=[*schema.COLLECTED, *schema.COLUMNS], dtype="str")
    excluding = table["flags"].map(
        lambda flags: " ".join(flag for flag in flags.split() if flag in schema.UNRANKED)
    )
    ranked = (excluding == "").map({True: "true", False: "false"})
    table = table.assign(ranked=ranked, unranked_by=excluding, stale="false")
    table = rank_usual_environment(table, schema.SWEEP_MATRIX)
    table = rank_newest_code(table, [*schema.SWEEP_MATRIX, "variant"])
    of_sweep = table[is_ranked(table)].groupby(["sweep", "gpu_uuid"])["gpu_uuid"].transform("size")
    by_board = table.assign(of_sweep=of_sweep)
    is_usual = _are_kept(by_board, schema.SWEEP_MATRIX, ["gpu_uuid"], MOST_OF_SWEEP)
    return exclude(table, ~is_usual, schema.OTHER_BOARD)


def rank_usual_environment(table: pd.DataFrame, key: Sequence[str]) -> pd.DataFrame:
    """Exclude what is not of the environment of most processes of its `key`.

    Of environments with as many processes, the newest counts.
    """
    is_usual = _are_kept(table, key, schema.ENVIRONMENT, MOST)
    return exclude(table, ~is_usual, schema.OTHER_ENVIRONMENT)


def rank_newest_code(
    table: pd.DataFrame, key: Sequence[str], code: Sequence[str] = schema.CODE
) -> pd.DataFrame:
    """Exclude what is not of the newest code of its `key`.

    Of code that is equally new, that of most processes counts.
    """
    return exclude(table, ~_are_kept(table, key, code, NEWEST), schema.OTHER_CODE)


def exclude(table: pd.DataFrame, excluded: pd.Series, reason: str) -> pd.DataFrame:
    """Return `table` with this reason in `unranked_by` of those of the excluded that rank."""
    excluded = excluded & is_ranked(table, any_board=True)
    return table.assign(
        ranked=table["ranked"].mask(excluded, "false"),
        unranked_by=table["unranked_by"].mask(excluded, reason),
    )


def _are_kept(
    table: pd.DataFrame, key: Sequence[str], columns: Sequence[str], order: Mapping[str, str]
) -> pd.Series:
    """Mark the rows that share the winning values of `columns` in their `key`.

    The largest by `order` wins. Rows that do not rank have no say.
    """
    values = table.groupby([*columns], dropna=False).ngroup()
    lines = table.assign(values=values, processes=table.get("processes", 1))
    lines = lines[is_ranked(table, any_board=True)]
    sums = lines.groupby([*key, "values"]).agg(order).reset_index().sort_values([*order])
    winners = sums.drop_duplicates(key, keep="last")[[*key, "values"]]
    winners = table[[*key]].merge(winners, how="left", on=[*key])
    return values == winners["values"].set_axis(table.index)
