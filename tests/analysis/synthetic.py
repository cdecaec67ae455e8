"""Synthetic rows with the columns of the real schema: deterministic, and plausible in size."""

import csv
import gzip
import zlib
from pathlib import Path

import kernels
from analysis import frame, ranking, row_files, schema
from analysis.eligibility import mark_ranked
from measure import fingerprint
from measure.row import SCHEMA_VERSION

ONLINE_SIZES = [2**i for i in range(8, 18)]
ONEFLOW_SIZES = [16, 32, 64, 128, 512]
PAIR = "cuda_oneflow", "cuda_fastertransformer"

# Share of the memory rate of a made-up GPU of 4000 GB/s that each variant reaches.
SHARE = {
    "torch_softmax": 0.60,
    "torch_naive": 0.13,
    "torch_jit": 0.20,
    "triton_fused": 0.80,
    "triton_tiled": 0.55,
    "triton_tiled_nocache": 0.50,
    "triton_online": 0.72,
    "triton_online_nocache": 0.68,
    "triton_persistent": 0.84,
    "triton_row": 0.82,
}
VARIANTS, TRITON = tuple(SHARE), tuple(SHARE)[3:]
COPY_SHARE, PEAK_GBPS, LAUNCH_US = 0.90, 4000.0, 2.0


def time_us(variant: str, m: int, n: int, itemsize: int) -> float:
    """Time of a made-up kernel: a fixed cost and its share of the memory rate."""
    share = COPY_SHARE if variant == "copy" else SHARE.get(variant, 0.4)
    wobble = 1 + (zlib.crc32(f"{variant}{m}{n}".encode()) % 1000 - 500) / 100_000
    return (LAUNCH_US + 2 * m * n * itemsize / 1000 / (share * PEAK_GBPS)) * wobble


def row(**columns) -> dict[str, str]:
    """One row as text; `given` replaces columns. With a status that is not ok, no times."""
    point = {
        "gpu": "h200",
        "op": "softmax",
        "dtype": "float32",
        "distribution": "uniform",
        "M": 1024,
        "N": 1024,
        "variant": "triton_online",
    }
    point |= {name: columns[name] for name in point if name in columns}
    values = point | {"seed": 3407, "blocks": 51, "replicate": 1, "status": "ok"}
    values |= _provenance(point["gpu"])
    if columns.get("status", "ok") == "ok":
        values |= _times(point)
    values |= columns
    unknown = set(values) - set(schema.COLUMNS)
    assert not unknown, f"not columns of a row: {unknown}"
    return {name: _text(values.get(name, "")) for name in schema.COLUMNS}


def code_of(variant: str, op: str = "softmax") -> dict[str, str]:
    """The hashes of the current code."""
    return {
        "kernel_sha256": kernels.kernel_sha256(variant),
        "measure_sha256": fingerprint.measure_sha256(op),
        "fingerprint": fingerprint.fingerprint(variant, op),
    }


def with_speedup(value: float, half: float = 0.002, **columns) -> dict[str, str]:
    """A row whose paired speed-up over torch is `value` ± `half`."""
    interval = {"speedup": value, "speedup_low": value - half, "speedup_high": value + half}
    return row(**interval, **columns)


def with_speedups(speeds: dict, sizes=(65536,), half=0.0005, **columns) -> list[dict[str, str]]:
    """Rows of variants with such speed-ups at each size."""
    return [
        with_speedup(value, half, variant=name, N=n, **columns)
        for n in sizes
        for name, value in speeds.items()
    ]


def sweep_rows(sizes=ONLINE_SIZES, variants=VARIANTS, **columns) -> list[dict[str, str]]:
    """A row for every variant and size."""
    return [row(variant=variant, N=n, **columns) for n in sizes for variant in variants]


def oneflow_rows(fast=2.0, half=0.002, sizes=ONEFLOW_SIZES) -> list[dict[str, str]]:
    """Rows of the OneFlow protocol: OneFlow is `fast` times as fast as FasterTransformer."""
    speeds = dict(zip(PAIR, (fast, 1.0), strict=True))
    shapes = [{"sizes": [n], "M": 2048 * n, "distribution": "normal"} for n in sizes]
    return [row for shape in shapes for row in with_speedups(speeds, half=half, **shape)]


def frame_of(rows, sweep="online_softmax", origin="measured"):
    """A typed frame of collected rows."""
    leading = {"sweep": sweep, "origin": origin}
    return frame.from_rows(mark_ranked(leading | row for row in rows))


def ranked(rows, **options):
    """A frame of ranked variants."""
    return ranking.rank_variants(frame_of(rows, **options))


def write_row(root: Path, values: dict[str, str]) -> Path:
    """Write a row and its samples where the pipeline puts them below `root`/rows."""
    path = row_files.row_path(Path(root, "rows"), values)
    write_csv(path, [values])
    samples = [("block", "order", "series", "time_us")]
    if values["time_us"]:
        samples += [(0, 0, "variant", values["time_us"]), (0, 1, "torch", values["torch_us"])]
    text = "".join(",".join(str(part) for part in line) + "\n" for line in samples)
    path.with_suffix(".samples.csv.gz").write_bytes(gzip.compress(text.encode(), mtime=0))
    return path


def write_csv(path: Path, lines: list[dict[str, str]], leading: tuple[str, ...] = ()) -> Path:
    """Write rows with the plain header, after the columns `leading`."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w", newline="", encoding="utf-8") as file:
        names = [*leading, *schema.COLUMNS]
        writer = csv.DictWriter(file, names, lineterminator="\n")
        writer.writeheader()
        writer.writerows(lines)
    return path


def _times(point: dict) -> dict[str, object]:
    m, n, itemsize = int(point["M"]), int(point["N"]), schema.ITEMSIZE[point["dtype"]]
    matrices = 3 if point["op"].endswith("_backward") else 2
    own = time_us(point["variant"], m, n, itemsize)
    copy, torch = (time_us(name, m, n, itemsize) for name in ("copy", "torch_softmax"))
    speedup = torch / own
    return {
        "time_us": own,
        "time_us_q20": own * 0.99,
        "time_us_q80": own * 1.02,
        "latency_us": 9.5,
        "torch_latency_us": 7.6,
        "eager_speedup": max(torch, 7.6) / max(own, 9.5),
        "eager_speedup_low": max(torch, 7.6) / max(own, 9.5) * 0.99,
        "eager_speedup_high": max(torch, 7.6) / max(own, 9.5) * 1.01,
        "timing": "graph",
        "n_samples": 40,
        "copy_us": copy,
        "torch_us": torch,
        "speedup": speedup,
        "speedup_low": speedup * 0.997,
        "speedup_high": speedup * 1.003,
        "of_copy": copy / own,
        "aa_ratio": 1.0005,
        "aa_low": 0.999,
        "aa_high": 1.002,
        "throughput_gbps": matrices * m * n * itemsize / own / 1000,
        "max_abs_error": 2e-12,
        "max_rel_error": 3e-7,
        "max_row_sum_error": 4e-7,
    }


def _provenance(gpu: str) -> dict[str, object]:
    return {
        "gpu_name": {"h200": "NVIDIA H200", "a100": "NVIDIA A100-PCIE-40GB"}.get(gpu, gpu),
        "gpu_uuid": "GPU-1",
        "driver": "570.124",
        "cuda": "12.8",
        "torch": "2.11.0",
        "triton": "3.6.0",
        "native_overrides": "disabled",
        "switches": "none",
        "baseline": "torch_softmax",
        "python": "3.12.3",
        "git_commit": "0123456789abcdef0123456789abcdef01234567",
        "git_dirty": "false",
        "fingerprint": "12345678",
        "timeout_s": 120,
        "schema_version": SCHEMA_VERSION,
        "hostname": "synthetic",
        "started_at": "2026-11-20T10:00:00Z",
        "wall_s": 3.5,
    }


def _text(value: object) -> str:
    return f"{value:.9g}" if isinstance(value, float) else str(value)
