# One job measures one replicate of a point. Whatever a kernel does, the job ends with a row.
import shlex

from measure.device import gpus

BOARDS = [] if USES_CLUSTER else gpus.visible_gpus()
MEASURING_ORDER = points.in_measuring_order(POINT_BY_ROW.values(), config["seed"], BOARDS)
PRIORITIES = {points.row_path(p): -number for number, p in enumerate(MEASURING_ORDER)}
ALLOCATIONS = cluster.allocations(MEASURING_ORDER, CLUSTER_GPUS) if SUBMITS_JOBS else {}


onstart:
    if SUBMITS_JOBS:
        cluster.check_commands()
    machine.require_tools(internals.gpus_to_measure(workflow))


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
    priority: lambda wildcards: PRIORITIES[row_of(wildcards)]
    # only for a cluster: elsewhere a group would make planning slower
    group:
        (lambda wildcards: internals.as_one_group(workflow, ALLOCATIONS[row_of(wildcards)]))
        if SUBMITS_JOBS
        else None
    # The Snakemake of an allocation runs the points itself, one after another. As a step of the
    # allocation each point would take 3 s more, to start the step and another Snakemake.
    localrule: IN_ALLOCATION
    conda:
        conda_env("environment.yml")
    threads: lambda wildcards: points.threads(point_of(wildcards))
    resources:
        # on a cluster `gres` requests the GPU; with --gpus as well, Slurm refuses
        gpu=lambda wildcards: int(point_of(wildcards).timed and not USES_CLUSTER),
        slot=int(USES_CLUSTER),
        # the point, its supervisor and a compiler need one each; one more is a reserve
        cpus_per_task=lambda wildcards: 4 if USES_CLUSTER else None,
        gres=cluster_resource("gres"),
        slurm_partition=cluster_resource("partition"),
        constraint=cluster_resource("constraint"),
        runtime=cluster.minutes(config["timeout_s"]),
        # A resource, because a changed param would measure every point again. Points that had too
        # little time are measured again by planning/attempts.py.
        # --lint refuses a global variable in the command.
        timeout_s=str(config["timeout_s"]),
        # jobs inherit TMPDIR; Snakemake would compute its default for each job
        tmpdir=None,
    params:
        options=lambda wildcards: shlex.join(points.options(point_of(wildcards))),
    message:
        "{wildcards.variant}.{wildcards.replicate} {wildcards.M}x{wildcards.N}"
        " {wildcards.dtype} on {wildcards.gpu}"
    shell:
        "python3 -m measure point --gpu {wildcards.gpu} --op {wildcards.op}"
        " --dtype {wildcards.dtype} --distribution {wildcards.distribution}"
        " --seed {wildcards.seed} --blocks {wildcards.blocks} --M {wildcards.M} --N {wildcards.N}"
        " --variant {wildcards.variant} --replicate {wildcards.replicate}"
        " --fingerprint {wildcards.fingerprint} {params.options} --timeout {resources.timeout_s}"
        " --output {output.row:q}"
        # $PPID runs the jobs; when it ends, the process from which points are forked ends too
        " --served-for $PPID > {log:q} 2>&1"
