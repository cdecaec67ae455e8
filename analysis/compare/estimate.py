"""Estimate the change between two processes at one point, and that of unchanged code."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from analysis.compare.runs import COPY, TORCH, VARIANT

RESAMPLES = 1000  # a standard error needs fewer than the end of an interval
SHORT_US = 10  # as in the report: what a launch varies by weighs most on shorter calls
MAD_TO_SD = 1.4826  # of a normal distribution
MIN_POINTS = 8  # points, for a median deviation to mean something
# Least relative deviation: a tenth of the default margin, because a smaller one changes no verdict,
# and controls that are equal by chance must not make one. UNKNOWN, with too few controls: it still
# leaves room for an interval within the default margin.
MINIMUM, UNKNOWN = 0.001, 0.003
OUTLIER = 3  # standard deviations: the usual place to stop taking a deviation for noise
# How often one of torch and the copy must be as long as the other, and how alike they must have
# moved, to tell a fixed time per call from a drift, and from noise.
LENGTH_RATIO, ALIKE = 1.5, 2.0


@dataclass(frozen=True)
class Change:
    """ln(old time / new time) at one point: above 0 is faster.

    `paired` is that of the speed-ups over torch, `plain` that of the times, each with its standard
    error within the processes and with its control, the change of unchanged code (_controls). The
    times are medians. If torch and the copy both moved by the same time per call, `fixed_us`, it
    and the remaining drift are removed from `paired` (_beside_fixed); else `fixed_us` is 0.
    """

    paired: float
    paired_se: float
    plain: float
    plain_se: float
    paired_control: float
    plain_control: float
    torch_us: float
    time_us_old: float
    time_us_new: float
    fixed_us: float


def change(old: pd.DataFrame, new: pd.DataFrame) -> Change:
    """Return the change between two processes, from their blocks (see runs.Run); deterministic."""
    plain, plain_se = _difference(np.log(old[VARIANT]), np.log(new[VARIANT]))
    medians = (new[TORCH].median(), old[VARIANT].median(), new[VARIANT].median())
    paired_control, plain_control = _controls(old, new)
    if _fixed_alone_moved(old, new):
        paired, paired_se, paired_control, fixed = _beside_fixed(old, new)
    else:
        paired, paired_se = _difference(_speedup(new, VARIANT), _speedup(old, VARIANT))
        fixed = 0.0
    controls = paired_control, plain_control
    return Change(paired, paired_se, plain, plain_se, *controls, *medians, fixed)


def between(controls: Sequence[float], torch_us: Sequence[float]) -> np.ndarray:
    """Return the standard deviation between two processes, per point.

    `controls` is ln(old / new) of unchanged code at each point, NaN for unknown. The floor is its
    typical size, 1.4826 · median |control|: around 0, for a common drift to count too, and
    separately for short and long calls where there are MIN_POINTS of each. A point whose control is
    larger than OUTLIER floors gets that control instead.
    """
    controls, short = np.abs(np.asarray(controls, float)), np.asarray(torch_us) <= SHORT_US
    known = ~np.isnan(controls)
    floor = np.full(len(controls), _typical(controls[known]))
    for length in (short, ~short):
        if (length & known).sum() >= MIN_POINTS:
            floor[length] = _typical(controls[length & known])
    return np.where(controls > OUTLIER * floor, controls, floor)


def _fixed_alone_moved(old: pd.DataFrame, new: pd.DataFrame) -> bool:
    """Return whether torch and the copy, of different lengths, moved by the same time per call.

    On hosts with several GPUs every kernel of some processes takes 0.35 µs longer, whatever its
    length (docs/measurement.md). A drift would move the longer of the two by more.
    """
    if COPY not in old or COPY not in new:
        return False
    lengths = [old[name].median() for name in (TORCH, COPY)]
    moved = [new[name].median() - old[name].median() for name in (TORCH, COPY)]
    apart = max(lengths) >= LENGTH_RATIO * min(lengths)
    alike = moved[1] != 0 and 1 / ALIKE <= moved[0] / moved[1] <= ALIKE
    as_time = abs(moved[0] - moved[1]) / max(lengths)
    as_drift = abs(moved[0] / lengths[0] - moved[1] / lengths[1])
    return bool(apart and alike and as_time < as_drift)


def _beside_fixed(old: pd.DataFrame, new: pd.DataFrame) -> tuple[float, float, float, float]:
    """Return, as in Change: paired, its standard error, its control, and fixed_us.

    The old time is converted to the new process by the drift and the time per call by which both
    torch and the copy moved.
    """
    before, after = _resampled(old, 0), _resampled(new, 1)
    torch, copy = (after[name] - before[name] for name in (TORCH, COPY))
    drift = (torch - copy) / (before[TORCH] - before[COPY])
    fixed = copy - drift * before[COPY]
    values = np.log((before[VARIANT] * (1 + drift) + fixed) / after[VARIANT])
    error = float(np.std(values[1:], ddof=1))
    return float(values[0]), error, -float(np.log1p(drift[0])), float(fixed[0])


def _resampled(blocks: pd.DataFrame, seed: int) -> dict[str, np.ndarray]:
    """Return the median of each series, then those of resampled blocks, the same for all series."""
    times = {name: blocks[name].to_numpy() for name in (VARIANT, TORCH, COPY)}
    return {name: np.append(np.median(t), _medians(t, seed)) for name, t in times.items()}


def _controls(old: pd.DataFrame, new: pd.DataFrame) -> tuple[float, float]:
    """Return the change of unchanged code, for a paired and for a plain ratio.

    Plain: the change of the copy; NaN without one. Paired: the lesser of the changes of torch and
    of torch over the copy. A shift of the copy alone is ignored; a shift of torch alone counts.
    """
    torch = _moved(old[TORCH], new[TORCH])
    if COPY not in old or COPY not in new:
        return torch, math.nan
    beside = _moved(old[TORCH] / old[COPY], new[TORCH] / new[COPY])
    return min(torch, beside, key=abs), _moved(old[COPY], new[COPY])


def _moved(old: pd.Series, new: pd.Series) -> float:
    return float(np.log(old).median() - np.log(new).median())


def _typical(controls: np.ndarray) -> float:
    if len(controls) == 0:
        return UNKNOWN
    least = MINIMUM if len(controls) >= MIN_POINTS else UNKNOWN
    return max(least, MAD_TO_SD * float(np.median(controls)))


def _speedup(blocks: pd.DataFrame, series: str) -> pd.Series:
    return np.log(blocks[TORCH] / blocks[series])


def _difference(top: pd.Series, bottom: pd.Series) -> tuple[float, float]:
    """Return the difference of two medians and its standard error, each side resampled."""
    resampled = [_medians(values.to_numpy(), seed) for seed, values in enumerate((top, bottom))]
    value = float(top.median() - bottom.median())
    return value, float(np.std(resampled[0] - resampled[1], ddof=1))


def _medians(values: np.ndarray, seed: int) -> np.ndarray:
    picks = np.random.default_rng(seed).integers(0, len(values), (RESAMPLES, len(values)))
    return np.median(values[picks], axis=1)
