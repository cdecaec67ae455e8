"""Merge the rows of one GPU; a script, because 10,000 paths do not fit on a command line."""

import sys

sys.stderr = open(snakemake.log[0], "w", buffering=1)  # noqa: F821, SIM115: until the script ends
sys.path.insert(0, snakemake.params.root)  # noqa: F821: set by Snakemake

from analysis.__main__ import main  # noqa: E402: found only now

arguments = ["merge", "--sweep", snakemake.params.sweep]  # noqa: F821
arguments += ["--output", snakemake.output[0], *snakemake.input]  # noqa: F821
sys.exit(main(arguments))
