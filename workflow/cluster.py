"""Running on a cluster: what must hold before a sweep is submitted, and how long points take."""

import math
from collections.abc import Iterable, Mapping
from pathlib import Path

from measure.device import gpus
from measure.point import nearest

from .config import ConfigError
from .sweep import RECORDED_ONLY

TABLE = "gpu_types"  # the resource by which profiles/slurm tells the GPUs of its table
# Beside its time-out, for a point: Python and torch start in 3 s; the rest to end it, and to spare.
AROUND_S = 10


def resources(overwritten: Mapping[str, Mapping]) -> Mapping:
    """The resources that a profile for a cluster sets for the points, by name; without one, none.

    ``overwritten``: those of each rule. Which rule has TABLE is the rule of the points: another
    workflow that imports it names it as it likes.
    """
    return next((given for given in overwritten.values() if TABLE in given), {})


def check(wanted: Iterable[str], given: Mapping) -> None:
    """Raise ConfigError unless a profile for a cluster knows every GPU in ``wanted``.

    ``wanted``: ``gpus`` of the configuration. ``given``: see ``resources``.
    """
    if not given:
        return
    known = str(given[TABLE].raw).strip("'").split()
    if gpus.AUTO in wanted:
        raise ConfigError(
            "gpus: 'auto' is the GPU of the machine that plans the sweep, not of the cluster. Name "
            f"the cluster's, for example 'gpus: [{', '.join(known)}]'"
        )
    for gpu in wanted:
        if gpu not in {*known, RECORDED_ONLY}:
            raise ConfigError(
                f"gpus: the profile's table has no line for {gpu!r}, which would say how to get "
                f"such a GPU{nearest(gpu, known)}"
            )


def minutes(timeout_s: float) -> int:
    """What a point needs at most; a cluster sums it up over the points of an allocation."""
    return math.ceil((timeout_s + AROUND_S) / 60)


def clear(jobs: Iterable) -> None:
    """Remove what the jobs will make anew.

    An allocation may end before the turn of a point comes. Snakemake then takes a row that lies
    there for this run's, though other code made it.
    """
    for job in jobs:
        for path in job.output:
            Path(path).unlink(missing_ok=True)
