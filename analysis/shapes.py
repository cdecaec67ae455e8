"""How M goes with N in some rows: fixed, a multiple of N, M·N constant, or some other way."""

import pandas as pd


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
