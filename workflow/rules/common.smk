# What the rules share: where things are, which files there will be.
import kernels
from measure import fingerprint, row
from workflow import published


def of_project(paths):
    """Files that come with the project: no prefix of an importing workflow goes before them."""
    return [local(str(path)) for path in paths]


BY_ROW = {sweep.row_path(p): p for points in POINTS.values() for p in points}
ROWS = [*BY_ROW, *(str(row.samples_path(Path(path))) for path in BY_ROW)]
TABLES = of_project(sorted(Path(ROOT, "data", "published").iterdir()))
RECORDED = sweep.recorded_tables(list(POINTS), Path(ROOT, "data", "recorded"))
FOLDERS = of_project(sorted(p for p in Path(ROOT, "data", "recorded").glob("*") if p.is_dir()))
FIGURE = "results/figures/{gpu}_{dtype}_{sweep}_"
FORMS = [".svg", ".pdf", ".png"]
OVER_N = ["time", "throughput", "speedup"]
BARS = ["published"]
OVERVIEW = [f"results/figures/overview{form}" for form in FORMS]
# every set over N; where a published table is short enough, it is drawn beside the measured rows
FIGURES = [
    FIGURE.format(gpu=gpu, dtype=dtype, sweep=name) + kind + form
    for sets, kinds in (
        (SETS, OVER_N),
        (published.with_bars(SETS, Path(ROOT, "data", "published")), BARS),
    )
    for gpu, dtype, name in sets
    for kind in kinds
    for form in FORMS
] + OVERVIEW
# editing analysis/ draws and writes everything again, and measures nothing
ANALYSIS = sweep.code_sha256(Path(ROOT, "analysis"))
# whether a profile for a cluster is in use, which says how many points go together
ON_CLUSTER = bool(SLURM)
COMMAND = sweep.command(
    workflow.config_settings.configfiles,
    workflow.config_settings.config,
    snakefile=Path(workflow.main_snakefile),
    root=ROOT,
    on_cluster=ON_CLUSTER,
)


wildcard_constraints:
    gpu="[a-z0-9]+",
    op="[a-z_]+",
    dtype="[a-z0-9]+",
    distribution="[a-z]+",
    M=r"\d+",
    N=r"\d+",
    variant="[A-Za-z0-9_]+",


def point_of(wildcards):
    return known(BY_ROW, sweep.ROW.format(**wildcards), "row")


def rows_of(wildcards):
    return [sweep.row_path(p) for p in known(POINTS, wildcards.gpu, "GPU")]


def known(found, name, what):
    """``found[name]``; where there is none, somebody asked for a file by a name of his own."""
    if name not in found:
        raise WorkflowError(f"the sweep {config['sweep']} has no {what} {name}: see its config")
    return found[name]


def of_point(value):
    """``value(point)`` for a rule: where it is the same for all, itself, which is planned faster."""
    found = {value(p) for p in BY_ROW.values()}
    return found.pop() if len(found) == 1 else lambda wildcards: value(point_of(wildcards))


def group_of(wildcards):
    return f"point_{wildcards.gpu}"


def drawn(kinds):
    """The files of a set's figures; ``snakemake --report`` takes the SVG, which is smaller."""
    for kind in kinds:
        yield report(
            f"{FIGURE}{kind}.svg",
            caption=f"../report/{kind}.rst",
            category="{gpu}",
            subcategory="{sweep}",
            labels={"dtype": "{dtype}", "figure": kind},
        )
        yield from (f"{FIGURE}{kind}{form}" for form in FORMS[1:])


def tabulated(path, what):
    """A table, as ``snakemake --report`` shows it."""
    return report(path, caption=f"../report/{what}.rst", category="Tables", labels={"table": what})


def whole(path, form):
    """A form of the report as a whole, as ``snakemake --report`` shows it."""
    labels = {"form": form}
    return report(path, caption="../report/report.rst", category="Report", labels=labels)


def folder_of_tables(wildcards, input):
    return os.path.dirname(input.tables[0])


def folder_of_figures(wildcards, input):
    return os.path.dirname(input.figures[0])


def folder_of_output(wildcards, output):
    return os.path.dirname(output[0])
