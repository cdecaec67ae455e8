# One job measures one replicate of a point. Whatever a kernel does, the job ends with a row.
import math
import shlex

from measure.device import gpus

MEASURING_ORDER = points.in_measuring_order(
    POINT_BY_ROW.values(), config["seed"], gpus.visible_gpus()
)
PRIORITIES = {points.row_path(p): -number for number, p in enumerate(MEASURING_ORDER)}
# A restarted allocation still writes the rows of the attempt that was planned, so earlier attempts
# stay valid targets.
for planned in MEASURING_ORDER:
    POINT_BY_ROW |= {points.row_path(p): p for p in attempts.previous(planned)}
# Seconds that a job takes to start: Python and torch need 3, and the rest is a margin.
STARTING_S = 10


onstart:
    if internals.submits_jobs(workflow):
        machine.require_slurm()
        if not internals.groups_points(workflow):
            raise validate.ConfigError(
                "the profile has no group for the rule point, so the points would run on this "
                "machine; copy 'groups' and 'group-components' from profiles/slurm/profile.yaml"
            )
    else:
        unmeasured = (p for p in MEASURING_ORDER if not os.path.exists(points.row_path(p)))
        machine.require_tools({point.gpu for point in unmeasured})


# A limit of --resources gpu=1 counts in each allocation of a cluster, not in all of them together.
resource_scopes:
    gpu="local",


# A cluster's profile puts the points into groups, and a rule in a group is not local: it is
# submitted. The Snakemake of an allocation gets no groups but --jobs 1, so it runs the points itself,
# one after another. As a step of the allocation each would take 3 s more, to start the step and
# another Snakemake.
localrules:
    point,


rule rows:
    """Measure the rows and samples of this sweep's points."""
    input:
        ROW_FILES,


rule point:
    """Measure one replicate of a point; write its row and samples."""
    input:
        checked=lambda wildcards: list(map(ancient, points.first_row(point_of(wildcards)))),
    output:
        row=points.ROW,
        samples=str(row.samples_path(Path(points.ROW))),
    log:
        points.LOG,
    # the variants of a matrix follow each other
    priority: lambda wildcards: PRIORITIES.get(row_of(wildcards), 0)
    conda:
        "../../environment.yml"
    threads: lambda wildcards: points.threads(point_of(wildcards))
    resources:
        gpu=lambda wildcards: int(point_of(wildcards).timed),
        # minutes; an allocation requests the sum over its points
        runtime=math.ceil((config["timeout_s"] + STARTING_S) / 60),
        # Not a param: a change would measure every point again. planning/attempts.py repeats the
        # points that ran out of time. Not config[…] in the command: --lint refuses it.
        timeout_s=str(config["timeout_s"]),
        # jobs inherit TMPDIR; Snakemake would compute its default for each job
        tmpdir=None,
    params:
        options=lambda wildcards: shlex.join(points.options(point_of(wildcards))),
    message:
        "{wildcards.variant}.{wildcards.replicate} {wildcards.M}x{wildcards.N}"
        " {wildcards.dtype} on {wildcards.gpu}"
    shell:
        f"{SETUP} python3"
        " -m measure point --gpu {wildcards.gpu} --op {wildcards.op}"
        " --dtype {wildcards.dtype} --distribution {wildcards.distribution}"
        " --seed {wildcards.seed} --blocks {wildcards.blocks} --M {wildcards.M} --N {wildcards.N}"
        " --variant {wildcards.variant} --replicate {wildcards.replicate}"
        " --fingerprint {wildcards.fingerprint} {params.options} --timeout {resources.timeout_s}"
        " --output {output.row:q}"
        # $PPID runs the jobs; when it ends, the process from which points are forked ends too
        " --served-for $PPID > {log:q} 2>&1"
