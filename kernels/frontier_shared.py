"""A row in the shared memory of a block.

Idea: each warp has the copy engine bring its share of a row into shared memory, with one
instruction, and waits for it by a barrier that counts bytes; the row costs no registers, so that
several blocks are resident and one's loads overlap with another's sums and stores. Maximum and sum
are joined as in ``frontier_rows``. Rows that do not begin at a multiple of 16 bytes are brought
with what surrounds them, and the output is written by its own aligned words.
Bytes: 2·M·N·itemsize, the least possible.
Limits: what the shared memory of a block holds, N up to about 57,000 in float32 and twice that in
16 bits; compute capability 9.0.
Source: the copy engine as in the PTX ISA (cp.async.bulk, mbarrier).
"""

import functools

from . import _cuda
from ._frontier import in_shared
from ._nvrtc import Call, Spec

ON_REQUEST = True  # a part of ``frontier``, which is measured by default

FORMS = ("w4", "w8", "w16")  # w: warps of a block
FORM = "w16"


def specialise(call: Call, form: str = FORM) -> tuple[Spec, ...]:
    """The instance for a row of this length; see ``_nvrtc.Specialise``."""
    return in_shared(call, int(form[1:]), (1,), resident=1)


in_form = functools.partial(_cuda.functions, specialise)
softmax, log_softmax, unsupported = in_form(FORM)[:3]
