"""Make other libraries call this one for token log-probabilities and entropies.

``trl()``, ``verl()``, ``sglang()`` and ``vllm()`` replace the functions that compute these, in
every module of the library. They return an object with ``undo()``, usable as a context manager.
"""

import importlib
import sys
from collections import defaultdict
from collections.abc import Callable
from types import ModuleType

import torch
from torch import Tensor

from .dropin.logits.api import LOGSUMEXP, token_log_probs
from .dropin.logits.rows import as_rows, values
from .dropin.overlapping import Overlapping
from .logits import RowTensors

# Active integrations, and the pairs (their function, ours), by the module that defines theirs.
_active: defaultdict[str, list["Integration"]] = defaultdict(list)
_pairs: dict[str, list[tuple[Callable, Callable]]] = {}


class Integration(Overlapping):
    """Keep functions of a library replaced until ``undo()``, or the end of the ``with`` statement.

    ``replacements`` maps names in the module ``home`` to our functions. Modules of the library that
    imported one of them get ours, too. Raises ImportError if the library is not installed, and
    AttributeError, which names its version, if it lacks one of the functions.
    """

    def __init__(self, home: str, replacements: dict[str, Callable]):
        self._home, self._replacements = home, replacements
        super().__init__()

    @property
    def _active(self) -> list:
        return _active[self._home]

    def _apply(self) -> None:
        pairs = _pairs.pop(self._home, None)
        if pairs and not self._active:
            self._exchange([(ours, theirs) for theirs, ours in pairs])
        elif self._active:  # applied again, for modules that were imported since
            _pairs[self._home] = pairs = pairs or self._new_pairs()
            self._exchange(pairs)

    def _new_pairs(self) -> list[tuple[Callable, Callable]]:
        module = importlib.import_module(self._home)
        for name in self._replacements:
            if not hasattr(module, name):
                version = getattr(sys.modules[self._library], "__version__", "unknown")
                raise AttributeError(
                    f"{self._home} of version {version} has no {name}; "
                    "help(softmax_bench.integrate) names the versions that this works with"
                )
        return [(getattr(module, name), ours) for name, ours in self._replacements.items()]

    @property
    def _library(self) -> str:
        return self._home.partition(".")[0]

    def _exchange(self, pairs: list[tuple[Callable, Callable]]) -> None:
        new_by_id = {id(old): new for old, new in pairs}
        for name, module in [*sys.modules.items()]:
            # an entry may be None instead of a module, which forbids its import
            if name.partition(".")[0] != self._library or not isinstance(module, ModuleType):
                continue
            for key, value in [*vars(module).items()]:
                if (new := new_by_id.get(id(value))) is not None:
                    setattr(module, key, new)


def entropies(logits: Tensor) -> Tensor:
    """Return the entropy of each row of logits (…, V)."""
    first = torch.zeros(logits.shape[:-1], dtype=torch.int64, device=logits.device)
    return token_log_probs(logits, first, entropy=True)[1]


def trl() -> Integration:
    """Let TRL's trainers use this package for log-probabilities and entropies (TRL 1.16)."""

    def selective_log_softmax(logits, index, temperature=1.0, row_mask=None):
        return token_log_probs(logits, index, temperature=temperature, row_mask=row_mask)

    def entropy_from_logits(logits, chunk_size=128):
        return entropies(logits)

    def selective_log_softmax_and_entropy(
        logits, index, entropy_requires_grad=True, temperature=1.0, row_mask=None
    ):
        log_p, entropy = token_log_probs(
            logits, index, temperature=temperature, row_mask=row_mask, entropy=True
        )
        return log_p, entropy if entropy_requires_grad else entropy.detach()

    functions = selective_log_softmax, entropy_from_logits, selective_log_softmax_and_entropy
    return Integration("trl.trainer.utils", {function.__name__: function for function in functions})


def verl() -> Integration:
    """Let verl use this package for log-probabilities and entropies (verl 0.9)."""

    def logprobs_from_logits(logits, labels, inplace_backward=True):
        return token_log_probs(logits, labels, inplace_backward=inplace_backward)

    def entropy_from_logits(logits):
        return entropies(logits)

    functions = logprobs_from_logits, entropy_from_logits
    return Integration(
        "verl.utils.torch_functional", {function.__name__: function for function in functions}
    )


def sglang() -> Integration:
    """Let SGLang use this package for the log-sum-exps of its log-probabilities (July 2026)."""

    def row_logsumexp(x):
        maxima, log_sums = values(RowTensors(as_rows(x)), LOGSUMEXP)[2]
        return maxima, log_sums

    return Integration("sglang.srt.layers.logsumexp", {"row_logsumexp": row_logsumexp})


def vllm() -> Integration:
    """Let vLLM's second model runner use this package for log-probabilities of tokens (0.16)."""

    def compute_token_logprobs(logits, token_ids):
        return token_log_probs(logits, token_ids)

    return Integration(
        "vllm.v1.worker.gpu.sample.logprob", {"compute_token_logprobs": compute_token_logprobs}
    )
