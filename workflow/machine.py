"""Does this machine have the GPUs that a sweep wants to measure?"""

from collections.abc import Iterable

from measure import gpus


def lacks(wanted: Iterable[str]) -> str | None:
    """None, or one message naming the GPUs that are wanted and not here, and what to do."""
    here = gpus.visible()
    absent = sorted(set(wanted) - {*here, gpus.CPU})
    if not absent:
        return None
    return (
        f"this machine cannot measure {', '.join(absent)}: it has "
        f"{', '.join(here) or 'no GPU that nvidia-smi shows'}. Set 'gpus: [auto]' in the config "
        "to measure what is here, or run on a machine that has it; recorded rows of other GPUs "
        "are in the report without being asked for."
    )
