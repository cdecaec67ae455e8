# Which row-softmax kernel is fastest on your GPU: config.yaml says what to run, results/report.md
# what came of it.
import gc
import os
import sys
from pathlib import Path

from snakemake.exceptions import WorkflowError
from snakemake.utils import min_version

min_version("9.0")
sys.path.insert(0, workflow.basedir)
# Ten thousand jobs are millions of objects that live to the end; looking through them for garbage
# at Python's usual pace takes a fifth of the planning.
gc.set_threshold(200_000, 50, 50)

from workflow import config as checks, machine, sweep


configfile: "config.yaml"


# where the packages are, as seen from where jobs run: the same in every copy of the project
ROOT = os.path.relpath(workflow.basedir)
RESULTS = Path(ROOT, "results")

try:
    checks.check(config)
    POINTS = {gpu: sweep.points(config, gpu) for gpu in sweep.gpu_names(config)}
    SETS = sweep.figure_sets(config, Path(RESULTS, "recorded"), Path(RESULTS, "published"))
except checks.ConfigError as error:
    raise WorkflowError(str(error)) from None


include: "workflow/rules/common.smk"
include: "workflow/rules/measure.smk"
include: "workflow/rules/analysis.smk"


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
    for gpu, chosen in POINTS.items():
        print(sweep.announce(config, gpu, chosen), file=sys.stderr)
    pending = {j.wildcards.gpu for j in workflow.dag.needrun_jobs() if j.rule.name == "point"}
    # on a cluster the GPUs are elsewhere; each job looks for itself
    fault = machine.lacks(pending) if workflow.local_exec else None
    if fault:
        raise WorkflowError(fault)
