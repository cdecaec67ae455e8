"""A step of a policy gradient, with torch's functions and with the library's.

``python examples/token_log_probs.py`` takes log-probabilities and entropies of the logits of a
language model's head, compares loss and gradients, and on a GPU time and memory. It prints a table
in Markdown.
"""

from collections.abc import Iterator
from contextlib import nullcontext

import steps  # first: it finds the package kernels
import torch
from torch import Tensor, nn

import kernels

SIZES = {"cuda": (4096, 256, 151_936), "cpu": (64, 32, 5003)}  # tokens, width, words that there are
ENTROPY_BONUS = 0.01
Pair = tuple[Tensor, Tensor]


def of_torch(logits: Tensor, tokens: Tensor) -> Pair:
    """Return log-probabilities and entropies as callers usually compose them."""
    log_p = torch.log_softmax(logits.float(), -1)
    return log_p.gather(-1, tokens[:, None])[:, 0], -(log_p.exp() * log_p).sum(-1)


def of_kernels(logits: Tensor, tokens: Tensor) -> Pair:
    return kernels.token_log_probs(logits, tokens, entropy=True, inplace_backward=True)


def compare(device: str, dtype: torch.dtype) -> list[str]:
    """Return a line of the table for each way."""
    count, width, words = SIZES[device]
    torch.manual_seed(0)
    head = nn.Linear(width, words, bias=False).to(device, dtype)
    hidden = torch.randn(count, width, device=device, dtype=dtype)
    tokens = torch.randint(words, (count,), device=device)
    advantages = torch.randn(count, device=device)

    def ways() -> Iterator[steps.Way]:
        for name, function in {"torch": of_torch, "kernels": of_kernels}.items():

            def loss(function=function) -> Tensor:
                log_p, entropy = function(head(hidden), tokens)
                return -(advantages * log_p + ENTROPY_BONUS * entropy).mean()

            yield name, nullcontext(), loss

    return steps.lines(head, ways())


if __name__ == "__main__":
    steps.show(compare)
