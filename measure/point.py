"""Define a point, the unit of work: what is measured in one process, and how."""

import difflib
from dataclasses import dataclass

import kernels
import operations
from kernels.contract import DTYPES

from .errors import PointError
from .row import MAX_ELEMENTS, SCHEMA

DISTRIBUTIONS = SCHEMA["distribution"].allowed
ALLOWED = {"dtype": DTYPES, "distribution": DISTRIBUTIONS}
CPU = "cpu"  # the slug of a CPU
MAX_TIMEOUT_S = 10**6  # config.schema.yaml repeats it; `select` cannot wait for arbitrarily long
MAX_BLOCKS, MAX_REPLICATES = 10**6, 10**4  # config.schema.yaml repeats them
MIN_BLOCKS = 6  # order statistics of fewer give no 95 % interval of the median


def nearest(word: str, allowed) -> str:
    """Return the end of an error message: '; did you mean x? Allowed: x, y, z'."""
    close = difflib.get_close_matches(str(word), list(allowed), n=1, cutoff=0.5)
    hint = f"did you mean {close[0]!r}? Allowed" if close else "allowed"
    return f"; {hint}: {', '.join(allowed)}"


@dataclass(frozen=True)
class Point:
    """Identify a row, and say how long its process may run."""

    gpu: str
    dtype: str
    M: int
    N: int
    variant: str
    op: str = operations.DEFAULT
    distribution: str = "uniform"
    seed: int = 3407
    blocks: int = 51  # timed blocks; the interval of 51 covers 95.1 % (that of 50: 96.7 %)
    replicate: int = 1  # each replicate is measured by a new process
    timeout_s: float = 120.0  # time after which the point's process is killed
    files: tuple[str, ...] = ()  # kernels from outside kernels/
    operation_files: tuple[str, ...] = ()  # operations from outside operations/
    fingerprint: str = ""  # that of the plan; "": whatever the current code and packages have

    def __post_init__(self):
        for name in ("files", "operation_files"):  # JSON and argparse give a list
            object.__setattr__(self, name, tuple(getattr(self, name)))
        try:
            for path in self.operation_files:
                operations.add(path)
        except operations.OperationFileError as error:
            raise PointError(error.args[0]) from None
        for name, allowed in ({"op": operations.names()} | ALLOWED).items():
            value = getattr(self, name)
            if value not in allowed:
                raise PointError(f"unknown {name} {value!r}{nearest(value, allowed)}")
        for name, lowest in (("M", 1), ("N", 1), ("blocks", MIN_BLOCKS), ("replicate", 1)):
            value = getattr(self, name)
            if type(value) is not int or value < lowest:
                raise PointError(
                    f"{name} = {value!r}: a whole number of at least {lowest} is needed"
                )
        if self.M * self.N > MAX_ELEMENTS:
            raise PointError(f"M·N = {self.M * self.N}: at most {MAX_ELEMENTS} elements (2^59)")
        for name, highest in (("blocks", MAX_BLOCKS), ("replicate", MAX_REPLICATES)):
            if getattr(self, name) > highest:
                raise PointError(f"{name} = {getattr(self, name)}: at most {highest}")
        if not 0 <= self.seed < 2**32:
            raise PointError(
                f"seed = {self.seed!r}: a whole number from 0 to {2**32 - 1} is needed"
            )
        if not 0 < self.timeout_s <= MAX_TIMEOUT_S:
            limits = f"above 0 and at most {MAX_TIMEOUT_S}"
            raise PointError(f"timeout_s = {self.timeout_s!r}: it must be {limits}")
        try:
            for path in self.files:
                kernels.add_variant(path)
            kernels.variant_file(self.variant)
        except (kernels.KernelFileError, KeyError) as error:
            raise PointError(error.args[0]) from None

    def with_fields(self, **fields) -> "Point":
        """Return a copy with new values of these fields, without checking all fields again."""
        copy = object.__new__(Point)
        vars(copy).update(vars(self), **fields)
        return copy

    @property
    def call_bytes(self) -> int:
        """Return the bytes of a call's inputs and outputs, the minimum that a kernel moves."""
        return self.operation.call_bytes(self.M, self.N, DTYPES[self.dtype])

    @property
    def operation(self) -> operations.Operation:
        """Return the operation of the point; this imports torch."""
        return operations.load(self.op)

    @property
    def is_cpu(self) -> bool:
        return self.gpu == CPU

    @property
    def interpreted(self) -> bool:
        """Return whether Triton's interpreter runs the variant, which is then not timed."""
        return self.is_cpu and "triton" in kernels.packages(self.variant)

    @property
    def timed(self) -> bool:
        """Return whether the variant is timed: on a CPU, only if it needs torch alone."""
        return not (self.is_cpu and kernels.packages(self.variant) & {"triton", "cuda"})
