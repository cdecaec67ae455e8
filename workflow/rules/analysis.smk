# From rows to knowledge; needs neither a GPU nor torch.


localrules:
    all,
    merge,
    collect,
    summary,
    claims,
    figures,
    bars,
    report,


rule merge:
    input:
        lambda wildcards: [sweep.row_path(p) for p in POINTS[wildcards.gpu]],
    output:
        "results/measurements/{gpu}.csv",
    log:
        "results/logs/merge/{gpu}.log",
    conda:
        "../envs/analysis.yml"
    params:
        code=ANALYSIS,
        sweep=config["sweep"],
    message:
        "Merging the rows of {wildcards.gpu}"
    script:
        "../scripts/merge.py"


rule collect:
    input:
        merged=expand("results/measurements/{gpu}.csv", gpu=POINTS),
        recorded=RECORDED,
    output:
        "results/measurements.csv",
    log:
        "results/logs/collect.log",
    conda:
        "../envs/analysis.yml"
    params:
        code=ANALYSIS,
        root=ROOT,
        unranked=config["unranked_flags"],
    message:
        "Putting measured and recorded rows together"
    shell:
        "PYTHONPATH={params.root:q} python3 -m analysis collect --recorded {input.recorded:q}"
        " --unranked-flags {params.unranked:q}"
        " --output {output:q} {input.merged:q} > {log:q} 2>&1"


rule summary:
    input:
        "results/measurements.csv",
    output:
        "results/summary.csv",
    log:
        "results/logs/summary.log",
    conda:
        "../envs/analysis.yml"
    params:
        code=ANALYSIS,
        root=ROOT,
    message:
        "Ranking"
    shell:
        "PYTHONPATH={params.root:q} python3 -m analysis summary --measurements {input:q}"
        " --output {output:q} > {log:q} 2>&1"


rule claims:
    input:
        measurements="results/measurements.csv",
        tables=TABLES,
    output:
        "results/claims.csv",
    log:
        "results/logs/claims.log",
    conda:
        "../envs/analysis.yml"
    params:
        code=ANALYSIS,
        root=ROOT,
        published=lambda wildcards, input: os.path.dirname(input.tables[0]),
    message:
        "Checking the published claims"
    shell:
        "PYTHONPATH={params.root:q} python3 -m analysis claims --measurements {input.measurements:q}"
        " --published {params.published:q} --output {output:q} > {log:q} 2>&1"


rule figures:
    input:
        measurements="results/measurements.csv",
        tables=TABLES,
    output:
        multiext(FIGURE, *KINDS),
    log:
        "results/logs/figures/{gpu}_{dtype}_{sweep}.log",
    wildcard_constraints:
        sweep="[a-z0-9_]+",
    conda:
        "../envs/analysis.yml"
    params:
        code=ANALYSIS,
        root=ROOT,
        published=lambda wildcards, input: os.path.dirname(input.tables[0]),
    message:
        "Drawing {wildcards.sweep} on {wildcards.gpu}, {wildcards.dtype}"
    shell:
        "PYTHONPATH={params.root:q} python3 -m analysis figures --measurements {input.measurements:q}"
        " --published {params.published:q} --gpu {wildcards.gpu:q} --dtype {wildcards.dtype:q}"
        " --sweep {wildcards.sweep:q} --output-dir results/figures > {log:q} 2>&1"


rule bars:
    input:
        measurements="results/measurements.csv",
        tables=TABLES,
    output:
        multiext(FIGURE, *BARS),
    log:
        "results/logs/bars/{gpu}_{dtype}_{sweep}.log",
    wildcard_constraints:
        sweep="[a-z0-9_]+",
    conda:
        "../envs/analysis.yml"
    params:
        code=ANALYSIS,
        root=ROOT,
        published=lambda wildcards, input: os.path.dirname(input.tables[0]),
    message:
        "Drawing published beside measured, {wildcards.sweep} on {wildcards.gpu}, {wildcards.dtype}"
    shell:
        "PYTHONPATH={params.root:q} python3 -m analysis bars --measurements {input.measurements:q}"
        " --published {params.published:q} --gpu {wildcards.gpu:q} --dtype {wildcards.dtype:q}"
        " --sweep {wildcards.sweep:q} --output-dir results/figures > {log:q} 2>&1"


rule report:
    input:
        measurements="results/measurements.csv",
        summary="results/summary.csv",
        claims="results/claims.csv",
        tables=TABLES,
        figures=FIGURES,
        recorded=[path.replace(".csv", ".yaml") for path in RECORDED],
    output:
        "results/report.md",
    log:
        "results/logs/report.log",
    conda:
        "../envs/analysis.yml"
    params:
        code=ANALYSIS,
        root=ROOT,
        published=lambda wildcards, input: os.path.dirname(input.tables[0]),
        unranked=config["unranked_flags"],
        command=sweep.command(
            workflow.config_settings.configfiles, workflow.config_settings.config, ON_CLUSTER
        ),
    message:
        "Writing results/report.md"
    shell:
        "PYTHONPATH={params.root:q} python3 -m analysis report --measurements {input.measurements:q}"
        " --summary {input.summary:q} --claims {input.claims:q} --figures-dir results/figures"
        " --published {params.published:q} --command {params.command:q}"
        " --recorded {input.recorded:q} --unranked-flags {params.unranked:q}"
        " --output {output:q} > {log:q} 2>&1"
