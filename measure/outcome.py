"""From an exception that a kernel raised to the status of its row."""

import torch


def status_of(error: BaseException) -> str:
    """compile_error, out_of_memory, unsupported (asks for more than the device has) or crash."""
    if isinstance(error, (torch.OutOfMemoryError, MemoryError)):
        return "out_of_memory"
    kind, text = type(error).__name__, str(error)
    if kind == "OutOfResources":  # Triton: registers, threads or shared memory of one block
        return "unsupported"
    if isinstance(error, RuntimeError) and "can't allocate memory" in text:  # torch on a CPU
        return "out_of_memory"
    # By name, because a variant without Triton must not need it; PTXASError and the pass
    # manager's RuntimeError are compilers refusing later stages of the same kernel.
    if kind in ("CompilationError", "CompileTimeAssertionFailure", "PTXASError"):
        return "compile_error"
    if isinstance(error, RuntimeError) and "PassManager::run failed" in text:
        return "compile_error"
    return "crash"


def message_of(error: BaseException) -> str:
    """The exception's own words, with its type."""
    return f"{type(error).__name__}: {error}"
