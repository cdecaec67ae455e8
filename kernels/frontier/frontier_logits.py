"""This project's kernels for values computed from logits, and for their gradients.

Idea: each logit is read once, by ``logits_forward``, which keeps a maximum and two sums of a row.
The gradient of each logit follows from these, in ``logits_backward``. Loss and gradient in one call
are one pass over a row that registers hold, in ``loss_and_gradient``; longer ones take two.
Bytes: M·N·itemsize for values; 2·M·N·itemsize for a gradient, the least possible, also with the
loss in one call; 3·M·N·itemsize where that takes two passes, less what the caches serve.
Limits: N up to 2^30. Compute capability 8.0.
Source: ``kernels/logits``.
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

# The limits of all operations, which one kernel has.
unsupported = cuda.functions(forward_planner("LogSumExp")).unsupported
