"""Access what Snakemake offers no public way to ask for. Each function says why it is needed.

The names exist in Snakemake 9.19 and 9.27. If another version renames one, change it here.
"""

import argparse
import os
import sys

from snakemake.common.configfile import load_configfile

UNDIVIDED = 10**6  # jobs of a group; no allocation has so many


def given_configs(workflow) -> tuple[list, dict]:
    """Return the values of --configfile and --config, for the command that repeats a sweep.

    The `config` of a Snakefile has them merged with the defaults.
    """
    return workflow.config_settings.configfiles, workflow.config_settings.config


def config_layers(workflow) -> list[dict]:
    """Return what Snakemake merged into the config: the files, then --config.

    Merging drops an empty table, such as `variants: {}`, which is a fault of the config.
    """
    return [*map(load_configfile, workflow.configfiles), workflow.config_settings.config]


def chosen_keys(workflow) -> set[str]:
    """Return the keys that the user gives by --configfile and --config.

    The `config` of a Snakefile has the project's defaults among them.
    """
    files, options = given_configs(workflow)
    return {key for layer in (*map(load_configfile, files), options) for key in layer}


def named_profiles() -> list[str]:
    """Return the profiles that Snakemake's arguments and its environment name.

    The cluster's table of GPUs lies beside one, and Snakemake tells no workflow where that is.
    """
    parser = argparse.ArgumentParser(add_help=False, allow_abbrev=False)
    parser.add_argument("--workflow-profile")
    parser.add_argument("--profile", default=os.environ.get("SNAKEMAKE_PROFILE"))
    options = parser.parse_known_args(sys.argv[1:])[0]
    return [name for name in (options.workflow_profile, options.profile) if name]


def as_one_group(workflow, name: str) -> str:
    """Return the name of a group that Snakemake does not divide into several.

    --group-components has its parent `points`. Snakemake itself names a parent only for a name with
    wildcards, and an allocation has several matrices.
    """
    workflow.parent_groupids[name] = "points"
    workflow.group_settings.group_components["points"] = UNDIVIDED
    return name


def is_in_allocation(workflow) -> bool:
    """Return whether this Snakemake runs inside an allocation of a cluster.

    It then runs its points itself, one after another. Variables of Slurm would not tell: a person
    may call Snakemake in an allocation of their own.
    """
    return workflow.remote_exec


def gpus_to_measure(workflow) -> set[str]:
    """Return the GPUs of the points that are about to run on this machine.

    So a missing GPU is named once, before the first job, and not where nothing is measured. On a
    cluster each job checks its own GPU, and `--touch` needs none: both give an empty set.
    """
    if not workflow.local_exec or workflow.touch:
        return set()
    jobs = workflow.dag.needrun_jobs()
    return {job.wildcards.gpu for job in jobs if job.rule.name == "point"}
