"""Check a sweep against the table of a cluster's GPUs, and say how long a point may take."""

import math
from collections.abc import Iterable, Mapping

from measure.device import gpus
from measure.point import nearest

from .config import ConfigError
from .points import RECORDED_ONLY

RULE, TABLE = "point", "gpu_types"  # where profiles/slurm names the GPUs of its table
# In a point, beside its time-out: Python and torch start in 3 s; the rest is margin to end it.
OVERHEAD_S = 10


def table(overwritten: Mapping[str, Mapping]) -> list[str]:
    """Return the GPUs of the profile's table; none without a profile for a cluster.

    ``overwritten``: the resources that a profile or the command line sets, by rule.
    """
    given = overwritten.get(RULE, {}).get(TABLE)
    return str(given.raw).strip("'").split() if given else []


def check(wanted: Iterable[str], known: list[str]) -> None:
    """Raise ConfigError unless the table, if there is one, has every GPU of the config."""
    if not known:
        return
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
    """Return the minutes that a point may take; a cluster adds them up over an allocation."""
    return math.ceil((timeout_s + OVERHEAD_S) / 60)
