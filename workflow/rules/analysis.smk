# Merge result rows, rank variants, check claims, draw figures, write the reports.
# Needs neither a GPU nor torch. PYTHONSAFEPATH: no folder "analysis" where jobs run is taken for
# this project's.


rule rows:
    """The rows and samples of this sweep's points."""
    input:
        ROWS,
    localrule: True


rule figures:
    """Every figure: measured here, recorded, published."""
    input:
        FIGURES,
    localrule: True


rule recorded:
    """What is recorded of GPUs, checked as for a pull request."""
    input:
        FOLDERS,
    log:
        "results/logs/recorded.log",
    benchmark:
        "results/benchmarks/recorded.tsv"
    localrule: True
    conda:
        "../envs/analysis.yml"
    params:
        code=ANALYSIS,
        root=ROOT,
    message:
        "Checking what is recorded"
    shell:
        "PYTHONSAFEPATH=1 PYTHONPATH={params.root:q}${{PYTHONPATH:+:$PYTHONPATH}} python3 -m analysis check-recorded {input:q} > {log:q} 2>&1"


rule merge:
    """The rows of one GPU as one table."""
    input:
        rows_of,
    output:
        "results/measurements/{gpu}.csv",
    log:
        "results/logs/merge/{gpu}.log",
    benchmark:
        "results/benchmarks/merge/{gpu}.tsv"
    localrule: True
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
    """Measured rows, and the recorded ones of other GPUs."""
    input:
        merged=expand("results/measurements/{gpu}.csv", gpu=POINTS),
        recorded=of_project(RECORDED),
    output:
        "results/measurements.csv",
    log:
        "results/logs/collect.log",
    benchmark:
        "results/benchmarks/collect.tsv"
    localrule: True
    conda:
        "../envs/analysis.yml"
    params:
        code=ANALYSIS,
        root=ROOT,
        unranked=config["unranked_flags"],
    message:
        "Putting measured and recorded rows together"
    shell:
        "PYTHONSAFEPATH=1 PYTHONPATH={params.root:q}${{PYTHONPATH:+:$PYTHONPATH}} python3 -m analysis collect --recorded {input.recorded:q}"
        " --unranked-flags {params.unranked:q}"
        " --output {output:q} {input.merged:q} > {log:q} 2>&1"


rule summary:
    """The fastest variant of every point."""
    input:
        "results/measurements.csv",
    output:
        tabulated("results/summary.csv", "summary"),
    log:
        "results/logs/summary.log",
    benchmark:
        "results/benchmarks/summary.tsv"
    localrule: True
    conda:
        "../envs/analysis.yml"
    params:
        code=ANALYSIS,
        root=ROOT,
    message:
        "Ranking"
    shell:
        "PYTHONSAFEPATH=1 PYTHONPATH={params.root:q}${{PYTHONPATH:+:$PYTHONPATH}} python3 -m analysis summary --measurements {input:q}"
        " --output {output:q} > {log:q} 2>&1"


rule claims:
    """The published claims, each checked on every GPU with rows."""
    input:
        measurements="results/measurements.csv",
        tables=TABLES,
    output:
        tabulated("results/claims.csv", "claims"),
    log:
        "results/logs/claims.log",
    benchmark:
        "results/benchmarks/claims.tsv"
    localrule: True
    conda:
        "../envs/analysis.yml"
    params:
        code=ANALYSIS,
        root=ROOT,
        published=folder_of_tables,
    message:
        "Checking the published claims"
    shell:
        "PYTHONSAFEPATH=1 PYTHONPATH={params.root:q}${{PYTHONPATH:+:$PYTHONPATH}} python3 -m analysis claims"
        " --measurements {input.measurements:q} --published {params.published:q}"
        " --output {output:q} > {log:q} 2>&1"


rule draw:
    """The figures over N of one GPU, dtype and sweep."""
    input:
        measurements="results/measurements.csv",
        tables=TABLES,
    output:
        *drawn(OVER_N),
    log:
        "results/logs/draw/{gpu}_{dtype}_{sweep}.log",
    benchmark:
        "results/benchmarks/draw/{gpu}_{dtype}_{sweep}.tsv"
    wildcard_constraints:
        sweep="[a-z0-9_]+",
    localrule: True
    conda:
        "../envs/analysis.yml"
    params:
        code=ANALYSIS,
        root=ROOT,
        published=folder_of_tables,
        folder=folder_of_output,
    message:
        "Drawing {wildcards.sweep} on {wildcards.gpu}, {wildcards.dtype}"
    shell:
        "PYTHONSAFEPATH=1 PYTHONPATH={params.root:q}${{PYTHONPATH:+:$PYTHONPATH}} python3 -m analysis figures"
        " --measurements {input.measurements:q} --published {params.published:q}"
        " --gpu {wildcards.gpu:q} --dtype {wildcards.dtype:q} --sweep {wildcards.sweep:q}"
        " --output-dir {params.folder:q} > {log:q} 2>&1"


rule bars:
    """A short published table beside the rows of one GPU, dtype and sweep."""
    input:
        measurements="results/measurements.csv",
        tables=TABLES,
    output:
        *drawn(BARS),
    log:
        "results/logs/bars/{gpu}_{dtype}_{sweep}.log",
    benchmark:
        "results/benchmarks/bars/{gpu}_{dtype}_{sweep}.tsv"
    wildcard_constraints:
        sweep="[a-z0-9_]+",
    localrule: True
    conda:
        "../envs/analysis.yml"
    params:
        code=ANALYSIS,
        root=ROOT,
        published=folder_of_tables,
        folder=folder_of_output,
    message:
        "Drawing published beside measured, {wildcards.sweep} on {wildcards.gpu}, {wildcards.dtype}"
    shell:
        "PYTHONSAFEPATH=1 PYTHONPATH={params.root:q}${{PYTHONPATH:+:$PYTHONPATH}} python3 -m analysis bars"
        " --measurements {input.measurements:q} --published {params.published:q}"
        " --gpu {wildcards.gpu:q} --dtype {wildcards.dtype:q} --sweep {wildcards.sweep:q}"
        " --output-dir {params.folder:q} > {log:q} 2>&1"


rule overview:
    """All that was timed on one page: how near to the speed of memory, and the fastest."""
    input:
        measurements="results/measurements.csv",
        tables=TABLES,
    output:
        report(OVERVIEW[0], caption="../report/overview.rst", category="Overview"),
        OVERVIEW[1:],
    log:
        "results/logs/overview.log",
    benchmark:
        "results/benchmarks/overview.tsv"
    localrule: True
    conda:
        "../envs/analysis.yml"
    params:
        code=ANALYSIS,
        root=ROOT,
        published=folder_of_tables,
        folder=folder_of_output,
    message:
        "Drawing all on one page"
    shell:
        "PYTHONSAFEPATH=1 PYTHONPATH={params.root:q}${{PYTHONPATH:+:$PYTHONPATH}} python3 -m analysis overview"
        " --measurements {input.measurements:q} --published {params.published:q}"
        " --output-dir {params.folder:q} > {log:q} 2>&1"


rule report:
    """results/report.md: the verdict, and the evidence for it."""
    input:
        measurements="results/measurements.csv",
        summary="results/summary.csv",
        claims="results/claims.csv",
        tables=TABLES,
        figures=FIGURES,
        recorded=of_project(path.with_suffix(".yaml") for path in RECORDED),
    output:
        whole("results/report.md", "Markdown"),
    log:
        "results/logs/report.log",
    benchmark:
        "results/benchmarks/report.tsv"
    localrule: True
    conda:
        "../envs/analysis.yml"
    params:
        code=ANALYSIS,
        root=ROOT,
        published=folder_of_tables,
        figures=folder_of_figures,
        unranked=config["unranked_flags"],
        command=COMMAND,
    message:
        "Writing {output}"
    shell:
        "PYTHONSAFEPATH=1 PYTHONPATH={params.root:q}${{PYTHONPATH:+:$PYTHONPATH}} python3 -m analysis report"
        " --measurements {input.measurements:q} --summary {input.summary:q}"
        " --claims {input.claims:q} --figures-dir {params.figures:q}"
        " --published {params.published:q} --command {params.command:q}"
        " --recorded {input.recorded:q} --unranked-flags {params.unranked:q}"
        " --output {output:q} > {log:q} 2>&1"


rule html:
    """results/report.html: the same for a browser, with a picker for any size."""
    input:
        measurements="results/measurements.csv",
        summary="results/summary.csv",
        claims="results/claims.csv",
        tables=TABLES,
        recorded=of_project(path.with_suffix(".yaml") for path in RECORDED),
        page=of_project(sorted(Path(ROOT, "analysis", "html", "page").iterdir())),
    output:
        whole("results/report.html", "HTML"),
    log:
        "results/logs/html.log",
    benchmark:
        "results/benchmarks/html.tsv"
    localrule: True
    conda:
        "../envs/analysis.yml"
    params:
        code=ANALYSIS,
        root=ROOT,
        published=folder_of_tables,
        unranked=config["unranked_flags"],
        command=COMMAND,
    message:
        "Writing {output}"
    shell:
        "PYTHONSAFEPATH=1 PYTHONPATH={params.root:q}${{PYTHONPATH:+:$PYTHONPATH}} python3 -m analysis html"
        " --measurements {input.measurements:q} --summary {input.summary:q}"
        " --claims {input.claims:q}"
        " --published {params.published:q} --command {params.command:q}"
        " --recorded {input.recorded:q} --unranked-flags {params.unranked:q}"
        " --output {output:q} > {log:q} 2>&1"
