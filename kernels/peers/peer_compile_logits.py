"""torch.compile of torch's functions on logits, with static shapes.

Idea: Inductor fuses what it can of ``torch_logits``. It reads a long row for the maximum and the
sum together; for the entropy, and for loss and gradient in one call, it reads the row again.
Bytes: M·N·itemsize for logsumexp, log-probabilities and losses, 2·M·N·itemsize for the entropy and
for gradients, and 3·M·N·itemsize for loss and gradient, less what the caches serve.
Limits: as ``peer_compile``.
Source: PyTorch's own compiler, in its default mode.
Use: ``torch.compile`` of your function of the logits, with ``dynamic=False``.
"""

from collections.abc import Callable

import torch

from ..published import torch_logits
from ._package import unsupported as unsupported  # the only limit is a GPU
from .peer_compile import compiled

ON_REQUEST = True  # another project's kernel


def _compiled_like(function: Callable) -> Callable:
    """Return the function of a variant that computes ``function`` of torch_logits."""

    count = function.__code__.co_argcount - 1  # the number of inputs

    def run(*inputs_and_out: torch.Tensor | tuple | None, out=None):
        inputs, out = inputs_and_out[:count], (*inputs_and_out[count:], out)[0]
        result = compiled(function, "")(*inputs, out)
        return result if out is None else out

    return run


logsumexp = _compiled_like(torch_logits.logsumexp)
token_log_prob = _compiled_like(torch_logits.token_log_prob)
token_log_prob_entropy = _compiled_like(torch_logits.token_log_prob_entropy)
cross_entropy = _compiled_like(torch_logits.cross_entropy)
token_log_prob_backward = _compiled_like(torch_logits.token_log_prob_backward)
cross_entropy_backward = _compiled_like(torch_logits.cross_entropy_backward)
cross_entropy_and_gradient = _compiled_like(torch_logits.cross_entropy_and_gradient)
