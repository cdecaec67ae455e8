# One job per point; whatever a kernel does, the job ends with a row.


rule point:
    output:
        row=sweep.ROW,
        samples=str(row.samples_path(Path(sweep.ROW))),
    log:
        sweep.ROW.replace("results/cells", "results/logs/points").replace(".csv", ".log"),
    conda:
        "../../environment.yml"
    threads: lambda wildcards: sweep.threads(point_of(wildcards), workflow.cores)
    resources:
        gpu=lambda wildcards: 1 if point_of(wildcards).timed else 0,
    params:
        # contents, not file times: a fresh clone or a touched file measures nothing again
        kernel=lambda wildcards: kernels.sha256(wildcards.variant),
        rival=kernels.sha256(config["rival"]) if config["rival"] else None,
        measure=fingerprint.measure_sha256(),
        root=ROOT,
        options=lambda wildcards: sweep.options(point_of(wildcards)),
    message:
        "{wildcards.variant} {wildcards.M}x{wildcards.N} {wildcards.dtype} on {wildcards.gpu}"
    shell:
        "PYTHONPATH={params.root:q} python3 -m measure point {params.options:q}"
        " --output {output.row:q} > {log:q} 2>&1"
