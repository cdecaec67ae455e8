# One job per point; whatever a kernel does, the job ends with a row.
import shlex


rule point:
    """One point: one row, and its samples."""
    output:
        row=sweep.ROW,
        samples=str(row.samples_path(Path(sweep.ROW))),
    log:
        sweep.ROW.replace("results/cells", "results/logs/points").replace(".csv", ".log"),
    # elsewhere it would only make planning slower
    group:
        group_of if ON_CLUSTER and not workflow.remote_exec else None
    # The Snakemake of an allocation runs the points itself, one after another. As steps of the job
    # each would take 3 s more, for the step and another Snakemake.
    localrule: workflow.remote_exec
    conda:
        "../../environment.yml"
    threads: of_point(lambda point: sweep.threads(point, workflow.resource_settings.cores))
    resources:
        gpu=of_point(lambda point: 1 if point.timed else 0),
        runtime=cluster.minutes(config["timeout_s"]),
        # jobs inherit it; Snakemake's default would be worked out for each of them
        tmpdir=None,
    params:
        # contents, not file times: a fresh clone or a touched file measures nothing again
        kernel=lambda wildcards: kernels.sha256(wildcards.variant, wildcards.gpu),
        rival=lambda wildcards: (
            kernels.sha256(config["rival"], wildcards.gpu) if config["rival"] else None
        ),
        measure=fingerprint.measure_sha256(),
        root=ROOT,
        # quoted once: Snakemake puts a command together three times for every job
        options=lambda wildcards: shlex.join(sweep.options(point_of(wildcards))),
    message:
        "{wildcards.variant} {wildcards.M}x{wildcards.N} {wildcards.dtype} on {wildcards.gpu}"
    shell:
        "PYTHONSAFEPATH=1 PYTHONPATH={params.root:q}${{PYTHONPATH:+:$PYTHONPATH}} python3 -m measure point {params.options}"
        # $PPID: whoever runs the jobs; with it ends the process that points are forked from
        " --served-for $PPID"
        " --output {output.row:q} > {log:q} 2>&1"
