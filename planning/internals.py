"""Access attributes of Snakemake that have no public interface.

They exist in Snakemake 9.19 and 9.27. If another version renames one, change it here.
"""

from pathlib import Path


def given_configs(workflow) -> tuple[list[Path], dict]:
    """Return the values of --configfile and --config."""
    return workflow.config_settings.configfiles, workflow.config_settings.config


def is_on_cluster(workflow) -> bool:
    """Return whether the profile of a cluster is used; a dry run counts, too."""
    return "slot" in workflow.resource_settings.resources


def as_one_group(workflow, name: str) -> str:
    """Return the name of a group, after naming `points` as its parent in --group-components.

    Snakemake itself does so only for a name with wildcards, and an allocation has several matrices.
    """
    workflow.parent_groupids[name] = "points"
    return name


def is_in_allocation(workflow) -> bool:
    """Return whether this Snakemake runs inside an allocation of a cluster."""
    return workflow.remote_exec


def gpus_to_measure(workflow) -> set[str]:
    """Return the GPUs of the points that are about to run on this machine.

    On a cluster each job checks its own GPU, and `--touch` needs none: both give an empty set.
    """
    if not workflow.local_exec or workflow.touch:
        return set()
    jobs = workflow.dag.needrun_jobs()
    return {job.wildcards.gpu for job in jobs if job.rule.name == "point"}
