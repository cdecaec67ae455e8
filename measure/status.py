"""Tell the status of a row, from the exception that a kernel raised."""

from enum import StrEnum


class Status(StrEnum):
    """Name the outcomes of a point, as row.csv allows them."""

    OK = "ok"
    INTERPRETED = "interpreted"
    INCORRECT = "incorrect"
    UNSUPPORTED = "unsupported"
    UNAVAILABLE = "unavailable"
    COMPILE_ERROR = "compile_error"
    OUT_OF_MEMORY = "out_of_memory"
    CRASH = "crash"
    TIMEOUT = "timeout"


class Ended(Exception):
    """End a point with a status other than ok."""

    def __init__(self, status: str, message: str):
        super().__init__(message)
        self.status, self.message = Status(status), message


def classify(error: BaseException) -> Status:
    """Return the status: unsupported means that the kernel asks for more than the device has."""
    if out_of_memory(error):
        return Status.OUT_OF_MEMORY
    if isinstance(error, ImportError):  # packages may be imported as late as in the first call
        return Status.UNAVAILABLE
    # By name, because a variant must not need the packages of another; subclasses count.
    kinds = _kinds(error)
    if "DynamicLibNotFoundError" in kinds:  # cuda-core: NVRTC's or another library is not installed
        return Status.UNAVAILABLE
    if "OutOfResources" in kinds:  # Triton: registers, threads or shared memory of one block
        return Status.UNSUPPORTED
    # PTXASError and the pass manager's RuntimeError refuse later stages of the same kernel.
    if kinds & {"CompilationError", "PTXASError", "SyntaxError", "NVRTCError"}:
        return Status.COMPILE_ERROR
    if isinstance(error, RuntimeError) and "PassManager::run failed" in str(error):
        return Status.COMPILE_ERROR
    return Status.CRASH


def out_of_memory(error: BaseException) -> bool:
    """Return whether the device or the host had no memory left."""
    if _kinds(error) & {"OutOfMemoryError", "MemoryError"}:  # torch's is known by its name
        return True
    # torch on a CPU; a driver that loads a binary or builds a graph
    words = ("can't allocate memory", "out of memory", "CUDA_ERROR_OUT_OF_MEMORY")
    return refused_by_gpu(error) and any(word in str(error) for word in words)


def refused_by_gpu(error: BaseException) -> bool:
    """Return whether torch, Triton or cuda-core raised the exception for the driver."""
    return bool(_kinds(error) & {"RuntimeError", "CUDAError"})


def describe(error: BaseException) -> str:
    """Return the exception's type and text; if a package is missing, also what to do."""
    hint = "; install the package that it needs" if classify(error) == Status.UNAVAILABLE else ""
    return f"{type(error).__name__}: {error}{hint}"


def _kinds(error: BaseException) -> set[str]:
    """Return the names of an exception's class and of its base classes."""
    return {kind.__name__ for kind in type(error).__mro__}
