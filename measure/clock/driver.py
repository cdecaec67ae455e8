"""Read the answers of NVIDIA's driver."""


def unwrap(answer: tuple, unsupported: tuple[str, ...] = ()) -> list:
    """Return the driver's results; none if its error is among ``unsupported``.

    Raises RuntimeError with the name of any other error.
    """
    error, *results = answer
    if error.name in unsupported:
        return []
    if error.name != "CUDA_SUCCESS":
        raise RuntimeError(f"the driver answered {error.name}")
    return results
