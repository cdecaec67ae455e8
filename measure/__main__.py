"""``python -m measure point …`` measures one point and writes its row."""

import argparse
import os
import signal
import sys
from pathlib import Path

import kernels

from .device import gpus
from .point import DISTRIBUTIONS, BadPoint, NoRow, Point
from .process.run_point import measure_point
from .row import IDENTITY, read, write


def parser() -> argparse.ArgumentParser:
    """Return the command line's parser."""
    top = argparse.ArgumentParser(prog="python -m measure", description=__doc__)
    commands = top.add_subparsers(dest="command", required=True)

    point = commands.add_parser(
        "point",
        help="measure one point and write its row",
        epilog="Exits with 0 if there is a row, even of a kernel that is wrong, crashes or cannot "
        "be loaded: the row's status says so. Exits with 2 if there is none.",
    )
    add = point.add_argument
    add("--gpu", default=gpus.AUTO, help="slug of the device: auto, cpu, h200, … (default auto)")
    add("--op", default="softmax", help=f"one of: {', '.join(kernels.OPS)} (default %(default)s)")
    add(
        "--dtype",
        default="float32",
        help=f"one of: {', '.join(kernels.DTYPES)} (default %(default)s)",
    )
    add("--distribution", default="uniform", help=f"one of: {', '.join(DISTRIBUTIONS)}")
    add("--M", type=int, required=True, help="rows")
    add("--N", type=int, required=True, help="columns")
    add("--variant", help="file stem in kernels/, or a package's (default: that of --kernel)")
    add(
        "--kernel",
        action="append",
        default=[],
        dest="files",
        metavar="FILE",
        help="a .py file from outside kernels/: its stem may be the variant",
    )
    add("--seed", type=int, default=Point.seed, help="of the input (default %(default)s)")
    add("--blocks", type=int, default=Point.blocks, help="to time (default %(default)s)")
    add(
        "--replicate",
        type=int,
        default=Point.replicate,
        help="number of this measurement of the point (default %(default)s)",
    )
    add(
        "--checked",
        type=Path,
        metavar="FIRST_ROW",
        help="the row of replicate 1: what it has checked is not checked again",
    )
    add(
        "--timeout",
        type=float,
        default=Point.timeout_s,
        dest="timeout_s",
        metavar="S",
        help="kill the point after this many seconds in all (default %(default)s)",
    )
    add("--output", type=Path, required=True, help="the row; its samples are written beside it")
    add(
        "--served-for",
        type=int,
        metavar="PID",
        help="fork from a server that has torch loaded; all points that name the same process "
        "share the server, which ends with that process (default: a fresh Python)",
    )
    return top


def main(argv: list[str] | None = None) -> int:
    """Return the exit code: 0 if a row was written, whatever its status; else 2."""
    # A cancelled job kills its worker and removes its temporary files, as an interrupted one does.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))
    arguments = vars(parser().parse_args(argv))
    output, owner = arguments.pop("output"), arguments.pop("served_for")
    checked = arguments.pop("checked")
    del arguments["command"]  # there is only one
    try:
        _point(arguments, output, owner, checked)
    except (BadPoint, NoRow) as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    return 0


def _point(arguments: dict, output: Path, owner: int | None, checked: Path | None) -> None:
    arguments["gpu"] = gpus.resolve(arguments["gpu"])
    if arguments["variant"] is None:
        arguments["variant"] = _only(arguments["files"])
    _refuse_unwritable(output)
    point = Point(**arguments)
    row, samples = measure_point(point, owner, checked and _first_row(checked, point))
    try:
        write(output, row, samples)
    except OSError as error:
        raise NoRow(f"cannot write {output}: {error.strerror}") from error
    print(summary(row))


def _first_row(path: Path, point: Point) -> dict:
    """Return the row of a point's first replicate. Raises BadPoint if it is another's."""
    try:
        first = read(path)
    except (OSError, ValueError) as error:
        raise BadPoint(f"--checked {path}: {error}") from error
    for name in IDENTITY:
        wanted = 1 if name == "replicate" else getattr(point, name)
        if first[name] != wanted:
            raise BadPoint(f"--checked {path}: its {name} is {first[name]!r}, not {wanted!r}")
    return first


def _refuse_unwritable(output: Path) -> None:
    """Raise NoRow if the row cannot be written, before time is spent on it."""
    try:
        output.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise NoRow(f"cannot write {output}: {error.strerror}") from error
    if output.is_dir():
        raise NoRow(f"cannot write {output}: it is a folder; name a file, as {output}/row.csv")
    if not os.access(output.parent, os.W_OK):
        raise NoRow(f"cannot write {output}: {output.parent} may not be written to")


def _only(files: list[str]) -> str:
    """Return the variant of the only file, if none is named. Raises BadPoint."""
    if len(files) != 1:
        raise BadPoint(
            "no variant is named; give --variant NAME, or the path of a kernel by --kernel FILE"
        )
    return Path(files[0]).stem


def summary(row: dict) -> str:
    """Return the lines that a person who measures by hand reads."""
    lines = [
        f"{row['variant']}  {row['M']} x {row['N']} {row['dtype']} ({row['distribution']})"
        f"  on {row['gpu_name']} [{row['gpu']}]",
        f"  status      {row['status']}" + (f": {row['message']}" if row.get("message") else ""),
    ]
    if row.get("max_abs_error") is not None:
        lines.append(
            f"  accuracy    max abs error {row['max_abs_error']:.2e}, relative "
            f"{row['max_rel_error']:.2e}, row sum {row['max_row_sum_error']:.2e}"
        )
    if row["status"] == "ok":
        lines += _times(row)
    if row.get("registers") is not None:
        lines.append(
            f"  kernel      {row['registers']} registers, {row['spilled_bytes']} B spilled, "
            f"{row['shared_bytes']} B shared, {row['num_warps']} warps, "
            f"{row['blocks_per_sm']} blocks per SM"
        )
    if row.get("flags"):
        lines.append(f"  flags       {row['flags']}")
    return "\n".join(lines)


def _times(row: dict) -> list[str]:
    lines = [
        f"  time        {row['time_us']:.3f} µs cold "
        f"(q20 {row['time_us_q20']:.3f}, q80 {row['time_us_q80']:.3f}; "
        f"{row['n_samples']} blocks)"
        + (f", warm {row['warm_us']:.3f} µs" if row.get("warm_us") is not None else ""),
        f"  throughput  {row['throughput_gbps']:.1f} GB/s = {row['of_copy']:.1%} of a copy "
        f"({row['copy_us']:.3f} µs)",
        f"  speed-up    {row['speedup']:.4f} over torch "
        f"[{row['speedup_low']:.4f}, {row['speedup_high']:.4f}] (torch {row['torch_us']:.3f} µs)",
        f"  noise floor torch against itself {row['aa_ratio']:.4f} "
        f"[{row['aa_low']:.4f}, {row['aa_high']:.4f}]",
    ]
    if row.get("latency_us") is not None:
        lines.append(f"  latency     {row['latency_us']:.2f} µs of host time per eager call")
    return lines


if __name__ == "__main__":
    code = main()
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)  # nothing is left to do, and Python's own exit takes 10 ms
