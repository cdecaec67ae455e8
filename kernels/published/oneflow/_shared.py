"""Share the host code of OneFlow's three softmax kernels."""

from ...cuda.nvrtc import TYPES, Call, instance

# OneFlow's limit: blocks for 32 times the threads of the GPU. Each block strides over rows, so more
# blocks would only cost their start.
WAVES = 32
MAX_PACK = 4  # OneFlow's


def pack_of(call: Call) -> int:
    """Return the elements that one load or store moves."""
    return min(call.pack, MAX_PACK)


def kernel(template: str, call: Call, *arguments: int | bool) -> str:
    """Return the C++ name of an instance: element type, epilogue, then ``arguments``."""
    output = "LogSoftmax" if call.log else "Softmax"
    return instance(template, TYPES[call.dtype], output, *arguments)
