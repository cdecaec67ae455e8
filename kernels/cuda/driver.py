"""Turn the errors of the CUDA driver into exceptions."""


def checked(answer: tuple, tolerated: tuple[str, ...] = ()) -> tuple:
    """Return the values of a driver call; none if its error is among the ``tolerated`` names.

    Raises RuntimeError with the name of any other error.
    """
    error, *values = answer
    if error.name in tolerated:
        return ()
    if error.name != "CUDA_SUCCESS":
        hint = "; free GPU memory" if error.name == "CUDA_ERROR_OUT_OF_MEMORY" else ""
        raise RuntimeError(f"the CUDA driver says {error.name}{hint}")
    return tuple(values)
