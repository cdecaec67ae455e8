"""How each command of the documentation is checked, as far as a machine with two cores can.

RUN: as it stands, in a copy of the project whose default sweep is tiny. The commands of a page run
in their order, in one copy. ROWS: the same, up to the rows. PLAN: Snakemake plans it, and runs
nothing. MAKE: make says what it would do. COLLECT: pytest says which tests it would run. PARSE: the
command line takes it. SHOWN: no command, but what one says. ELSEWHERE: it needs another machine, of
which only the program's being a common one can be said.
"""

RUN, ROWS, PLAN, MAKE, COLLECT, PARSE, SHOWN, ELSEWHERE = (
    *("run", "rows", "plan", "make", "collect", "parse", "shown", "elsewhere"),
)
RECORDED = "--cores 2 --configfile sweeps/recorded.yaml"
SLURM = "snakemake --workflow-profile profiles/slurm"
MY_SOFTMAX = "'variants=[torch_softmax, triton_row, my_softmax]'"
OTHER = "'kernels=[../mine/other_softmax.py]' 'variants=[torch_softmax, other_softmax]'"

HOW = {
    "README.md": {
        "make run": MAKE,
        "make test": MAKE,
        "snakemake --cores 1 --use-conda": PARSE,  # even to plan it needs conda
        "snakemake --cores all --configfile sweeps/smoke.yaml": ROWS,
        'make run ARGS="--configfile sweeps/fused_softmax.yaml"': MAKE,
        "58 of 182 points (31 %), 5 min left | 57 ok, 1 unsupported | now triton_row 1024x8192 "
        "float32 on h200": SHOWN,
        "python -m measure point --gpu auto --dtype float32 --M 1024 --N 4096 --variant "
        "triton_online --output row.csv": RUN,
        f"{SLURM} --config 'gpus=[a100, h200]'": PLAN,
        "python -m analysis compare OLD NEW --output-dir results/compare": PARSE,
        "python -m kernels new my_softmax": RUN,
        "python -m measure point --variant my_softmax --M 1024 --N 4096 --output my_softmax.csv": (
            RUN
        ),
    },
    "CONTRIBUTING.md": {
        "make test": MAKE,
        "make lint": MAKE,
        "make format": MAKE,
        "make record": MAKE,
    },
    "adding_a_kernel.md": {
        "python -m kernels": RUN,
        "python -m kernels new my_softmax": RUN,
        "python -m measure point --variant my_softmax --M 1024 --N 4096 --output my_softmax.csv": (
            RUN
        ),
        "python -m pytest tests/kernels -k my_softmax": COLLECT,
        f"snakemake --cores all --config sweep=my_softmax {MY_SOFTMAX}": ROWS,
        "python -m kernels new my_cuda --language cuda": RUN,
        "python -m measure point --variant my_cuda --M 1024 --N 4096 --output my_cuda.csv": RUN,
        "mkdir -p ../mine": RUN,
        "python -m kernels new other_softmax --output ../mine/other_softmax.py": RUN,
        "python -m measure point --kernel ../mine/other_softmax.py --M 1024 --N 4096 --output "
        "other_softmax.csv": RUN,
        f"snakemake --cores all --config sweep=mine {OTHER}": ROWS,
        "make record": MAKE,
        "python -m analysis check-recorded results/recorded/h200": PARSE,  # a copy has no history
    },
    "cluster.md": {
        f"{SLURM} --config 'gpus=[a100, h200]'": PLAN,
        f"{SLURM} --configfile sweeps/oneflow.yaml --config 'gpus=[a100, h200]'": PLAN,
        "rsync -a --exclude .lock one:softmax-bench/results/cells/ results/cells/": ELSEWHERE,
        "rsync -a --exclude .lock other:softmax-bench/results/cells/ results/cells/": ELSEWHERE,
        "snakemake --cores all --config 'gpus=[a100, h200]'": PLAN,
    },
    "frontier.md": {
        "make tuning": MAKE,
        "python -m analysis tuning --keep --command COMMAND --output kernels/tuning "
        "results/measurements/h200.csv": PARSE,
    },
    "gallery.md": {
        "make docs": MAKE,
        f"snakemake results/figures/overview.pdf {RECORDED}": PLAN,
        f"snakemake results/figures/overview.png {RECORDED}": RUN,
        f"snakemake results/figures/h200_float32_online_softmax_throughput.png {RECORDED}": PLAN,
        f"snakemake results/figures/h200_float32_fused_softmax_throughput.png {RECORDED}": PLAN,
        f"snakemake results/figures/h200_bfloat16_frontier_throughput.png {RECORDED}": PLAN,
        f"snakemake results/figures/h200_float32_online_softmax_time.png {RECORDED}": PLAN,
        f"snakemake results/figures/h200_float32_online_softmax_speedup.png {RECORDED}": PLAN,
        f"snakemake results/figures/h200_float32_frontier_speedup.png {RECORDED}": PLAN,
        f"snakemake results/figures/h200_float32_peers_speedup.png {RECORDED}": PLAN,
        f"snakemake results/figures/h200_float32_oneflow_published.png {RECORDED}": PLAN,
        f"snakemake results/figures/a100_float32_online_softmax_time.png {RECORDED}": PLAN,
    },
    "snakemake.md": {"snakemake --report report.zip": PARSE},  # after a whole run only
}
