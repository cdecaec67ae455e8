# Which row-softmax kernel is fastest on your GPU: config.yaml says what to run, results/report.md
# what came of it.
import os
import sys
from pathlib import Path

from snakemake.exceptions import WorkflowError
from snakemake.utils import min_version

min_version("9.19.0")  # the oldest that was tried
sys.path.insert(0, workflow.basedir)
from workflow import clock, cluster, config as checks, lock, machine, optional, records, sweep

optional.plan()


configfile: "config.yaml"


# where the packages are, as seen from where jobs run: the same in every copy of the project
ROOT = os.path.relpath(workflow.basedir)
RESULTS = Path(ROOT, "results")

try:
    checks.check(config)
    cluster.check(config["gpus"], workflow.resource_settings.overwrite_resources.get("point", {}))
    POINTS = {gpu: sweep.points(config, gpu) for gpu in sweep.gpu_names(config)}
    SETS = sweep.figure_sets(config, Path(RESULTS, "recorded"), Path(RESULTS, "published"))
except checks.ConfigError as error:
    raise WorkflowError(str(error)) from None


include: "workflow/rules/common.smk"
include: "workflow/rules/measure.smk"
include: "workflow/rules/analysis.smk"


optional.show(workflow, points=len(BY_ROW))


rule all:
    input:
        # All by name: Snakemake makes a lost file again only where it is asked for.
        "results/report.md",
        "results/summary.csv",
        "results/claims.csv",
        FIGURES,
        list(BY_ROW),
        [str(row.samples_path(Path(path))) for path in BY_ROW],


onstart:
    optional.say(workflow, [sweep.announce(config, *each) for each in POINTS.items()])
    pending = [j for j in workflow.dag.needrun_jobs() if j.rule.name == "point"]
    # on a cluster the GPUs are elsewhere; each job looks for itself
    fault = machine.lacks({j.wildcards.gpu for j in pending}) if workflow.local_exec else None
    fault = fault or lock.take(Path("results/cells")) or records.adopt(workflow, point_of)
    if fault:
        raise WorkflowError(fault)
    optional.run(workflow)
    clock.bring_to_now(path for job in workflow.dag.jobs for path in job.input)
    if not workflow.local_exec:
        cluster.clear(pending)
