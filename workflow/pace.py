"""What keeps Snakemake quick with ten thousand jobs; docs/scale.md has the measurements."""

import gc


def plan() -> None:
    """For the time of planning: no search for garbage.

    Jobs are millions of objects that live to the end. Looking through them again and again took a
    sixth of the planning.
    """
    gc.disable()


def run(workflow) -> None:
    """For the time of running: garbage is searched for again, but not among what was planned.

    And no limit of jobs per second, which is 100 where none is given. With it Snakemake wakes up a
    second after it has looked for jobs to start, and looks for them again: for every job that has
    ended it does so once more in every second to come, until that fills a core, beside points that
    are being timed. GPUs, cores and a cluster's ``jobs`` limit what starts at a time.
    """
    gc.freeze()
    gc.enable()
    workflow.scheduler.job_rate_limiter = None
