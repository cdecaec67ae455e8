"""What keeps Snakemake quick with ten thousand jobs; docs/scale.md has the measurements."""

import gc
import random
from itertools import islice

AT_ONCE = 100  # ready jobs that are looked at to find the next ones


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

    And a look that takes no longer the more jobs are ready, see ``_paced``.
    """
    gc.freeze()
    gc.enable()
    workflow.scheduler.job_rate_limiter = None
    if workflow.scheduling_settings.scheduler == "greedy":
        workflow.scheduler.__class__ = _paced(type(workflow.scheduler))
    for job in workflow.dag.jobs:
        before = workflow.dag.dependencies[job]
        if len(before) > AT_ONCE and not any(other.pipe_or_service_output for other in before):
            job.__class__ = _without_pipes(type(job))


def _without_pipes(job: type) -> type:
    """A job that is not asked, for each of its files and each job before it, whether it is a pipe.

    The files of 50,000 points took the merging so five minutes, and the end of the run four.
    """

    class WithoutPipes(job):
        __slots__ = ()  # or no job could become one

        def is_pipe_or_service_input(self, path) -> bool:
            return False

    return WithoutPipes


def _paced(scheduler: type) -> type:
    """A scheduler whose look for the next job takes as long with 50,000 ready jobs as with 100."""

    class Paced(scheduler):
        @property
        def open_jobs(self) -> list:
            """Some of the ready jobs, and others each time: none waits behind those in front."""
            ready = self.workflow.dag.ready_jobs
            start = random.randrange(max(1, len(ready) - AT_ONCE + 1))
            return list(islice(ready, start, start + AT_ONCE))

        @property
        def remaining_jobs(self) -> list:
            """Asked for at every look, though only other schedulers use it, and the end."""
            return [] if self.workflow.dag.ready_jobs else super().remaining_jobs

    return Paced
