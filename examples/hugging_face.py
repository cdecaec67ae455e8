"""A model of Hugging Face's transformers, unchanged: before ``replace_torch`` and while it holds.

``python examples/hugging_face.py`` takes one training step of a Llama with random weights with
torch's softmax and with this project's, compares loss and gradients, and on a GPU times both. It
prints a table in Markdown. ``--compile`` compiles the model first. It needs the package
transformers.
"""

import argparse
import contextlib
import statistics
import sys
from pathlib import Path

import torch
from torch import Tensor, nn

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
import kernels

STEPS, WARM = 20, 3
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


def step(model: nn.Module, texts: Tensor) -> Tensor:
    """Return the loss of one step forward and backward; the gradients are in the model."""
    model.zero_grad()
    loss = model(input_ids=texts, labels=texts, use_cache=False).loss
    loss.backward()
    return loss.detach()


def step_ms(model: nn.Module, texts: Tensor) -> float:
    """Return the median time of a step on the GPU, in milliseconds."""
    times = []
    for number in range(WARM + STEPS):
        begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        begin.record()
        step(model, texts)
        end.record()
        end.synchronize()
        if number >= WARM:
            times.append(begin.elapsed_time(end))
    return statistics.median(times)


def compare(device: str, dtype: torch.dtype, compiled: bool = False) -> list[str]:
    """Return a line of the table for torch's kernels, and one for this project's.

    "gradients differ by": the largest difference from torch's, as a share of the largest element of
    the gradient.
    """
    model, texts = llama(device, dtype)
    if compiled:
        model.compile()
    lines, expected = [], None
    for source in ("torch", "kernels"):
        replaced = kernels.replace_torch(inductor=compiled) if source == "kernels" else None
        with replaced or contextlib.nullcontext():
            loss = step(model, texts).item()
            gradients = [p.grad.float().clone() for p in model.parameters()]
            expected = expected or gradients
            difference = max(
                ((g - e).abs().max() / e.abs().max()).item()
                for g, e in zip(gradients, expected, strict=True)
            )
            timed = device == "cuda"
            time = f"{step_ms(model, texts):.2f} ms" if timed else "not timed without a GPU"
        name = str(dtype).removeprefix("torch.")
        lines.append(f"| {source} | {name} | {loss:.6f} | {difference:.2e} | {time} |")
    return lines


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--compile", action="store_true", help="compile the model with Inductor")
    compiled = parser.parse_args().compile
    device = "cuda" if torch.cuda.is_available() else "cpu"
    name = torch.cuda.get_device_name() if device == "cuda" else "CPU"
    how = "compiled" if compiled else "eager"
    print(f"{name}, torch {torch.__version__}, {how}:\n")
    print("| softmax and log_softmax of | dtype | loss | gradients differ by | a step |")
    print("| --- | --- | --- | --- | --- |")
    for dtype in (torch.float32, torch.bfloat16):
        print("\n".join(compare(device, dtype, compiled)))


if __name__ == "__main__":
    main()
