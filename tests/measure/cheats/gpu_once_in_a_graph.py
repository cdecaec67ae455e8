"""Cheat: is recorded once per graph and pair of buffers, so that most calls of a graph do nothing.

Caught by: recording:
"""

import torch
from cuda.bindings import driver

RECORDED = set()


def softmax(x, out=None):
    stream = torch.cuda.current_stream().cuda_stream
    if out is not None and torch.cuda.is_current_stream_capturing():
        capture = int(driver.cuStreamGetCaptureInfo(stream)[2])
        if (capture, out.data_ptr()) in RECORDED:
            return out
        RECORDED.add((capture, out.data_ptr()))
    return torch.softmax(x, dim=-1, out=out)
