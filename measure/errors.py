"""Define the exceptions that end a point."""

from .status import Status


class PointError(ValueError):
    """Refuse a point; the message says what was given and what is allowed."""


class NoRowError(RuntimeError):
    """Report why no row was written: the pipeline failed, or this is the wrong machine."""


class PointEnded(Exception):
    """End a point with a status other than ok."""

    def __init__(self, status: str, message: str):
        super().__init__(message)
        self.status, self.message = Status(status), message
