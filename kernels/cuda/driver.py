"""Turn the errors of the CUDA driver into exceptions."""

from cuda.bindings.driver import CUresult


def checked(answer: tuple) -> tuple:
    """Return the values of a driver call. Raises RuntimeError if it failed."""
    error, *values = answer
    if error != CUresult.CUDA_SUCCESS:
        hint = "; free GPU memory" if error == CUresult.CUDA_ERROR_OUT_OF_MEMORY else ""
        raise RuntimeError(f"the CUDA driver says {error.name}{hint}")
    return tuple(values)
