# What the rules share: where things are, which files there will be.
import kernels
from measure import fingerprint, row
from workflow import published

BY_ROW = {sweep.row_path(p): p for points in POINTS.values() for p in points}
TABLES = sorted(map(str, Path(RESULTS, "published").iterdir()))
RECORDED = list(map(str, sweep.recorded_tables(list(POINTS), Path(RESULTS, "recorded"))))
FIGURE = "results/figures/{gpu}_{dtype}_{sweep}_"
KINDS = [f"{kind}.{form}" for kind in ("time", "throughput", "speedup") for form in ("svg", "png")]
BARS = ["published.svg", "published.png"]
# every set over N; where a published table is short enough, it is drawn beside the measured rows
FIGURES = [
    FIGURE.format(gpu=gpu, dtype=dtype, sweep=name) + kind
    for sets, kinds in (
        (SETS, KINDS),
        (published.with_bars(SETS, Path(RESULTS, "published")), BARS),
    )
    for gpu, dtype, name in sets
    for kind in kinds
]
# editing analysis/ draws and writes everything again, and measures nothing
ANALYSIS = sweep.code_sha256(Path(ROOT, "analysis"))

# whether a profile for a cluster is in use, which says how many points go together
ON_CLUSTER = cluster.TABLE in workflow.resource_settings.overwrite_resources.get("point", {})


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


def of_point(value):
    """``value(point)`` for a rule: where it is the same for all, itself, which is planned faster."""
    found = {value(p) for p in BY_ROW.values()}
    return found.pop() if len(found) == 1 else lambda wildcards: value(point_of(wildcards))


def group_of(wildcards):
    return f"point_{wildcards.gpu}"
