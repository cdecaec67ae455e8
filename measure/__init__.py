"""How one point becomes one row: device, inputs, gate, clock, controls, row.

``python -m measure point --help`` measures a point by hand. Nothing here knows of a workflow or of
what is done with the row.
"""
