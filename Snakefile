# Which row-softmax kernel is fastest on your GPU: config.yaml says what to run, results/report.md
# what came of it.
import os
import sys
from pathlib import Path

from snakemake.exceptions import WorkflowError
from snakemake.utils import min_version

min_version("9.19.0")  # the oldest that was tried

# where the packages are, as seen from where jobs run: the same in every copy of the project
ROOT = os.path.relpath(os.path.dirname(workflow.snakefile))
# not imported by another workflow, to which the screen would then belong
ALONE = workflow.snakefile == workflow.main_snakefile
if not os.path.isfile(workflow.snakefile):
    raise WorkflowError(
        f"{workflow.snakefile} is not on this disk, and alone it is of no use. Clone the project, "
        "and import the Snakefile of the clone."
    )
sys.path.insert(0, os.path.abspath(ROOT))
from workflow import clock, cluster, config as checks, lock, machine, optional, records, sweep

if ALONE and os.path.exists("config.yaml"):

    configfile: "config.yaml"


SLURM = cluster.resources(workflow.resource_settings.overwrite_resources)

try:
    config = checks.completed(config, Path(ROOT, "config.yaml"))
    checks.check(config)
    cluster.check(config["gpus"], SLURM)
    POINTS = {gpu: sweep.points(config, gpu) for gpu in sweep.gpu_names(config)}
    SETS = sweep.figure_sets(config, Path(ROOT, "data", "recorded"), Path(ROOT, "data", "published"))
except checks.ConfigError as error:
    raise WorkflowError(str(error)) from None


report: "workflow/report/workflow.rst"


include: "workflow/rules/common.smk"
include: "workflow/rules/measure.smk"
include: "workflow/rules/analysis.smk"


CELLS = sweep.cells(rules.point.output.row)
if ALONE:
    optional.show(workflow, points=len(BY_ROW))


rule all:
    """Everything: rows, tables, figures, report."""
    input:
        # All by name: Snakemake makes a lost file again only where it is asked for.
        "results/report.md",
        "results/report.html",
        "results/summary.csv",
        "results/claims.csv",
        FIGURES,
        ROWS,
    localrule: True


onstart:
    optional.say(workflow, [sweep.announce(config, *each) for each in POINTS.items()])
    pending = [j for j in workflow.dag.needrun_jobs() if j.rule.name == rules.point.rule.name]
    # on a cluster the GPUs are elsewhere, each job looks for itself; --touch needs none
    here = workflow.local_exec and not workflow.touch
    fault = machine.lacks({j.wildcards.gpu for j in pending}) if here else None
    fault = fault or lock.take(CELLS)
    fault = fault or records.adopt(workflow, rules.point.rule.name, point_of, CELLS.parent)
    if fault:
        raise WorkflowError(fault)
    clock.bring_to_now(path for job in workflow.dag.jobs for path in job.input)
    if not workflow.local_exec:
        cluster.clear(pending)
