"""Merge the rows of one GPU; a script, because 10,000 paths do not fit on a command line."""

import sys

sys.stderr = open(snakemake.log[0], "w", buffering=1)

from analysis.__main__ import main

arguments = ["merge", "--sweep", snakemake.params.sweep, "--expected", snakemake.input.expected]
arguments += ["--output", snakemake.output[0], *snakemake.input.rows]
sys.exit(main(arguments))
