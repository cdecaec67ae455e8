"""Time the same thirty points with this project and with the usual benchmarking tools.

``python -m studies.side_by_side measure`` needs a GPU; ``draw`` and ``table`` need no torch.
"""
