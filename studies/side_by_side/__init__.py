"""Thirty points, timed by this project and by the tools that people of the field use.

``python -m studies.side_by_side measure`` runs on a GPU; ``draw`` and ``table`` need no torch.
"""
