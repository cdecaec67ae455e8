"""Access attributes and functions of Snakemake that have no public interface.

They exist in Snakemake 9.19 and 9.27. If another version renames one, change it here.
"""

import argparse
import os
import sys
from collections.abc import Mapping, MutableMapping
from pathlib import Path

from snakemake import cli
from snakemake.common.configfile import load_configfile
from snakemake.profiles import ProfileConfigFileParser
from snakemake.resources import Resources

UNDIVIDED = 10**6  # jobs of a group; no allocation has so many


def given_configs(workflow) -> tuple[list[Path], dict]:
    """Return the values of --configfile and --config."""
    return workflow.config_settings.configfiles, workflow.config_settings.config


def config_layers(workflow) -> list[dict]:
    """Return what Snakemake merged into the config: the files, then --config."""
    return [*map(load_configfile, workflow.configfiles), workflow.config_settings.config]


def named_profile() -> str | None:
    """Return the profile that Snakemake's arguments or its environment name."""
    parser = argparse.ArgumentParser(add_help=False, allow_abbrev=False)
    default = os.environ.get("SNAKEMAKE_PROFILE")
    parser.add_argument("--workflow-profile", "--profile", dest="profile", default=default)
    return parser.parse_known_args(sys.argv[1:])[0].profile


def is_on_cluster(workflow, profile: Path | None) -> bool:
    """Return whether the profile of a cluster is used; a dry run counts, too.

    ``profile``: the folder of the named profile if that is a cluster's. The resource `slot` alone
    would not do: --resources on the command line replaces all resources of a profile.
    """
    slot = "slot" in workflow.resource_settings.resources
    return slot or (profile is not None and not is_in_allocation(workflow))


def keep_profile(workflow, profile: Path) -> None:
    """Add what options on the command line have replaced in a profile, but for what they name.

    Snakemake takes either the option or the profile's whole list. Without `slot` the points of an
    allocation would be timed side by side.
    """
    _, file = cli.get_profile_dir(str(profile))
    with file.open(encoding="utf-8") as stream:
        lists = ProfileConfigFileParser().parse(stream)
    settings = workflow.resource_settings
    resources = Resources.parse(lists.get("resources", []), allow_expressions=False)
    _add(workflow.global_resources, resources)
    for rule, resources in cli.parse_set_resources(lists.get("set-resources")).items():
        replaced = settings._parsed_overwrite_resources
        _add(replaced.setdefault(rule, Resources.from_mapping({})), resources)
    scopes = cli.parse_set_resource_scope(lists.get("set-resource-scopes"))
    _add(settings.overwrite_resource_scopes, scopes)
    _add(workflow.resource_scopes, scopes)


def _add(kept: MutableMapping, more: Mapping) -> None:
    for name in more:
        if name not in kept:
            kept[name] = more[name]


def as_one_group(workflow, name: str) -> str:
    """Return the name of a group that Snakemake does not divide into several.

    --group-components has its parent `points`. Snakemake itself names a parent only for a name with
    wildcards, and an allocation has several matrices.
    """
    workflow.parent_groupids[name] = "points"
    workflow.group_settings.group_components["points"] = UNDIVIDED
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
