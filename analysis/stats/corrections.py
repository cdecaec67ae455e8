"""Correct p-values for the number of comparisons."""

from collections.abc import Iterable

import numpy as np


def holm(p: Iterable[float]) -> np.ndarray:
    """Return p-values adjusted for the family-wise error rate (Holm, Scand. J. Stat. 6, 1979)."""
    p, order, rank = _sorted(p)
    adjusted = np.maximum.accumulate(p[order] * (len(p) - rank + 1))
    return np.minimum(adjusted, 1)[np.argsort(order)]


def benjamini_hochberg(p: Iterable[float]) -> np.ndarray:
    """Return p-values adjusted for the false-discovery rate (J. R. Stat. Soc. B 57, 1995)."""
    p, order, rank = _sorted(p)
    adjusted = np.minimum.accumulate((p[order] * len(p) / rank)[::-1])[::-1]
    return np.minimum(adjusted, 1)[np.argsort(order)]


def _sorted(p: Iterable[float]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return p-values, the order that sorts them, and the ranks 1 … n."""
    p = np.asarray(list(p), float)
    return p, np.argsort(p, kind="stable"), np.arange(1, len(p) + 1)
