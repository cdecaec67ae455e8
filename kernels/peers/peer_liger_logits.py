"""Liger-Kernel's cross-entropy and token log-probabilities in Triton: one program per row.

Idea: a program reads its row in blocks, of up to 32768 for the loss and of 2048 for a token, and
rescales its sum by each new maximum.
Bytes: M·N·itemsize, the least possible.
Limits: NVIDIA GPUs here. M up to 65535, as rows of the log-probabilities are the second dimension
of a launch; a kernel for these is compiled for every M and N, and takes contiguous x. The loss
overwrites the logits of ignored rows with 0. A block of -inf at the beginning of a row makes its
value NaN (-inf - -inf). Liger's own function of the loss waits for the GPU to count targets, so it
cannot be recorded in a CUDA graph, and rounds losses to the dtype of x; with a gradient it
overwrites x. This variant calls the kernels with Liger's settings, for losses in float32 alone.
Source: Liger-Kernel (linkedin/Liger-Kernel), liger_kernel/ops/cross_entropy.py and grpo_loss.py.
Use: ``pip install liger-kernel``; ``from liger_kernel.transformers.functional import
liger_cross_entropy``; ``from liger_kernel.ops.grpo_loss import fused_selective_log_softmax``.
"""

from torch import Tensor

from ..tensors import new_row_values
from . import _package

ON_REQUEST = True  # another project's kernel, from an optional package

# peft, whose absence Liger allows for, imports transformers, which takes 10 s.
with _package.optional_package(), _package.without("peft"):
    # torch's compiler, which they import, would take 4 s
    _package.skip_init("liger_kernel", "liger_kernel.ops")
    # globals of this module, because rows read registers from there
    from liger_kernel.ops.cross_entropy import MAX_FUSED_SIZE, liger_cross_entropy_kernel
    from liger_kernel.ops.grpo_loss import _selective_log_softmax_kernel
    from liger_kernel.utils import infer_device_arch

MAX_ROWS = 65535  # blocks of a launch in its second dimension
IGNORE_INDEX = -100
TOKEN_SETTINGS = {"BLOCK_N": 2048, "num_stages": 4, "num_warps": 1}  # grpo_loss.py has these.


def unsupported(x: Tensor) -> str | None:
    """Return None, or why Liger cannot take x."""
    if len(x) > MAX_ROWS:
        return f"M = {len(x)}: Liger launches a block for each row, at most {MAX_ROWS}"
    return _package.unsupported(x)


def cross_entropy(x: Tensor, target: Tensor, out: Tensor | None = None) -> Tensor:
    """Return the loss of each row with its ``target`` (M,), (M,)."""
    (rows, cols), out = x.shape, (new_row_values(x) if out is None else out).zero_()
    block = min(MAX_FUSED_SIZE, 1 << (cols - 1).bit_length())
    is_blackwell = infer_device_arch().startswith("blackwell")
    liger_cross_entropy_kernel[(rows,)](
        X_ptr=x,
        X_stride=x.stride(0),
        Y_ptr=target,
        Y_stride=target.stride(0),
        weight_ptr=None,
        loss_ptr=out,
        z_loss_ptr=None,
        loss_stride=out.stride(0),
        token_accuracy_ptr=None,
        token_accuracy_stride=0,
        predicted_tokens_ptr=None,
        predicted_tokens_stride=0,
        n_cols=cols,
        n_non_ignore=rows,  # the divisor of a mean
        sum_non_ignore_weight=rows,
        ignore_index=IGNORE_INDEX,
        weight_sum=0.0,
        lse_square_scale=0.0,
        label_smoothing=0.0,
        reduction="none",
        softcap=None,
        RETURN_Z_LOSS=False,
        RETURN_TOKEN_ACCURACY=False,
        RETURN_PREDICTED_TOKENS=False,
        BLOCK_SIZE=block,
        HAS_WEIGHT=False,
        HAS_SOFTCAPPING=False,
        HAS_GRADIENTS=False,
        num_warps=8 if x.element_size() == 2 and is_blackwell else 32,
    )
    return out


def token_log_prob(x: Tensor, index: Tensor, out: Tensor | None = None) -> Tensor:
    """Return log(softmax) of the element at ``index`` (M,) of each row, (M,)."""
    (rows, cols), out = x.shape, new_row_values(x) if out is None else out
    no_mask, temperature, one_sequence = None, 1.0, 0
    _selective_log_softmax_kernel[(1, rows)](
        *(x.contiguous(), index, out, no_mask, temperature),
        *(one_sequence, index.stride(0), 0, 0, rows, cols),
        **TOKEN_SETTINGS,
    )
    return out
