"""From rows to knowledge: merge, summary, claims, figures, report. `python3 -m analysis --help`.

This room reads files and writes files. It never imports torch, and it knows nothing of how a
number was timed: the columns of a row (workflow/schemas/row.csv) are all it relies on.
"""
