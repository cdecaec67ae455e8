# What the rules share: the config, the points, and the names of all files.
import json
import os
from pathlib import Path

import yaml
from snakemake.logging import logger

import kernels
import operations
from kernels.terminal import replace_missing_characters
from measure import fingerprint, row
from planning import attempts, internals, machine, points, single_shape, tables, validate

replace_missing_characters()  # a dry run and --summary print to standard output

# The start of every command. PYTHONSAFEPATH: jobs import this project's packages, not folders of the
# same names beside results/. Not in shell.prefix, which also changes the rules of a workflow that uses
# this one as a module; nor with the path itself, because a moved project has the same commands.
os.environ.update(SOFTMAX_BENCH=PROJECT)
SETUP = (
    "export PYTHONSAFEPATH=1 PYTHONUTF8=1"
    " PYTHONPATH=$SOFTMAX_BENCH${{PYTHONPATH:+:$PYTHONPATH}};"
)
if set("{}") & set(PROJECT):
    raise validate.ConfigError(
        f"{PROJECT}: braces in the path of the project would be wildcards to Snakemake; "
        "rename the folder"
    )
# relative, so that a copy of the project has the same file names
ROOT = Path(os.path.relpath(PROJECT))

# the defaults: a config.yaml where the sweep runs, and a workflow that uses this one as a module,
# give only the keys that they change
defaults = yaml.safe_load(Path(PROJECT, "config.yaml").read_text(encoding="utf-8"))
config.update(defaults | config)
single_shape.expand_words(config, GIVEN_KEYS)
validate.validate_config(config)

EXPANDED_POINTS = {gpu: points.expand(config, gpu) for gpu in points.gpu_names(config)}
POINTS = points.within_limits(EXPANDED_POINTS)
for gpu, expanded in EXPANDED_POINTS.items():
    logger.info(points.announce(config, gpu, expanded, POINTS.get(gpu, [])))
POINT_BY_ROW = {points.row_path(p): p for chosen in POINTS.values() for p in chosen}
ROW_FILES = [*POINT_BY_ROW, *(str(row.samples_path(Path(path))) for path in POINT_BY_ROW)]

PUBLISHED = ROOT / "data" / "published"
PUBLISHED_FILES = [PUBLISHED / tables.SOURCES, *sorted(PUBLISHED.glob("*.csv"))]
RECORDED = tables.recorded_tables(POINTS, ROOT / "data" / "recorded")
RECORDED_PROVENANCE = [path.with_suffix(".yaml") for path in RECORDED]
# a report of recorded rows alone does not replace a run's own
RESULTS = "results" if POINTS else "results/recorded"
# a run draws what it measured, and the A100 of the literature
DRAWN_GPUS = [*POINTS, "a100"] if POINTS else tables.gpus(RECORDED, PUBLISHED)
# `all`: figures that cover every GPU
FIGURES = expand(f"{RESULTS}/figures/{{gpu}}", gpu=dict.fromkeys(["all", *DRAWN_GPUS]))
WORKLOADS = json.dumps(single_shape.workloads(config, sorted((ROOT / "sweeps").glob("*.yaml"))))
REPRODUCE_COMMAND = points.reproduce_command(
    *internals.given_configs(workflow), Path(workflow.basedir)
)


wildcard_constraints:
    **dict.fromkeys((*row.IDENTITY, "fingerprint"), r"\w+"),


def require_in_sweep(known, name, what):
    """Return `known[name]`. Raise ConfigError if the sweep does not make the requested file."""
    if name not in known:
        raise validate.ConfigError(
            f"the sweep {config['sweep']} has no {what} {name}: see its config"
        )
    return known[name]


def analysis_code(*modules):
    """Return the hash of what these modules of analysis/ load: an edit runs their rules again."""
    return tables.analysis_sha256(ROOT, modules)


def current_code(wildcards):
    """Return the hashes of all kernels and operations."""
    measuring = map(fingerprint.measure_sha256, operations.names())
    return sorted({*measuring, *map(kernels.kernel_sha256, kernels.names())})


def rows_of(wildcards):
    return [points.row_path(p) for p in require_in_sweep(POINTS, wildcards.gpu, "GPU")]


def report_output(path, caption, category, **labels):
    """Return an output file with its caption and category in `snakemake --report`."""
    return report(path, caption=f"../report/{caption}.rst", category=category, labels=labels)


def row_of(wildcards):
    return points.ROW.format(**wildcards)


def point_of(wildcards):
    return require_in_sweep(POINT_BY_ROW, row_of(wildcards), "row")
