"""Work on another stream, which does not wait for the input."""

import torch

SIDE = torch.cuda.Stream()


def softmax(x, out=None):
    out = torch.empty_like(x) if out is None else out
    with torch.cuda.stream(SIDE):
        y = torch.softmax(x, dim=-1, out=out)
    torch.cuda.current_stream().wait_stream(SIDE)
    return y
