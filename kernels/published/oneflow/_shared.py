"""Share the host code of OneFlow's three softmax kernels."""

from ...cuda.nvrtc import Call

# OneFlow's limit: blocks for 32 times the threads of the GPU. Each block strides over rows, so more
# blocks would only cost their start.
WAVES = 32
MAX_PACK = 4  # OneFlow's


def pack_of(call: Call) -> int:
    """Return the elements that one load or store moves."""
    return min(call.pack, MAX_PACK)
