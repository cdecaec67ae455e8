"""How M goes with N in some rows: fixed, a multiple of N, M·N constant, or some other way."""

import pandas as pd

# So many sizes, each with an M that no other of the rows has, show that M·N was held constant.
LEAST = 3


def one_m_for_each_n(rows: pd.DataFrame) -> bool:
    """Whether every N of `rows` comes with a single M; True where there are no rows."""
    return bool((rows.groupby("N")["M"].nunique() <= 1).all())


def describe(rows: pd.DataFrame) -> str:
    """The M of `rows` in words, as a rule where there is one; `rows` must not be empty.

    `M = 1024`, `M = 2048·N`, `M·N = 100,663,296` (`≈` where M had to be rounded to a whole row),
    otherwise `M = 96 to 786,432`.
    """
    shapes = rows[["M", "N"]].drop_duplicates()
    m, n = shapes["M"], shapes["N"]
    if m.nunique() == 1:
        return f"M = {m.iloc[0]}"
    if (m % n == 0).all() and (m // n).nunique() == 1:
        return f"M = {(m // n).iloc[0]}·N"
    elements = m * n
    if elements.nunique() == 1:
        return f"M·N = {elements.iloc[0]:,}"
    # A constant rounded to a whole row lies within one row, N elements, of every product.
    if one_m_for_each_n(shapes) and (elements - n).max() <= (elements + n).min():
        # The sizes that divide the constant have it exactly, so it is the most frequent one.
        return f"M·N ≈ {elements.mode().iloc[0]:,}"
    return f"M = {m.min():,} to {m.max():,}"


def by_rule(rows: pd.DataFrame) -> list[pd.DataFrame]:
    """`rows` in parts, in each of which every N has a single M: of one M, or with a constant M·N.

    All of them in one part where every N has a single M, unless several M have several sizes each:
    a line over N would go to and fro between these. Else a part for each constant that many sizes
    of their own M follow, after the parts for each M; rows of an M that has other sizes, too, are
    in both.
    """
    if rows.empty:
        return []
    shapes = rows[["M", "N"]].drop_duplicates()
    lone = shapes[shapes.groupby("M")["N"].transform("size") == 1]
    if one_m_for_each_n(shapes) and (len(lone) or shapes["M"].nunique() == 1):
        return [rows]
    products = []
    while elements := _constant(lone):
        products.append(rows[rows["M"] == elements // rows["N"]])
        lone = lone[lone["M"] != elements // lone["N"]]
    drawn = set().union(*(part.index for part in products))
    by_m = [part for _, part in rows.groupby("M") if not drawn.issuperset(part.index)]
    return by_m + products


def _constant(shapes: pd.DataFrame) -> int | None:
    """The M·N, rounded to whole rows, of the most of these shapes; None where it is chance."""
    products = (shapes["M"] * shapes["N"]).unique()
    following = {e: shapes["M"] == e // shapes["N"] for e in sorted(map(int, products))}
    best = max(following, key=lambda e: following[e].sum(), default=None)
    return best if best and following[best].sum() >= LEAST else None
