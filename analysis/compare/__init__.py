"""Compare two runs: at which points did something become faster or slower, and how surely.

Only `options` is needed to parse a command line; the rest waits for pandas.
"""
