"""Keep a replacement in force for as long as at least one of several objects asks for it."""

import abc
import contextlib
import threading


class Overlapping(contextlib.AbstractContextManager, abc.ABC):
    """Ask for a replacement until ``undo()``, or until the end of the ``with`` statement.

    Several objects, in several threads, may ask for the same replacement and end in any order; it
    lasts until the last one ends. An object may be reused, also in nested ``with`` statements.
    """

    _lock = threading.RLock()

    def __init__(self):
        self._depth = 0  # open `with` statements
        self._begin()

    @property
    @abc.abstractmethod
    def _active(self) -> list:
        """All objects that ask for the same replacement."""

    @abc.abstractmethod
    def _apply(self) -> None:
        """Bring about what ``_active`` asks for."""

    def _begin(self) -> None:
        with self._lock:
            if self in self._active:
                return
            self._active.append(self)
            try:
                self._apply()
            except BaseException:
                self.undo()  # the constructor fails, so no caller could do it
                raise

    def undo(self) -> None:
        """Stop asking. If nobody else asks either, the original is restored."""
        with self._lock:
            if self in self._active:
                self._active.remove(self)
                self._apply()

    def __enter__(self) -> "Overlapping":
        with self._lock:
            self._depth += 1
            self._begin()
        return self

    def __exit__(self, *error) -> None:
        with self._lock:
            self._depth -= 1
            if not self._depth:
                self.undo()
