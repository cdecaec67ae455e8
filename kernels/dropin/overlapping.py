"""Keep something replaced for as long as one of several objects asks for it."""

import abc
import contextlib
import threading


class Overlapping(contextlib.AbstractContextManager, abc.ABC):
    """Ask for a replacement until ``undo()``, or until the end of the ``with`` statement.

    Several objects may ask for one replacement, in threads, and end in any order: it lasts until
    none asks. An object may be used again, and in several ``with`` statements at a time.
    """

    _lock = threading.RLock()

    def __init__(self):
        self._depth = 0  # open `with` statements
        self._begin()

    @property
    @abc.abstractmethod
    def _active(self) -> list:
        """All objects that ask for the same."""

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
                self.undo()  # nobody has the object, so nobody else could
                raise

    def undo(self) -> None:
        """Ask no longer; what nobody asks for any more is as it was before."""
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
