"""Compute values of rows of logits, which write no matrix, and their gradients, which write one."""

from typing import NamedTuple

from torch import Tensor

NO_INDEX = -(2**63)  # no target has this value, so no row is ignored


class RowOptions(NamedTuple):
    """Hold what a call computes, apart from its tensors."""

    operation: str  # Name of a struct in logit_arguments.cuh.
    temperature: float = 1.0
    ignore_index: int = NO_INDEX  # Target whose rows have loss and gradient 0.
    label_smoothing: float = 0.0  # Only a loss has it.
    z_loss: float = 0.0  # A loss grows by z_loss * logsumexp**2.


class RowTensors(NamedTuple):
    """Hold the tensors of a call, of which x alone has a gradient."""

    x: Tensor  # (M, N), of any row stride, with adjacent columns
    index: Tensor | None = None  # int64, contiguous, K columns for each row
    temperature: Tensor | None = None  # float32 (M,), in place of ``RowOptions.temperature``
    row_mask: Tensor | None = None  # bool (M,): False where values and gradients are 0
