"""TRL's token log-probabilities, entropies, and gradient in Triton: one program per row.

Idea: a program reads its row in blocks of 1024, and rescales two sums by each new maximum. The
entropy is computed in any case. For the gradient a program handles a block of 1024 elements.
Bytes: M·N·itemsize for values, 2·M·N·itemsize for the gradient, the least possible.
Limits: NVIDIA GPUs here. A kernel is compiled for every N. A block of -inf at the beginning of a
row makes its values NaN (-inf - -inf), and one -inf makes its entropy NaN (0 · -inf). This variant
calls the kernels with TRL's settings; TRL's own function allocates what they write. The gradient
needs the log of a row's sum, which a further kernel adds up from what this project's forward saves.
Source: TRL (huggingface/trl), trl/kernels/logprob_entropy.py. The kernels need none of the
package's dependencies, so ``make peers`` installs it alone.
Use: ``pip install trl``; ``from trl.kernels.logprob_entropy import
selective_log_softmax_and_entropy``.
"""

from torch import Tensor

from ..tensors import empty_output, new_row_values
from . import _package
from ._package import unsupported as unsupported  # the only limit is a GPU

ON_REQUEST = True  # another project's kernel, from an optional package

with _package.optional_package():
    # the package would import transformers
    _package.skip_init("trl", "trl.kernels")
    # globals of this module, because rows read registers from there
    from trl.kernels.logprob_entropy import _BLOCK_SIZE, _backward_kernel, _forward_kernel

NO_BATCH = 0  # stride of the dimension before that of rows, and of a mask that is not read


def _settings(x: Tensor) -> dict:
    rows, cols = x.shape
    return {
        "n_cols": cols,
        "rows_per_batch": rows,
        "TEMPERATURE": 1.0,
        "HAS_MASK": False,
        "BLOCK_SIZE": _BLOCK_SIZE,
    }


def token_log_prob_entropy(
    x: Tensor, index: Tensor, out: tuple[Tensor, Tensor] | None = None
) -> tuple[Tensor, Tensor]:
    """Return log(softmax) of the element at ``index`` (M,), and each row's entropy, (M,) each."""
    log_prob, entropy = out = out or (new_row_values(x), new_row_values(x))
    log_sum, mean = new_row_values(x), new_row_values(x)
    strides = NO_BATCH, x.stride(0), NO_BATCH, index.stride(0), NO_BATCH, NO_BATCH
    _forward_kernel[(len(x),)](
        x, index, index, log_prob, entropy, log_sum, mean, *strides, **_settings(x)
    )
    return out


def token_log_prob(x: Tensor, index: Tensor, out: Tensor | None = None) -> Tensor:
    """Return log(softmax) of the element at ``index`` (M,) of each row, (M,)."""
    log_prob = new_row_values(x) if out is None else out
    return token_log_prob_entropy(x, index, (log_prob, new_row_values(x)))[0]


def token_log_prob_backward(
    g: Tensor, x: Tensor, index: Tensor, maximum: Tensor, log_sum: Tensor, out: Tensor | None = None
) -> Tensor:
    """Return g · (1[n = index] - softmax(x)), (M, N)."""
    dx, log_z = empty_output(x, out), maximum + log_sum
    strides = NO_BATCH, x.stride(0), NO_BATCH, index.stride(0), NO_BATCH, NO_BATCH
    blocks = -(-x.shape[1] // _BLOCK_SIZE)
    # the mask, the expected logit and the gradient with respect to the entropy are not read
    _backward_kernel[(len(x), blocks)](
        *(x, index, index, log_z, log_z, g, g, dx),
        *(*strides, NO_BATCH, dx.stride(0)),
        **_settings(x),
        HAS_LOGPROB_GRAD=True,
        HAS_ENTROPY_GRAD=False,
    )
    return dx
