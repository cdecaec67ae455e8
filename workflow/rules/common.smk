# What the rules share: where things are, which files there will be.
import kernels
from measure import fingerprint, row

BY_ROW = {sweep.row_path(p): p for points in POINTS.values() for p in points}
TABLES = sorted(map(str, Path(RESULTS, "published").iterdir()))
RECORDED = list(map(str, sweep.recorded_tables(list(POINTS), Path(RESULTS, "recorded"))))
FIGURE = "results/figures/{gpu}_{dtype}_{sweep}_"
KINDS = [f"{kind}.{form}" for kind in ("time", "throughput", "speedup") for form in ("svg", "png")]
FIGURES = [
    FIGURE.format(gpu=gpu, dtype=dtype, sweep=name) + kind
    for gpu, dtype, name in SETS
    for kind in KINDS
]
# editing analysis/ draws and writes everything again, and measures nothing
ANALYSIS = sweep.code_sha256(Path(ROOT, "analysis"))


wildcard_constraints:
    gpu="[a-z0-9]+",
    op="[a-z_]+",
    dtype="[a-z0-9]+",
    distribution="[a-z]+",
    M=r"\d+",
    N=r"\d+",
    variant="[A-Za-z0-9_]+",


def point_of(wildcards):
    return BY_ROW[sweep.ROW.format(**wildcards)]
