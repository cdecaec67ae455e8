"""Is a call's data out of the cache when its turn comes? Proof, from the time of single loads.

A load that misses L2 takes about twice as long as one that hits, so after the timed calls have gone
round all their buffers, single loads from the next buffers in turn tell what the next call would
have found there. At several places of the round, which cannot be foreseen: a kernel whose hints to
the cache keep lines of some pairs may keep none of the first. The same loads at once again, of
lines that are resident now, say what a hit takes on this GPU. Compare the pointer chases of Wong et
al., "Demystifying GPU Microarchitecture through Microbenchmarking" (ISPASS 2010); here nothing is
chased: a load ends where a branch depends on it.
"""

import random

import torch
import triton
import triton.language as tl

from .base import Pair

LINE_BYTES = 128
PROGRAMS, LOADS = 64, 32  # one warp each: loads must not queue behind each other
TURNS = 4  # pairs that are looked at
# A program's lines lie close together, and its first load does not count: it may wait for the
# translation of the address, which the others then find.
WINDOW_LINES = 2**20 // LINE_BYTES
# Quantile of the resident loads' times up to which a load surely was a hit. Not higher: on an H200
# three hits in four take 310 to 375 cycles, the others, in the far half of L2, up to 640; a miss
# takes 550 at least, and 765 in the median. Never beyond the middle between the two medians.
SURE_HIT = 0.75


@triton.jit
def load_cycles_kernel(cycles_ptr, addresses_ptr, LOADS: tl.constexpr):
    first = tl.program_id(0) * LOADS
    for i in range(LOADS):
        address = tl.load(addresses_ptr + first + i)
        # ld.relaxed.gpu: not from L1. The sleep is never reached but by one value in 2^32, for
        # 0 ns; without what depends on the value, the clock would be read before it is there.
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


def evidence(clock, series: str, pairs: list[Pair], seed: int) -> dict:
    """Columns ``cold_load_cycles``, ``resident_load_cycles`` and ``found_in_l2``.

    Random lines of all matrices of some of ``pairs`` are loaded, each pair's when it would be the
    next that ``clock`` gives to a call of ``series``. Empty for matrices below 4 KiB.
    """
    looks = []
    for turn in random.SystemRandom().sample(range(len(pairs)), min(TURNS, len(pairs))):
        addresses = sample_lines(pairs[turn], seed)
        if addresses is None:
            return {}
        cycles = [torch.empty_like(addresses, dtype=torch.int32) for _ in range(2)]
        _load(cycles[0], addresses)  # compiled and loaded before it counts
        clock.leave_cold(series, turn)
        for into in cycles:
            _load(into, addresses)
        looks.append(cycles)
    return summarise(*(torch.cat(times).cpu() for times in zip(*looks, strict=True)))


def sample_lines(pair: Pair, seed: int) -> torch.Tensor | None:
    """Addresses of random cache lines, none twice; LOADS in a row are from one window.

    As many windows in each matrix of the pair. None where one has fewer lines than one program
    loads.
    """
    lines = pair[0].numel() * pair[0].element_size() // LINE_BYTES
    programs = min(PROGRAMS // len(pair), lines // LOADS)
    generator, found = random.Random(seed), []
    for tensor in pair:
        windows = max(1, lines // WINDOW_LINES)
        chosen = generator.sample(range(windows), min(windows, programs))
        for number, window in enumerate(chosen):
            share = len(range(number, programs, len(chosen)))  # programs in this window
            inside = range(window * WINDOW_LINES, min(lines, (window + 1) * WINDOW_LINES))
            picked = generator.sample(inside, share * LOADS)
            found += [tensor.data_ptr() + LINE_BYTES * line for line in picked]
    return torch.tensor(found, dtype=torch.int64, device=pair[0].device) if found else None


def summarise(cold: torch.Tensor, resident: torch.Tensor) -> dict:
    """The columns from the cycles of every load, cold and at once again.

    Both of shape (programs * LOADS,), as the addresses are.
    """
    cold, resident = (c.view(-1, LOADS)[:, 1:].float() for c in (cold, resident))
    middle = (cold.quantile(0.5) + resident.quantile(0.5)) / 2
    sure = min(resident.quantile(SURE_HIT), middle)
    hits, of_resident = ((loads <= sure).float().mean().item() for loads in (cold, resident))
    return {
        "cold_load_cycles": cold.quantile(0.5).item(),
        "resident_load_cycles": resident.quantile(0.5).item(),
        "found_in_l2": min(1.0, hits / of_resident),
    }


def _load(cycles: torch.Tensor, addresses: torch.Tensor) -> None:
    load_cycles_kernel[(len(addresses) // LOADS,)](cycles, addresses, LOADS=LOADS, num_warps=1)
