"""Blocks: as many as asked for, interleaved in random order, kept whole."""

import itertools
import random

import pytest

from measure.clock import base, sampling
from measure.clock.host import HostClock

NAMES = [base.VARIANT, base.TORCH, base.TORCH_AGAIN, base.COPY]


class FakeClock:
    """Series of 10 µs; a block takes ``block_s`` seconds of the clock's time."""

    def __init__(self, noise, block_s):
        self.noise, self.block_s = noise, block_s
        self.random, self.now, self.orders = random.Random(1), 0.0, []

    def block(self, order, while_busy=None):
        self.now += self.block_s
        self.orders.append(tuple(order))
        return [10 * self.random.gauss(1, self.noise) for _ in order]

    def submit(self, order):
        self.orders.append(tuple(order))
        return [len(self.orders) + NAMES.index(name) / 10 for name in order]


def collect(noise, block_s=0.01):
    clock = FakeClock(noise, block_s)
    return clock, sampling.time_blocks(clock, NAMES, 51, random.Random(7), now=lambda: clock.now)


# All that were asked for; fewer when time is up, but never fewer than an interval needs.
@pytest.mark.parametrize(("block_s", "blocks"), [(0.01, 51), (0.1, 20), (5.0, 6)])
def test_the_number_of_blocks_does_not_depend_on_the_times(block_s, blocks):
    for noise in (0.0, 0.2):
        assert len(collect(noise, block_s=block_s)[1]) == blocks * len(NAMES)


def warm_up_of(speed, max_blocks=1000):
    """Seconds of warm-up when a block takes ``speed(seconds since the start)``."""
    blocks = []  # each lasts 10 ms

    def block():
        blocks.append(None)
        return [speed(len(blocks) / 100)]

    sampling._warm_up(block, max_blocks, lambda: len(blocks) / 100)
    return len(blocks) / 100


def test_the_warm_up_lasts_until_blocks_take_as_long_as_before():
    assert warm_up_of(lambda now: 10.0) == pytest.approx(sampling.WARM_UP_S, abs=0.011)
    settles = warm_up_of(lambda now: 10.0 + 10 * max(0.0, 0.6 - now))
    assert 0.6 < settles < 0.72
    never = warm_up_of(lambda now: 10.0 + 10 * now)
    assert never == pytest.approx(sampling.MAX_WARM_UP_S, abs=0.011)
    assert warm_up_of(lambda now: 10.0 + 10 * now, max_blocks=12) == pytest.approx(0.12, abs=0.011)


def test_every_block_has_every_series_in_an_order_of_its_own():
    clock, samples = collect(noise=0.02)
    assert all(sorted(order) == sorted(NAMES) for order in clock.orders)
    assert len(set(clock.orders)) > 20, "24 orders are possible"
    orders = clock.orders[-51:]  # after the warm-up
    assert [(block, place, name) for block, place, name, _ in samples] == [
        (block, place, name) for block in range(51) for place, name in enumerate(orders[block])
    ]


def test_eager_calls_of_the_variant_and_of_torch_take_turns_in_random_order():
    clock, names = FakeClock(0.0, 0.01), NAMES[:2]
    times = sampling.time_submissions(clock, names, random.Random(7))
    rounds = range(1, sampling.EAGER_ROUNDS + 1)
    assert times == {"variant": [*rounds], "torch": [number + 0.1 for number in rounds]}
    assert {*clock.orders} == {("variant", "torch"), ("torch", "variant")}


# A round takes 60 ms, or 10 s.
@pytest.mark.parametrize(("round_s", "rounds"), [(0.06, 8), (10.0, 6)])
def test_long_kernels_have_fewer_rounds_of_eager_calls_and_enough_for_an_interval(round_s, rounds):
    seconds, clock = itertools.count(0.0, round_s), FakeClock(0.0, 0.01)
    times = sampling.time_submissions(clock, NAMES[:2], random.Random(7), now=lambda: next(seconds))
    assert len(times["torch"]) == rounds


def test_a_cpu_has_no_eager_calls_beside_those_that_are_timed():
    assert sampling.time_submissions(HostClock([]), NAMES[:2], random.Random(7)) == {}
