"""Access what Snakemake offers no public way to ask for. Each function says why it is needed.

The names exist in Snakemake 9.19 and 9.27. If another version renames one, change it here.
"""


def given_configs(workflow) -> tuple[list, dict]:
    """Return the values of --configfile and --config, for the command that repeats a sweep.

    The `config` of a Snakefile has them merged with the defaults.
    """
    return workflow.config_settings.configfiles, workflow.config_settings.config


def submits_jobs(workflow) -> bool:
    """Return whether the profile submits points to a cluster.

    The GPUs and the compiler of this machine then do not count. A profile could say so by
    --config, but a user's own --config would replace it.
    """
    return not workflow.local_exec


def groups_points(workflow) -> bool:
    """Return whether the profile groups the points; without a group they run on this machine."""
    return "point" in workflow.group_settings.overwrite_groups
