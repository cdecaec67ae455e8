"""What came of the points of a run so far, how long the rest will take, and how to say it."""

from collections import Counter, deque

from measure.row import STATUSES


class Tally:
    """``points`` to measure, then ``steps`` to the report; times in seconds of one clock."""

    def __init__(self, points: int, steps: int, start: float):
        self.points, self.steps, self.start = points, steps, start
        self.statuses: Counter[str] = Counter()
        self.failed, self.steps_done = 0, 0  # failed: points that ended without a row
        # (when, points done then), at most one a second: so many of them make the recent pace
        self._marks = deque([(start, 0)], maxlen=60)

    @property
    def done(self) -> int:
        """Points that have a row now."""
        return self.statuses.total()

    @property
    def remaining(self) -> int:
        """Points that are still to come."""
        return self.points - self.done - self.failed

    def finish(self, status: str, now: float) -> None:
        """A point ended with a row of that status."""
        self.statuses[status] += 1
        if len(self._marks) > 1 and now - self._marks[-1][0] < 1:
            self._marks.pop()
        self._marks.append((now, self.done))

    def left_s(self, now: float) -> float | None:
        """Seconds until the last point is done, by the recent pace; None before the first is."""
        (first, before), (last, after) = self._marks[0], self._marks[-1]
        if after == before or not self.remaining:
            return None
        points = after - before
        # a next one that is later than the pace lets expect counts as if it ended now
        pace = max((last - first) / points, (now - first) / (points + 1))
        return max(0.0, self.remaining * pace - min(now - last, pace))

    def counts(self) -> str:
        """``38 ok, 3 unsupported``: statuses in their usual order, then what failed."""
        order = [*STATUSES, *sorted(set(self.statuses) - set(STATUSES))]
        found = [f"{self.statuses[status]} {status}" for status in order if self.statuses[status]]
        return ", ".join(found + [f"{self.failed} failed"] * bool(self.failed))

    def line(self, now: float, running: list[str]) -> str:
        """How far the run is, in one line, what matters most first; ``running``: oldest first."""
        if self.remaining:
            text = f"{self.done} of {self.points} points ({100 * self.done // self.points} %)"
            left = self.left_s(now)
            parts = [text if left is None else f"{text}, {duration(left)} left", self.counts()]
        else:
            parts = [f"{self.steps_done} of {counted(self.steps, 'step')} to the report"]
        if running:
            more = f" and {len(running) - 1} more" * (len(running) > 1)
            parts.append(f"now {running[0]}{more}")
        return " | ".join(filter(None, parts))

    def result(self, now: float) -> str:
        """What came of the points, when no more will come."""
        words = f"{self.done} of {self.points} points in {duration(now - self.start)}"
        return f"{words}: {counts}" if (counts := self.counts()) else words


def counted(count: int, noun: str) -> str:
    """``1 step``, ``2 steps``."""
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"


def duration(seconds: float) -> str:
    """``45 s``, ``12 min``, ``5 h 20 min``, ``3 d 4 h``."""
    if seconds < 90:
        return f"{max(1, round(seconds))} s"
    minutes = round(seconds / 60)
    if minutes < 90:
        return f"{minutes} min"
    if minutes < 48 * 60:
        return f"{minutes // 60} h {minutes % 60} min"
    return f"{minutes // 1440} d {minutes % 1440 // 60} h"
