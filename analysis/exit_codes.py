"""Exit codes of every command of the project; docs/reference/messages.md explains them.

Commands that have no verdict to give (`python -m measure`, `python -m kernels`) use the first three
numbers alike, without this module.
"""

DONE = 0
# An unexpected failure: Python's own code for a traceback, and Snakemake's for a job that failed.
FAILED = 1
# Bad input, or something that the command needs and this machine lacks; argparse's own code.
BAD_INPUT = 2
SLOWER = 3  # `compare`: a point became slower
BROKE = 4  # `compare`: a point broke, or a changed or new kernel was compared or timed nowhere
