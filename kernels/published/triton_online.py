"""Two passes over each row: one for maximum and rescaled sum together, one for the output.

Idea: the online normaliser. Each lane keeps the maximum m of what it has seen and the sum s of
exp(x - m). A new maximum m' rescales s by exp(m - m'). Lanes are reduced once, after the loop.
The output pass walks backwards, starting on the tiles still in cache (the "cache trick").
Bytes: reads 2·M·N, writes M·N elements, less what the caches serve.
Limits: any N; a tile of 2^12 with 32 warps is 4 elements per thread.
Source: "Triton 入门: 比 Torch 快的 OnlineSoftmax" (Mizuno-Ai / wu-kan, Nov 2024); the online
normaliser is Milakov and Gimelshein, "Online normalizer calculation for softmax" (2018).

Performance explained in: docs/explanation/why_kernels_differ.md#bytes-moved
"""

import functools

import triton
import triton.language as tl

from ._per_row import ARTICLE_WARPS, launch

TILE = 2**12  # the article's


@triton.jit
def softmax_fwd_kernel_online(
    out_ptr, x_ptr, out_stride, x_stride, n_cols, TILE: tl.constexpr, BACKWARDS: tl.constexpr
):
    row = tl.program_id(0).to(tl.int64)
    x_row = x_ptr + row * x_stride
    out_row = out_ptr + row * out_stride
    lanes = tl.arange(0, TILE)
    n_tiles = tl.cdiv(n_cols, TILE)

    lane_max = tl.full((TILE,), float("-inf"), tl.float32)
    lane_sum = tl.zeros((TILE,), tl.float32)
    for tile in range(n_tiles):
        cols = tile * TILE + lanes
        x = tl.load(x_row + cols, mask=cols < n_cols, other=float("-inf")).to(tl.float32)
        new_max = tl.maximum(lane_max, x)
        # A lane that has seen only -inf (nothing yet, or masked) has no maximum to subtract:
        # -inf - -inf is NaN. Against 0 both exponentials are 0, so it adds nothing.
        pivot = tl.where(new_max == float("-inf"), 0.0, new_max)
        lane_sum = lane_sum * tl.exp(lane_max - pivot) + tl.exp(x - pivot)
        lane_max = new_max
    row_max = tl.max(lane_max, axis=0)
    row_sum = tl.sum(lane_sum * tl.exp(lane_max - row_max), axis=0)

    for step in range(n_tiles):
        tile = n_tiles - 1 - step if BACKWARDS else step
        cols = tile * TILE + lanes
        inside = cols < n_cols
        x = tl.load(x_row + cols, mask=inside, other=float("-inf")).to(tl.float32)
        y = tl.exp(x - row_max) / row_sum
        tl.store(out_row + cols, y.to(out_ptr.dtype.element_ty), mask=inside)


run = functools.partial(launch, softmax_fwd_kernel_online, TILE=TILE, num_warps=ARTICLE_WARPS)
softmax = functools.partial(run, BACKWARDS=True)
