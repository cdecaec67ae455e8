"""Define the statuses of a row, and classify the exceptions of kernels."""

from enum import StrEnum


class Status(StrEnum):
    """Name the outcomes of a point, as row.csv lists them."""

    OK = "ok"
    INTERPRETED = "interpreted"
    INCORRECT = "incorrect"
    UNSUPPORTED = "unsupported"
    UNAVAILABLE = "unavailable"
    COMPILE_ERROR = "compile_error"
    OUT_OF_MEMORY = "out_of_memory"
    CRASH = "crash"
    TIMEOUT = "timeout"


# Statuses of kernels that are not faulty; refusing a matrix is a limit, not a fault.
RIGHT = (Status.OK, Status.INTERPRETED, Status.UNSUPPORTED)


def classify(error: BaseException) -> Status:
    """Return the status of a point whose kernel raised ``error``."""
    if out_of_memory(error):
        return Status.OUT_OF_MEMORY
    if isinstance(error, ImportError):  # some packages are imported only by the first call
        return Status.UNAVAILABLE
    # Classes are compared by name, because importing them would need all variants' packages.
    kinds = _kinds(error)
    if "DynamicLibNotFoundError" in kinds:  # cuda-core: NVRTC's or another library is not installed
        return Status.UNAVAILABLE
    if "OutOfResources" in kinds:  # Triton: a block exceeds registers, threads or shared memory
        return Status.UNSUPPORTED
    # PTXASError and the RuntimeError of a pass manager come from later stages of Triton's compiler.
    if kinds & {"CompilationError", "PTXASError", "SyntaxError", "NVRTCError"}:
        return Status.COMPILE_ERROR
    if isinstance(error, RuntimeError) and "PassManager::run failed" in str(error):
        return Status.COMPILE_ERROR
    return Status.CRASH


def out_of_memory(error: BaseException) -> bool:
    """Return whether the device or the host had no memory left."""
    if _kinds(error) & {"OutOfMemoryError", "MemoryError"}:  # the first is torch's
        return True
    # messages of torch on a CPU, and of the driver when it loads a binary or builds a graph
    phrases = ("can't allocate memory", "out of memory", "CUDA_ERROR_OUT_OF_MEMORY")
    return refused_by_gpu(error) and any(phrase in str(error) for phrase in phrases)


def refused_by_gpu(error: BaseException) -> bool:
    """Return whether torch, Triton or cuda-core report GPU errors by this class of exception."""
    return bool(_kinds(error) & {"RuntimeError", "CUDAError"})


def describe(error: BaseException) -> str:
    """Return an exception's type and text, with a hint if a package is missing."""
    missing = _kinds(error) & {"ModuleNotFoundError", "DynamicLibNotFoundError"}
    hint = "; install the package that it needs" if missing else ""
    return f"{type(error).__name__}: {error}{hint}"


def _kinds(error: BaseException) -> set[str]:
    return {kind.__name__ for kind in type(error).__mro__}
