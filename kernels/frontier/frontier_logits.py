"""This project's kernels for values computed from logits, and for their gradients.

Idea: ``logits_forward`` reads each logit once and keeps a maximum and two sums per row.
``logits_backward`` computes the gradient of each logit from these. ``loss_and_gradient`` computes
both in one call: in one pass if registers hold the row, in two if it is longer.
Bytes: M·N·itemsize for values; 2·M·N·itemsize for a gradient, the minimum, also together with the
loss in one call; 3·M·N·itemsize if that takes two passes, less what the caches serve.
Limits: N up to 2^30. Compute capability 8.0.
Source: ``kernels/logits``.
Use: ``pip install .`` in a clone; ``from softmax_bench import token_log_probs, cross_entropy,
logsumexp``.
"""

from ..cuda import launch as cuda
from ..logits.functions import cross_entropy as cross_entropy
from ..logits.functions import cross_entropy_and_gradient as cross_entropy_and_gradient
from ..logits.functions import cross_entropy_backward as cross_entropy_backward
from ..logits.functions import logsumexp as logsumexp
from ..logits.functions import token_log_prob as token_log_prob
from ..logits.functions import token_log_prob_backward as token_log_prob_backward
from ..logits.functions import token_log_prob_entropy as token_log_prob_entropy
from ..logits.launch import forward_planner

# All operations have the same limits, so any of the kernels can state them.
unsupported = cuda.functions(forward_planner("LogSumExp")).unsupported
