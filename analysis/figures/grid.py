"""Small multiples: where panels of one size, and the key to all of them, stand on a page."""

import math
from dataclasses import dataclass

from analysis.figures.page import DOUBLE

# Inches: left of the panels, above each (title and strip), between two, below each (sizes), and of
# a line of the key; the most of one panel, and of all together: what fits on a page.
LEFT, ABOVE, BETWEEN, BELOW, KEY = 0.55, 0.46, 0.16, 0.36, 0.14
HIGHEST, PAGE = 1.2, 8.6
ACROSS = 3  # panels
KEYS = 4  # columns of the key below the panels


@dataclass(frozen=True)
class Grid:
    """Places of `panels` panels, and of a key with `keys` entries; all in inches."""

    panels: int
    keys: int

    @property
    def size(self) -> tuple[float, float]:
        """Width and height of one panel."""
        height = PAGE / self._rows - ABOVE - BELOW
        return (DOUBLE - LEFT) / ACROSS - BETWEEN, min(HIGHEST, height)

    def place(self, i: int) -> tuple[float, float]:
        """Upper left corner of panel `i`."""
        width, height = self.size
        x, y = i % ACROSS * (width + BETWEEN), i // ACROSS * (ABOVE + height + BELOW)
        return LEFT + x, ABOVE + y

    def leftmost(self, i: int) -> bool:
        """Whether no panel is left of panel `i`."""
        return i % ACROSS == 0

    def lowest(self, i: int) -> bool:
        """Whether no panel is below panel `i`."""
        return i + ACROSS >= self.panels

    @property
    def key(self) -> tuple[float, float, int]:
        """Upper left corner of the key, and its columns: beside the last panel, or below all."""
        if free := -self.panels % ACROSS:
            return *self.place(self.panels), free
        return LEFT, self._bottom + 0.15, KEYS

    @property
    def height(self) -> float:
        """Of everything."""
        _, top, columns = self.key
        return max(self._bottom, top + math.ceil(self.keys / columns) * KEY) + 0.1

    @property
    def _rows(self) -> int:
        return max(1, math.ceil(self.panels / ACROSS))

    @property
    def _bottom(self) -> float:
        return self._rows * (ABOVE + self.size[1] + BELOW)
