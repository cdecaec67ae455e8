"""Call the CUDA driver: turn its errors into exceptions, and allow calls during a graph capture."""

import contextlib
from collections.abc import Iterator

from cuda.bindings import driver


def checked(answer: tuple, tolerated: tuple[str, ...] = ()) -> tuple:
    """Return the values of a driver call, or () if its error is one of the ``tolerated`` names.

    Raises RuntimeError with the name of any other error.
    """
    error, *values = answer
    if error.name in tolerated:
        return ()
    if error.name != "CUDA_SUCCESS":
        hint = "; free GPU memory" if error.name == "CUDA_ERROR_OUT_OF_MEMORY" else ""
        raise RuntimeError(f"the CUDA driver says {error.name}{hint}")
    return tuple(values)


@contextlib.contextmanager
def outside_a_capture() -> Iterator[None]:
    """Let this thread load modules and allocate memory while a stream is being captured.

    Without it, a driver call that cannot be captured fails and invalidates the capture.
    """
    relaxed = driver.CUstreamCaptureMode.CU_STREAM_CAPTURE_MODE_RELAXED
    (before,) = checked(driver.cuThreadExchangeStreamCaptureMode(relaxed))
    try:
        yield
    finally:
        checked(driver.cuThreadExchangeStreamCaptureMode(before))
