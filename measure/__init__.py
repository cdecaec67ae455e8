"""Turn one point into one row: device, inputs, correctness check, clock, controls, row.

``python -m measure point`` measures a point by hand; ``--help`` lists its options. Nothing here
depends on a workflow, or on the use of the row.
"""

from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent  # the project's folder
