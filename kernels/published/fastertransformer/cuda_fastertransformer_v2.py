"""FasterTransformer's softmax for small batches: one block per row.

Idea: as ``cuda_fastertransformer_v1``, but every row gets its own block, so that few (batch,
head) pairs still fill the GPU.
Bytes: 2·M·N·itemsize, the least possible.
Limits: N up to 1024, the threads of a block; M below 2^31; compute capability 8.0.
Source: NVIDIA FasterTransformer 1.0, described by BBuf (2023), A100-PCIE-40GB.

Performance explained in: docs/explanation/why_kernels_differ.md#small-matrices
"""

import functools

from ._shared import functions, plan_of

plan = functools.partial(plan_of, block_rows=1)
softmax, _, unsupported = functions(plan)
