"""Prove that a call's inputs are out of L2 when its turn comes, from the time of single loads.

A load that misses L2 takes about twice as long as a hit. So single loads, timed just before a call
would begin, show how much of its buffers the call would have found in L2. They are made at random
places of the rotation, because a kernel's cache hints may keep the lines of some buffers only. The
same loads, repeated, show how long a hit takes on this GPU. Compare the pointer chasing of Wong et
al., "Demystifying GPU Microarchitecture through Microbenchmarking" (ISPASS 2010).
"""

import random
from typing import TYPE_CHECKING

import torch
import triton
import triton.language as tl

from .base import CallBuffers, tensors_of

if TYPE_CHECKING:
    from .graph import GraphClock

LINE_BYTES = 128
# PROGRAMS one-warp programs, fewer than any GPU has multiprocessors, make LOADS loads each, so that
# loads do not queue behind each other. At TURNS places these are 8192 loads, of less than 20 µs per
# place. The standard error of found_in_l2 is 0.3 % at MAX_FOUND.
PROGRAMS, LOADS = 64, 32
TURNS = 4  # places of the rotation that are sampled
# The lines that a program loads lie within one window. Its first load is not counted: it may wait
# for an address translation, which the later ones find in the TLB.
WINDOW_LINES = 2**20 // LINE_BYTES
# A load counts as a hit if it takes no longer than this quantile of the resident loads, nor longer
# than halfway between the two medians. The quantile is below 1 because slow hits take as long as
# fast misses: on an H200 three hits in four take 310 to 375 cycles, those in the far half of L2 up
# to 640, and a miss at least 550.
SURE_HIT = 0.75


@triton.jit
def load_cycles_kernel(cycles_ptr, addresses_ptr, LOADS: tl.constexpr):
    first = tl.program_id(0) * LOADS
    for i in range(LOADS):
        address = tl.load(addresses_ptr + first + i)
        # ld.relaxed.gpu bypasses L1. The branch depends on the value; without it, the clock would
        # be read before the value arrives. One value in 2^32 takes it, and sleeps for 0 ns.
        cycles = tl.inline_asm_elementwise(
            """{
            .reg .u32 start, end, value;
            .reg .pred rare;
            mov.u32 start, %clock;
            ld.relaxed.gpu.global.u32 value, [$1];
            setp.eq.u32 rare, value, 0x7fc0dead;
            @rare nanosleep.u32 0;
            mov.u32 end, %clock;
            sub.u32 $0, end, start;
            }""",
            "=r,l",
            [address],
            dtype=tl.int32,
            is_pure=False,
            pack=1,
        )
        tl.store(cycles_ptr + first + i, cycles)


def time_loads(clock: "GraphClock", series: str, rotation: list[CallBuffers], seed: int) -> dict:
    """Return the columns ``cold_load_cycles``, ``resident_load_cycles`` and ``found_in_l2``.

    Loads random lines of some buffers, each at the moment at which a call of ``series`` would get
    these buffers from ``clock``. Returns {} if no buffer has 4 KiB.
    """
    looks = []
    for turn in random.SystemRandom().sample(range(len(rotation)), min(TURNS, len(rotation))):
        addresses = sample_lines(rotation[turn], seed)
        if addresses is None:
            return {}
        cycles = [torch.empty_like(addresses, dtype=torch.int32) for _ in range(2)]
        _load(cycles[0], addresses)  # compile and load the kernel before L2 is left cold
        clock.leave_cold(series, turn)
        for into in cycles:
            _load(into, addresses)
        looks.append(cycles)
    return summarise(*(torch.cat(times).cpu() for times in zip(*looks, strict=True)))


def sample_lines(buffers: CallBuffers, seed: int) -> torch.Tensor | None:
    """Return the addresses of distinct random cache lines: LOADS from one window, then the next.

    Tensors get programs in proportion to their size. One number per row, beside a matrix, gets
    none: whether L2 still holds it costs no time. Nor does a tensor of fewer than LOADS lines;
    returns None if all are that small.
    """
    lines_of = [(x, x.numel() * x.element_size() // LINE_BYTES) for x in tensors_of(buffers)]
    lines_of = [(tensor, lines) for tensor, lines in lines_of if lines >= LOADS]
    total = sum(lines for _, lines in lines_of)
    generator, addresses = random.Random(seed), []
    for tensor, lines in lines_of:
        programs = min(round(PROGRAMS * lines / total), lines // LOADS)
        windows = max(1, lines // WINDOW_LINES)
        chosen = generator.sample(range(windows), min(windows, programs))
        for number, window in enumerate(chosen):
            share = len(range(number, programs, len(chosen)))  # programs in this window
            inside = range(window * WINDOW_LINES, min(lines, (window + 1) * WINDOW_LINES))
            picked = generator.sample(inside, share * LOADS)
            addresses += [tensor.data_ptr() + LINE_BYTES * line for line in picked]
    if not addresses:
        return None
    return torch.tensor(addresses, dtype=torch.int64, device=buffers[0].device)


def summarise(cold: torch.Tensor, resident: torch.Tensor) -> dict:
    """Return the columns, from the cycles of all loads and of the same loads repeated.

    Both have shape (programs * LOADS,), in the order of the addresses.
    """
    cold, resident = (c.view(-1, LOADS)[:, 1:].float() for c in (cold, resident))
    middle = (cold.quantile(0.5) + resident.quantile(0.5)) / 2
    sure = min(resident.quantile(SURE_HIT), middle)
    hits, of_resident = ((loads <= sure).float().mean().item() for loads in (cold, resident))
    return {
        "cold_load_cycles": cold.quantile(0.5).item(),
        "resident_load_cycles": resident.quantile(0.5).item(),
        # If no repeated load was surely a hit, nothing proves that the lines were cold.
        "found_in_l2": min(1.0, hits / of_resident) if of_resident else 1.0,
    }


def _load(cycles: torch.Tensor, addresses: torch.Tensor) -> None:
    load_cycles_kernel[(len(addresses) // LOADS,)](cycles, addresses, LOADS=LOADS, num_warps=1)
