"""Every CUDA C++ kernel in every config, once at a small size for each of its code paths.

Variants and configs come from the registry, and code paths from what they would launch: there is
no list to edit. Tests compile these launches, run them, and run them under compute-sanitizer.
"""

import itertools
import re
from typing import NamedTuple

import torch

import kernels
from kernels.cuda.plan import VEC_BYTES, GpuProperties, LaunchPlan, Problem, widest_pack
from kernels.registry import discover, source_scan
from kernels.tensors import DTYPES
from measure import inputs
from tests.kernels.helpers.variants import CONTRIBUTED, OWN_FAMILIES, in_family, rows_problem

# Lengths in ascending order: the first that reaches a code path is taken. One element; a part of
# a warp; around the limits of a warp, a block, a cluster, shared memory, all registers.
COLUMNS = [1, 2, 3, 16, 31, 33, 64, 100, 256, 781, 1024, 1025, 2101, 4096, 5001, 8320, 12_291]
COLUMNS += [16_384, 20_000, 33_001, 40_001, 60_001, 65_536, 140_000, 300_001, 2**20, 2**21 + 8]
COLUMNS += [2**22 + 1, 2**23]
# (elements before the first row, from row to row beyond N) of x or g, of y and of the output: rows
# that touch, and rows that begin anywhere in a vector
TOUCHING, APART = ((0, 0),) * 3, ((1, 2), (4, 5), (2, 3))
# Variants that `make test` runs: configs differ in numbers only, so one of each kernel, and the one
# that computes exps again. An operation is a kernel's last line, so each layout has one.
CHOSEN = ["packed__k20", "rows__k4w16", "rows__k8w8r", "short__u1", "spread__k8w8", "staged__k4w16"]
CHOSEN = [*(f"frontier_{config}" for config in CHOSEN), "cuda_backward"]
BACKWARD = "softmax_backward", "log_softmax_backward"
ONE_WAY = [("softmax", APART), ("log_softmax", TOUCHING)]
ONE_WAY += [("softmax_backward", APART), ("log_softmax_backward", TOUCHING)]
# (dtype of what is read, dtype of the output) that the kernels of CHOSEN take besides equal ones
CONVERSIONS = [(torch.bfloat16, torch.float32), (torch.float16, torch.float32)]
GUARD = 7.0  # around the rows of the output


class Launch(NamedTuple):
    """A call of a variant's function, and what it launches."""

    variant: str
    op: str
    dtype: torch.dtype
    rows: int
    cols: int
    layout: tuple[tuple[int, int], ...]  # Places of the inputs, in turn, and of the output.
    plan: LaunchPlan | None = None
    out_dtype: torch.dtype | None = None  # the output's, where it is not ``dtype``

    def __str__(self) -> str:
        return "-".join(map(str, [*self[:5], *filter(None, [self.out_dtype])]))


def variants(*families: str) -> list[str]:
    """Return the variants in CUDA C++ of the project's own families, each config by itself.

    `families`: more to take. Their kernels count if they have a `plan`.
    """
    names = [n for n in in_family(*OWN_FAMILIES, *families) if "cuda" in kernels.packages(n)]
    names = [n for n in names if n not in CONTRIBUTED or has_plan(n)]
    names.remove("frontier_logits")  # other operations: test_logits_emulated.py has them
    return [v for n in names for v in [f"{n}__{c}" for c in kernels.configs(n)] or [n]]


def has_plan(name: str) -> bool:
    """Return whether a file defines `plan`, read from its text: its import may fail."""
    return bool(source_scan.defined_names(kernels.variant_file(name), ["plan"]))


def sources() -> set[str]:
    """Return the names of the CUDA C++ sources of the project's own families."""
    folders = [discover.KERNELS / family for family in OWN_FAMILIES]
    return {path.stem for folder in folders for path in folder.rglob("*.cu")}


def code_path(plan: LaunchPlan) -> tuple:
    """Return whether each flag of the template is set, and each number is 0, 1 or more."""
    template, *arguments = re.findall(r"\w+", plan.kernel)
    numbers = [int(a) for a in (*arguments, *map(str, plan.extra_args)) if a.isdigit()]
    flags = [a for a in arguments if a in ("true", "false")]
    return plan.source.stem, template, *flags, *(min(number, 2) for number in numbers)


def code_paths(gpu: GpuProperties, *families: str) -> list[Launch]:
    """Return a launch of each code path, for each variant, op and layout; the dtypes take turns.

    A conversion between two dtypes is another code path. `families`: see `variants`.
    """
    reached = {}
    for variant in variants(*families):
        dtypes = [(dtype, None) for dtype in DTYPES] + CONVERSIONS * (variant in CHOSEN)
        every = itertools.product(sorted(kernels.ops(variant)), (TOUCHING, APART), COLUMNS, dtypes)
        for op, layout, cols, (dtype, out_dtype) in every:
            pair = (out_dtype, dtype) if out_dtype and op in BACKWARD else (dtype, out_dtype)
            if tensor := _launch(variant, op, *pair, cols, layout, gpu):
                key = variant, op, layout, out_dtype, code_path(tensor.plan)
                reached.setdefault(key, {}).setdefault(pair, tensor)
    each_way = (list(by_dtype.values()) for by_dtype in reached.values())
    return [ways[number % len(ways)] for number, ways in enumerate(each_way)]


def _launch(variant, op, dtype, out_dtype, cols, layout, gpu) -> Launch | None:
    rows = 6 if cols < 200 else 3 if cols < 2**20 else 2
    counts = cols
    for start, gap in layout:
        counts |= start | (cols + gap)
    wide = torch.float32 if out_dtype else dtype
    narrow = None if out_dtype is None else dtype if out_dtype is wide else out_dtype
    pack = widest_pack(wide.itemsize, 0, counts)
    problem = Problem(wide, rows, cols, pack, "log" in op, gpu, narrow)
    plans = kernels.load(variant).module.plan(problem)
    if not plans or plans[0].min_capability > gpu.capability:
        return None
    return Launch(variant, op, dtype, rows, cols, layout, plans[0], out_dtype)


def placed(values: torch.Tensor, start: int, gap: int) -> torch.Tensor:
    """Return a copy of a matrix on the CPU in storage of whole 16-byte vectors.

    Kernels load all of a vector that holds an element, so storage may not end inside one.
    """
    rows, cols = values.shape
    per_vec = VEC_BYTES // values.element_size()
    size = -(-(start + rows * (cols + gap)) // per_vec) * per_vec
    store = torch.full((size,), GUARD, dtype=values.dtype)
    view = store.as_strided((rows, cols), (cols + gap, 1), start)
    return view.copy_(values)


def moved(view: torch.Tensor, device: torch.device | str) -> torch.Tensor:
    """Return what ``placed`` returned, storage and all, on a device."""
    return view._base.to(device).as_strided(view.shape, view.stride(), view.storage_offset())


def problem_of(launch: Launch, device: torch.device | str = "cuda", run=None) -> str | None:
    """Run a launch; return None, or what is wrong. All but the launch is done on the CPU.

    ``run``: instead of the variant's function.
    """
    run = run or kernels.load(launch.variant).function(launch.op)
    *read_at, out_at = launch.layout
    size = launch.rows, launch.cols
    out_dtype = launch.out_dtype or launch.dtype
    # values that both dtypes have, so that only the output is rounded
    drawn_as = min(out_dtype, launch.dtype, key=lambda dtype: dtype.itemsize)
    drawn = inputs.draw_for(launch.op, "normal", drawn_as, *size, 1, torch.device("cpu"))
    read = (tensor.to(launch.dtype) for tensor in drawn)
    views = [placed(tensor, *place) for tensor, place in zip(read, itertools.cycle(read_at))]
    views += [placed(torch.full(size, GUARD, dtype=out_dtype), *out_at)]
    moved_views = [moved(view, device) for view in views]
    y = moved(run(*moved_views), "cpu")
    wrong = rows_problem(y, [tensor.to(out_dtype) for tensor in drawn], launch.op)
    kept = [torch.equal(a._base.cpu(), b._base) for a, b in zip(moved_views, views, strict=True)]
    y.fill_(GUARD)
    if wrong is None and not all(kept[:-1]):
        return "the input was changed"
    return wrong or (None if (y._base == GUARD).all() else "memory beside the rows was written")
