"""Do 95 % intervals hold the truth 95 % of the time, also when they decide when to stop?"""

import numpy as np
import pytest

from measure.stats import sampling
from tests.marks import slow

TRUE_RATIO = 1.3
SCALE = 0.01  # of the noise: enough that stopping depends on the interval, not on the first look
BLOCKS = 200  # what the budget pays for


def normal(rng):
    return SCALE * rng.standard_normal()


def heavy_tailed(rng):
    """Student's t, and now and then an interruption, which only ever costs time."""
    if rng.random() < 0.02:
        return 20 * SCALE * abs(rng.standard_t(1.5))
    return SCALE * rng.standard_t(2.5)


def two_modes(rng):
    return SCALE * (rng.standard_normal() + (4 if rng.random() < 0.3 else 0))


def skewed(rng):
    return SCALE * rng.exponential()


class NoisyClock:
    """Two series with a known ratio, noise of their own, and a slow drift that both share."""

    def __init__(self, noise, seed):
        self.noise, self.rng = noise, np.random.default_rng(seed)
        self.drift, self.now = 0.0, 0

    def block(self, order, while_busy=None):
        self.now += 1
        self.drift = 0.98 * self.drift + 5 * SCALE * self.rng.standard_normal()
        times = {sampling.VARIANT: 100.0, sampling.TORCH: 100.0 * TRUE_RATIO}
        return [times[name] * np.exp(self.drift + self.noise(self.rng)) for name in order]


def coverage(noise, points: int) -> float:
    """Share of points whose interval holds the ratio: its two noises are alike, so the median."""
    held = 0
    for seed in range(points):
        clock = NoisyClock(noise, seed)
        names = [sampling.VARIANT, sampling.TORCH]
        samples = sampling.collect(clock, names, 0.01, BLOCKS, seed, now=lambda c=clock: c.now)
        interval = samples.ratio(sampling.TORCH, sampling.VARIANT)
        held += interval.low <= TRUE_RATIO <= interval.high
    return held / points


# Points of each kind of noise, and what so many can tell: three standard deviations of the share of
# all four kinds, and of each alone. Few show an interval that is wrong, many one that is not quite
# right.
@pytest.mark.parametrize(
    ("points", "of_all", "of_each"), [(50, 0.047, 0.093), slow(250, 0.02, 0.045)]
)
def test_intervals_hold_the_truth_as_often_as_they_say(points, of_all, of_each):
    by_noise = {n.__name__: coverage(n, points) for n in (normal, heavy_tailed, two_modes, skewed)}
    shares = list(by_noise.values())
    assert np.mean(shares) == pytest.approx(0.95, abs=of_all), by_noise
    assert shares == pytest.approx([0.95] * 4, abs=of_each), by_noise


def test_without_a_shared_drift_nothing_is_left_to_pair():
    """The control of the simulation: unpaired, the drift drowns the ratio."""
    clock = NoisyClock(normal, 1)
    times = np.array([clock.block([sampling.TORCH, sampling.VARIANT]) for _ in range(400)])
    paired = np.std(np.log(times[:, 0] / times[:, 1]))
    unpaired = np.std(np.log(times[:, 0] / np.roll(times[:, 1], 200)))
    assert unpaired > 5 * paired
