"""What OneFlow's three softmax kernels share on the host's side."""

from ...cuda.nvrtc import TYPES, Call, instance

WARP = 32
# OneFlow's: as many times as all threads of the GPU, blocks are started; a block beyond that would
# only add to the cost of starting, as each walks over rows until none is left.
WAVES = 32


MAX_PACK = 4


def pack_of(call: Call) -> int:
    """Elements that OneFlow's kernels move at once."""
    return min(call.pack, MAX_PACK)


def kernel(template: str, call: Call, *arguments: int | bool) -> str:
    """C++ name of a template's instance: element type, Softmax or LogSoftmax, then these."""
    output = "LogSoftmax" if call.log else "Softmax"
    return instance(template, TYPES[call.dtype], output, *arguments)
