"""A model of Hugging Face's transformers, unchanged: before ``replace_torch`` and while it holds.

``python examples/hugging_face.py`` takes training steps of a Llama with random weights, compares
loss and gradients, and on a GPU times both. It prints a table in Markdown. ``--compile`` compiles
the model by Inductor. It needs the package transformers.
"""

import argparse
import functools
from collections.abc import Iterator
from contextlib import nullcontext

import steps  # first: it finds the package kernels
import torch
from torch import Tensor, nn

import kernels

SIZES = {  # batch, tokens of a text, width, heads, layers, words that there are
    "cuda": (8, 1024, 512, 8, 4, 32000),
    "cpu": (2, 32, 32, 2, 2, 211),
}


def llama(device: str, dtype: torch.dtype) -> tuple[nn.Module, Tensor]:
    """Return a model whose attention calls torch's softmax, and texts (batch, tokens)."""
    from transformers import LlamaConfig, LlamaForCausalLM

    batch, tokens, width, heads, layers, words = SIZES[device]
    torch.manual_seed(0)
    config = LlamaConfig(
        vocab_size=words,
        hidden_size=width,
        intermediate_size=4 * width,
        num_attention_heads=heads,
        num_hidden_layers=layers,
        attn_implementation="eager",
    )
    model = LlamaForCausalLM(config).to(device, dtype)
    return model, torch.randint(words, (batch, tokens), device=device)


def compare(device: str, dtype: torch.dtype, compiled: bool = False) -> list[str]:
    """Return a line of the table for torch's kernels, and one for this project's."""
    model, texts = llama(device, dtype)
    if compiled:
        model.compile()

    def loss() -> Tensor:
        return model(input_ids=texts, labels=texts, use_cache=False).loss

    def ways() -> Iterator[steps.Way]:  # a replacement holds from when it is made
        yield "torch", nullcontext(), loss
        yield "kernels", kernels.replace_torch(inductor=compiled), loss

    return steps.lines(model, ways())


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--compile", action="store_true", help="compile the model by Inductor")
    compiled = parser.parse_args().compile
    steps.show(functools.partial(compare, compiled=compiled))
