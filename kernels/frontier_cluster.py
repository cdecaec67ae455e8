"""A row in the shared memory of the blocks of a cluster.

Idea: ``frontier_shared``'s blocks, up to 16 of them for a row. Each finds the maximum and the sum
of its share and writes them into every other's shared memory, so that one barrier of the cluster
is all that they wait for. The barrier before it, after which blocks may write to each other, is
arrived at before the loads and waited for after them.
Bytes: 2·M·N·itemsize, the least possible.
Limits: what the shared memory of 16 blocks holds: N up to about 420,000 in float32 where two blocks
are to be resident, twice that with one, and twice as many in 16 bits; compute capability 9.0.
Source: clusters and the order of barriers as QuACK (Dao-AILab) explains them.
"""

import functools

from . import _cuda
from ._frontier import in_shared
from ._nvrtc import Call, Spec

ON_REQUEST = True  # a part of ``frontier``, which is measured by default

CLUSTERS = (2, 4, 8, 16)  # blocks
# r: blocks of a multiprocessor that there is to be room for, which makes shares small and clusters
# large. w: warps of a block.
FORMS = ("r1w8", "r1w16", "r2w8", "r2w16", "r3w8", "r4w8")
FORM = "r2w16"


def specialise(call: Call, form: str = FORM) -> tuple[Spec, ...]:
    """The instance for a row of this length; see ``_nvrtc.Specialise``."""
    resident, warps = int(form[1]), int(form[3:])
    return in_shared(call, warps, CLUSTERS, resident)


in_form = functools.partial(_cuda.functions, specialise)
softmax, log_softmax, unsupported = in_form(FORM)[:3]
