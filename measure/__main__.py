"""Measure one point and write its row: ``python -m measure point …``."""

import argparse
import contextlib
import os
import signal
import sys
from collections.abc import Iterator
from pathlib import Path

import kernels
import operations
from kernels.registry.by_file import variant_of_file
from kernels.terminal import replace_missing_characters

from .device import gpus
from .errors import NoRowError, PointError
from .point import DISTRIBUTIONS, Point
from .process import profile
from .process.run_point import measure_point
from .replicate import read_first
from .row import check_writable, write_row
from .status import RIGHT, Status

MAX_PID = 2**22  # the largest of Linux


def parser() -> argparse.ArgumentParser:
    top = argparse.ArgumentParser(prog="python -m measure", description=__doc__)
    point = top.add_subparsers(dest="command", required=True).add_parser(
        "point",
        help="measure one point and write its row",
        formatter_class=argparse.ArgumentDefaultsHelpFormatter,
        epilog="The exit code is 0 if a row was written, even if the kernel is wrong, crashes or "
        "cannot be loaded: the row's status says so, and --strict turns that into 1. It is 2 if no "
        "row was written, or no profile.",
    )

    def add(name: str, **options) -> None:
        field = options.get("dest", name.strip("-").replace("-", "_"))
        point.add_argument(name, **{"default": getattr(Point, field, None)} | options)

    add("--gpu", default=gpus.AUTO, help="slug of the device: auto, cpu, h200, …")
    add("--op", help=f"one of: {', '.join(operations.names())}")
    add("--dtype", default="float32", help=f"one of: {', '.join(kernels.DTYPES)}")
    add("--distribution", help=f"one of: {', '.join(DISTRIBUTIONS)}")
    add("--M", type=int, required=True, help="rows")
    add("--N", type=int, required=True, help="columns")
    add("--variant", help="file stem in kernels/, or a config; without it, the stem of --kernel")
    from_outside = "a .py file with a kernel, to measure or to import; may be repeated"
    add("--kernel", action="append", default=[], dest="files", metavar="FILE", help=from_outside)
    another = "a .py file with an operation, which --op names; may be repeated"
    files = {"action": "append", "default": [], "dest": "operation_files", "metavar": "FILE"}
    add("--operation", **files, help=another)
    add("--seed", type=int, help="seed of the input")
    add("--blocks", type=int, help="number of timed blocks")
    add("--replicate", type=int, help="number of this measurement of the point")
    add("--fingerprint", help="that of the plan; no row is written if the one here is another")
    add("--checked", type=Path, metavar="ROW", help="row of replicate 1, to skip its checks")
    until = "seconds after which the point is killed"
    add("--timeout", type=float, dest="timeout_s", metavar="S", help=until)
    add("--profile", type=Path, metavar="FILE", help="file for Nsight Compute's profile of a call")
    wrong = "exit with 1 if the kernel is wrong or does not run"
    add("--strict", action="store_true", default=False, help=wrong)
    add("--output", type=Path, required=True, help="file of the row; samples are written beside")
    owner = "use the fork server of the process PID, which has torch loaded and ends with that "
    owner += "process; without this option the point starts a server for itself"
    add("--served-for", type=_process, metavar="PID", help=owner)
    return top


def _process(text: str) -> int:
    if not text.isdecimal() or not 0 < int(text) <= MAX_PID:
        raise argparse.ArgumentTypeError(f"{text!r} is not the number of a process")
    return int(text)


def main(argv: list[str] | None = None) -> int:
    """Return the exit code: 0 if a row was written, 1 as --strict says, 2 if none was."""
    # On SIGTERM, kill the worker and remove temporary files, as on Ctrl-C.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))
    options = vars(parser().parse_args(argv))
    del options["command"]  # there is only one
    try:
        return _point(options)
    except (PointError, kernels.KernelFileError, NoRowError, profile.ProfileError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 2


def _point(options: dict) -> int:
    taken = ("output", "served_for", "checked", "profile", "strict")
    output, owner, checked, profile_file, strict = (options.pop(name) for name in taken)
    options["gpu"] = gpus.resolve(options["gpu"])
    own = {file: variant_of_file(file) for file in options["files"]}
    if options["variant"] is None:
        if len(own) != 1:
            raise PointError("no variant is named; give --variant NAME, or one --kernel FILE")
        ((file, name),) = own.items()
        options["variant"] = name or Path(file).stem
    options["files"] = [file for file, name in own.items() if not name]
    with _writing(output):  # tried before time is spent on the measurement
        check_writable(output)
    point = Point(**options)
    if profile_file:
        profile.require_profiler(point, profile_file)  # before time is spent, too
    row, samples = measure_point(point, owner, checked and read_first(checked, point))
    with _writing(output):
        write_row(output, row, samples)
    print(summary(row))
    if profile_file and row["status"] == Status.OK:
        print(f"  profile     {profile.write_profile(point, profile_file)}")
    return int(strict and row["status"] not in RIGHT)


@contextlib.contextmanager
def _writing(output: Path) -> Iterator[None]:
    """Turn an OSError into NoRowError, which names the file of the row."""
    try:
        yield
    except OSError as error:
        raise NoRowError(f"cannot write {output}: {error.strerror}") from error


# Lines for a person who measures by hand, each shown if the row has a value of its column.
SUMMARY = (
    ("variant", "{variant}  {M} x {N} {dtype} ({distribution})  on {gpu_name} [{gpu}]"),
    ("status", "  status      {status}{message}"),
    (
        "max_abs_error",
        "  accuracy    max abs error {max_abs_error:.2e}, relative {max_rel_error:.2e}",
    ),
    ("max_row_sum_error", "              row sum error {max_row_sum_error:.2e}"),
    (
        "time_us",
        "  time        {time_us:.3f} µs cold (q20 {time_us_q20:.3f}, q80 {time_us_q80:.3f}; "
        "{n_samples} blocks)",
    ),
    ("warm_us", "              {warm_us:.3f} µs warm"),
    (
        "time_us",
        "  throughput  {throughput_gbps:.1f} GB/s = {of_copy:.1%} of a copy ({copy_us:.3f} µs)\n"
        "  speed-up    {speedup:.4f} over torch [{speedup_low:.4f}, {speedup_high:.4f}] "
        "(torch {torch_us:.3f} µs)\n"
        "  noise floor torch against itself {aa_ratio:.4f} [{aa_low:.4f}, {aa_high:.4f}]",
    ),
    ("of_meet", "              {of_meet:.1%} of reading, meeting and writing ({meet_us:.3f} µs)"),
    (
        "eager_speedup",
        "  eager       {latency_us:.2f} µs of host time per call (torch {torch_latency_us:.2f}); "
        "{eager_speedup:.4f} over torch [{eager_speedup_low:.4f}, {eager_speedup_high:.4f}]",
    ),
    (
        "registers",
        "  kernel      {registers} registers, {spilled_bytes} B spilled, {shared_bytes} B "
        "shared, {num_warps} warps, {blocks_per_sm} blocks per SM",
    ),
    ("flags", "  flags       {flags}"),
)


def summary(row: dict) -> str:
    """Return a row as lines of text, for a person who measures by hand."""
    shown = row | {"message": f": {row['message']}" if row.get("message") else ""}
    return "\n".join(line for column, line in SUMMARY if row.get(column) not in ("", None)).format(
        **shown
    )


if __name__ == "__main__":
    replace_missing_characters()
    code = main()
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)  # nothing is left to do, and Python's own exit takes 10 ms
