# Which row-softmax kernel is fastest on your GPU: config.yaml says what to measure,
# results/report.html has the answer.
import os
import sys

from snakemake.utils import min_version

min_version("9.19.0")  # the oldest version that was tried
# This project's folder, also where another workflow uses it as a module.
PROJECT = str(workflow.current_basedir)
sys.path.insert(0, PROJECT)


# Keys that the user gives: by --configfile, --config, a workflow that uses this one as a module, or a
# config.yaml of another folder.
GIVEN_KEYS = set(config)
# where the sweep runs (--directory); common.smk adds the defaults of the keys that it lacks
if os.path.exists("config.yaml"):

    configfile: "config.yaml"

    if not os.path.samefile("config.yaml", os.path.join(PROJECT, "config.yaml")):
        GIVEN_KEYS = set(config)


report: "workflow/report/workflow.rst"


include: "workflow/rules/common.smk"


rule all:
    """Make everything: rows, tables, figures, reports."""
    input:
        # every file by name: Snakemake makes a missing file again only if it is asked for
        f"{RESULTS}/report.md",
        f"{RESULTS}/report.html",
        f"{RESULTS}/summary.csv",
        f"{RESULTS}/claims.csv",
        FIGURES,
        ROW_FILES,


include: "workflow/rules/measure.smk"
include: "workflow/rules/analysis.smk"
