"""Turn one point into one row: device, inputs, correctness check, clock, controls, row.

``python -m measure point --help`` measures a point by hand. Nothing here depends on a workflow or
on what is done with the row.
"""
