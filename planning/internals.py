"""Access Snakemake attributes that have no public interface.

The attributes exist in Snakemake 9.19 and 9.27. If another version renames one, change it here.
"""

from pathlib import Path

from snakemake.common.configfile import load_configfile


def config_layers(workflow) -> list[dict]:
    """Return what Snakemake merged into the config: merging hides empty tables."""
    return [*map(load_configfile, workflow.configfiles), workflow.config_settings.config]


def given_configs(workflow) -> tuple[list[Path], dict]:
    """Return the values of --configfile and --config, which the report repeats."""
    return workflow.config_settings.configfiles, workflow.config_settings.config


def is_on_cluster(workflow) -> bool:
    """Return whether the profile of a cluster is used, in a dry run, too."""
    return "slot" in workflow.resource_settings.resources


def as_one_group(workflow, name: str) -> str:
    """Return the name of a group, whose jobs --group-components of ``points`` keeps together."""
    workflow.parent_groupids[name] = "points"
    return name


def given_cores(workflow) -> int | None:
    """Return the value of --cores, or None on a cluster, where ``workflow.cores`` raises."""
    return workflow.resource_settings.cores


def is_in_allocation(workflow) -> bool:
    """Return whether this Snakemake runs inside an allocation of a cluster."""
    return workflow.remote_exec


def rules_of(workflow) -> set[str]:
    """Return the rules of all jobs, also of those with nothing to do."""
    return {job.rule.name for job in workflow.dag.jobs}


def gpus_to_measure(workflow) -> set[str]:
    """Return the GPUs of the points that are about to run on this machine.

    On a cluster the GPUs are elsewhere, and each job looks for its GPU; ``--touch`` needs none.
    """
    if not workflow.local_exec or workflow.touch:
        return set()
    jobs = workflow.dag.needrun_jobs()
    return {job.wildcards.gpu for job in jobs if job.rule.name == "point"}
