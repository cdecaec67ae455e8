"""Ratios of speed with their 95 % confidence intervals.

The variants of one point are timed in different processes, each interleaved with torch.softmax.
Their speed-ups over that common control are compared, not their times: most of what slowed the GPU
in one process (clock, heat, a neighbour) slowed torch as well, and cancels. What does not cancel is
estimated from the spread of the same torch call over the processes of one point. It widens every
interval.
"""

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

NAN = math.nan
BASELINE = "torch_softmax"
Z = 1.96  # standard deviations on each side of a normal 95 % interval


@dataclass(frozen=True)
class Ratio:
    """A ratio of speeds and its 95 % interval; `low` and `high` are NaN when it has none."""

    value: float
    low: float = NAN
    high: float = NAN

    def inverse(self) -> "Ratio":
        """Return 1 / ratio."""
        return Ratio(1 / self.value, 1 / self.high, 1 / self.low)

    def side(self) -> str:
        """Return `above` or `below` 1, or `unclear` when the interval contains 1.

        Without an interval (published tables) the value alone decides.
        """
        low = self.value if math.isnan(self.low) else self.low
        high = self.value if math.isnan(self.high) else self.high
        if low > 1:
            return "above"
        return "below" if high < 1 else "unclear"


def over_torch(row: Mapping) -> Ratio:
    """Return the speed-up of a row over torch.softmax, paired by block within its process.

    Its interval is the row's, widened in quadrature by the row's `between_sd` (see
    analysis.frame). torch.softmax itself is 1 exactly: its row measures the noise of the pairing.
    """
    if row["variant"] == BASELINE:
        return Ratio(1.0, 1.0, 1.0)
    value, low, high = row["speedup"], row["speedup_low"], row["speedup_high"]
    if math.isnan(low):
        return Ratio(value)
    between = Z * row.get("between_sd", 0.0)
    down = math.hypot(math.log(value / low), between)
    up = math.hypot(math.log(high / value), between)
    return Ratio(value, value * math.exp(-down), value * math.exp(up))


def speed_ratio(a: Mapping, b: Mapping) -> Ratio:
    """Return how many times faster row `a` is than row `b` (same point, other variant).

    The quotient of their speed-ups; without speed-ups the ratio of times, without an interval.
    """
    top, bottom = over_torch(a), over_torch(b)
    if math.isnan(top.value) or math.isnan(bottom.value):
        return Ratio(b["time_us"] / a["time_us"])
    return quotient(top, bottom)


def quotient(top: Ratio, bottom: Ratio) -> Ratio:
    """Return `top` over `bottom`, whose noise is independent.

    On the log scale the distances from value to interval end add in quadrature, each end with the
    opposite end of the divisor (MOVER: Donner and Zou, Statistical Methods in Medical Research
    21(4), 2012): ln high = ln(a/b) + sqrt(ln²(a_high/a) + ln²(b/b_low)), and likewise below.
    """
    return _from_logs([top, bottom.inverse()], weight=1.0)


def geometric_mean(ratios: Iterable[Ratio]) -> Ratio:
    """Return the geometric mean of ratios at several sizes.

    The interval is the uncertainty of measuring these sizes (independent processes, quadrature as
    in `quotient`), not the spread between sizes. Raises ZeroDivisionError on no ratios.
    """
    ratios = list(ratios)
    return _from_logs(ratios, weight=1 / len(ratios))


def _from_logs(factors: list[Ratio], weight: float) -> Ratio:
    centre = weight * sum(math.log(r.value) for r in factors)
    down = weight * math.hypot(*(math.log(r.value / r.low) for r in factors))
    up = weight * math.hypot(*(math.log(r.high / r.value) for r in factors))
    return Ratio(math.exp(centre), math.exp(centre - down), math.exp(centre + up))
