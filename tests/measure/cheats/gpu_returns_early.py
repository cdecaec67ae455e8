"""Cheat: works on another stream, for which nobody waits.

Caught by: correctness check: or edge case: or recording: work on another stream
"""

import torch

SIDE = torch.cuda.Stream()


def softmax(x, out=None):
    out = torch.empty_like(x) if out is None else out
    SIDE.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(SIDE):
        return torch.softmax(x, dim=-1, out=out)
