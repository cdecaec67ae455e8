"""Student's t, and Benjamini and Hochberg's correction, without scipy."""

import numpy as np

# Degrees of freedom, even. A few processes in a hundred run the same code off by many times the
# typical deviation: tails are heavier than a normal distribution's, though not by much once a
# point's own control counts.
DEGREES = 8
T95 = 2.306  # half-width of the two-sided 95 % interval at 8 degrees, in standard errors


def outside(t: np.ndarray) -> np.ndarray:
    """P(|T| > t) for t >= 0 (Abramowitz and Stegun, 26.7.4, even degrees of freedom)."""
    angle = np.arctan(np.asarray(t, float) / np.sqrt(DEGREES))
    term, total = np.ones_like(angle), np.ones_like(angle)
    for k in range(1, DEGREES // 2):
        term = term * np.cos(angle) ** 2 * (2 * k - 1) / (2 * k)
        total = total + term
    return np.clip(1 - np.sin(angle) * total, 0, 1)


def beyond(value: np.ndarray, error: np.ndarray, margin: float) -> np.ndarray:
    """p of |true value| <= margin, for estimates `value` with standard errors `error`.

    A test for a least relevant effect, after McCarthy and Smyth (Bioinformatics 25(6), 2009): both
    tails, at the edge of the margin.
    """
    upper = (np.abs(value) + margin) / error
    lower = (np.abs(value) - margin) / error
    near = np.where(lower >= 0, outside(np.abs(lower)) / 2, 1 - outside(np.abs(lower)) / 2)
    return np.minimum(near + outside(upper) / 2, 1)


def discoveries(p: np.ndarray, rate: float) -> np.ndarray:
    """Mask of the tests that count when a share `rate` of them may be false.

    Benjamini and Hochberg (J. R. Statist. Soc. B 57(1), 1995): the k smallest, for the largest k
    with p(k) <= rate · k / n.
    """
    p = np.asarray(p, float)
    order = np.argsort(p, kind="stable")
    below = np.flatnonzero(p[order] <= rate * np.arange(1, len(p) + 1) / max(len(p), 1))
    found = np.zeros(len(p), bool)
    if len(below):
        found[order[: below[-1] + 1]] = True
    return found
