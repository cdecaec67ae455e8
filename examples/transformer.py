"""The drop-in in a model: a small transformer whose attention and loss use softmax and log-softmax.

``python examples/transformer.py`` takes one training step with torch's functions and one with this
project's, compares loss and gradients, and on a GPU times both. It prints a table in Markdown.
"""

from collections.abc import Callable
from contextlib import nullcontext
from functools import partial

import steps  # first: it finds the package kernels
import torch
from torch import Tensor, nn

import kernels

SIZES = {  # batch, tokens of a text, width, heads, layers, vocabulary
    "cuda": (8, 1024, 512, 8, 4, 50257),
    "cpu": (2, 32, 32, 2, 2, 211),
}


class Block(nn.Module):
    """Causal attention and a multilayer perceptron; x and result: (batch, tokens, width)."""

    def __init__(self, width: int, heads: int):
        super().__init__()
        self.heads = heads
        self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.qkv, self.projection = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.mlp = nn.Sequential(
            nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width)
        )

    def forward(self, x: Tensor, softmax: Callable) -> Tensor:
        batch, tokens, width = x.shape
        qkv = self.qkv(self.norm1(x)).view(batch, tokens, 3, self.heads, -1)
        query, key, value = qkv.permute(2, 0, 3, 1, 4)
        scores = query @ key.transpose(-2, -1) / query.shape[-1] ** 0.5
        later = torch.ones(tokens, tokens, dtype=torch.bool, device=x.device).triu(1)
        weights = softmax(scores.masked_fill(later, -torch.inf), -1)
        x = x + self.projection((weights @ value).transpose(1, 2).reshape(batch, tokens, width))
        return x + self.mlp(self.norm2(x))


class Transformer(nn.Module):
    """Predict every next token; the caller gives the module with softmax and log_softmax."""

    def __init__(self, width: int, heads: int, layers: int, vocabulary: int):
        super().__init__()
        self.embed = nn.Embedding(vocabulary, width)
        self.blocks = nn.ModuleList(Block(width, heads) for _ in range(layers))
        self.out = nn.Linear(width, vocabulary)

    def loss(self, text: Tensor, functions) -> Tensor:
        """Return the mean negative log-likelihood of text (batch, tokens + 1)."""
        x = self.embed(text[:, :-1])
        for block in self.blocks:
            x = block(x, functions.softmax)
        likelihood = functions.log_softmax(self.out(x), -1)
        return -likelihood.gather(-1, text[:, 1:, None]).float().mean()


def compare(device: str, dtype: torch.dtype) -> list[str]:
    """Return a line of the table for torch's functions, and one for this project's."""
    batch, tokens, width, heads, layers, vocabulary = SIZES[device]
    torch.manual_seed(0)
    model = Transformer(width, heads, layers, vocabulary).to(device, dtype)
    text = torch.randint(vocabulary, (batch, tokens + 1), device=device)
    ways = {"torch": torch, "kernels": kernels}
    return steps.lines(
        model, ((name, nullcontext(), partial(model.loss, text, ways[name])) for name in ways)
    )


if __name__ == "__main__":
    steps.show(compare)
