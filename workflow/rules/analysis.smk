# Merge rows, rank variants, check claims, draw figures, write the reports. No rule needs a GPU or
# torch.


onsuccess:
    if os.path.exists(f"{RESULTS}/report.html"):
        figures = (
            f"    Figures: {RESULTS}/figures/" if os.path.exists(f"{RESULTS}/figures") else ""
        )
        logger.info(
            f"Report: {RESULTS}/report.html (for a browser), {RESULTS}/report.md{figures}"
        )


localrules:
    merge,
    collect,
    summary,
    claims,
    gpu_figures,
    report,


rule figures:
    """Draw every figure: measured here, recorded, published."""
    input:
        FIGURES,


rule merge:
    """Merge the rows of one GPU into one table."""
    input:
        rows_of,
    output:
        "results/measurements/{gpu}.csv",
    log:
        "results/logs/merge/{gpu}.log",
    conda:
        "../envs/analysis.yml"
    params:
        code=analysis_code("merge"),
        sweep=config["sweep"],
        # a function, because braces in a string are wildcards
        setup=lambda wildcards: SETUP.format(),
    message:
        "Merging the rows of {wildcards.gpu}"
    script:
        "../scripts/merge.sh"


rule collect:
    """Collect measured rows, and the recorded rows of other GPUs."""
    input:
        merged=expand("results/measurements/{gpu}.csv", gpu=POINTS),
        recorded=RECORDED,
    output:
        f"{RESULTS}/measurements.csv",
    log:
        f"{RESULTS}/logs/collect.log",
    conda:
        "../envs/analysis.yml"
    params:
        code=analysis_code("merge"),
        current=current_code,  # decides which recorded rows are stale
    message:
        "Collecting measured and recorded rows"
    shell:
        f"{SETUP} python3"
        " -m analysis collect --recorded {input.recorded:q}"
        " --output {output:q} {input.merged:q} > {log:q} 2>&1"


rule summary:
    """Rank the variants of every matrix."""
    input:
        f"{RESULTS}/measurements.csv",
    output:
        report_output(f"{RESULTS}/summary.csv", "summary", "Tables", table="summary"),
    log:
        f"{RESULTS}/logs/summary.log",
    conda:
        "../envs/analysis.yml"
    params:
        code=analysis_code("frame", "ranking"),
    message:
        "Ranking the variants"
    shell:
        f"{SETUP} python3"
        " -m analysis summary --measurements {input:q} --output {output:q} > {log:q} 2>&1"


rule claims:
    """Check the published claims on every GPU with rows."""
    input:
        measurements=f"{RESULTS}/measurements.csv",
        published=PUBLISHED_FILES,
    output:
        report_output(f"{RESULTS}/claims.csv", "claims", "Tables", table="claims"),
    log:
        f"{RESULTS}/logs/claims.log",
    conda:
        "../envs/analysis.yml"
    params:
        code=analysis_code("frame", "published", "claims/__init__"),
    message:
        "Checking the published claims"
    shell:
        f"{SETUP} python3"
        " -m analysis claims --measurements {input.measurements:q}"
        " --published {input.published[0]:q} --output {output:q} > {log:q} 2>&1"


rule gpu_figures:
    """Draw the figures of one GPU, or those that no GPU owns; Snakemake's report has the SVG."""
    input:
        measurements=f"{RESULTS}/measurements.csv",
        published=PUBLISHED_FILES,
    output:
        report(
            directory(f"{RESULTS}/figures/{{gpu}}"),
            patterns=["{figure}.svg"],
            caption="../report/figures.rst",
            category="Figures",
            subcategory="{gpu}",
            labels={"figure": "{figure}"},
        ),
    log:
        f"{RESULTS}/logs/figures/{{gpu}}.log",
    conda:
        "../envs/analysis.yml"
    params:
        code=analysis_code("frame", "published", "figures/write"),
        folder=lambda wildcards, output: os.path.dirname(output[0]),
    message:
        "Drawing the figures of {wildcards.gpu}"
    shell:
        f"{SETUP} python3"
        " -m analysis figures --gpu {wildcards.gpu}"
        " --measurements {input.measurements:q} --published {input.published[0]:q}"
        " --output-dir {params.folder} > {log:q} 2>&1"


rule report:
    """Write report.md and report.html, and the tables behind them."""
    input:
        measurements=f"{RESULTS}/measurements.csv",
        claims=f"{RESULTS}/claims.csv",
        published=PUBLISHED_FILES,
        recorded=RECORDED_PROVENANCE,
    output:
        report_output(f"{RESULTS}/report.md", "report", "Report", format="Markdown"),
        report_output(f"{RESULTS}/report.html", "report", "Report", format="HTML"),
        directory(f"{RESULTS}/report"),
    log:
        f"{RESULTS}/logs/report.log",
    conda:
        "../envs/analysis.yml"
    params:
        code=analysis_code("frame", "published", "claims/__init__", "report/write"),
        prose=tables.docstrings_sha256(),
        # a function, because braces in a string are wildcards
        command=lambda wildcards: REPRODUCE_COMMAND,
        workloads=lambda wildcards: WORKLOADS,
        folder=lambda wildcards, output: os.path.dirname(output[0]),
    message:
        "Writing {output[0]} and {output[1]}"
    shell:
        f"{SETUP} python3"
        " -m analysis report --measurements {input.measurements:q}"
        " --claims {input.claims:q} --published {input.published[0]:q}"
        " --command {params.command:q} --recorded {input.recorded:q}"
        " --workloads {params.workloads:q}"
        " --output-dir {params.folder} > {log:q} 2>&1"
