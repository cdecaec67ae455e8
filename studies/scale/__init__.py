"""What the pipeline costs beside the measuring, for sweeps of 100 to 50,000 points.

``python -m studies.scale measure`` runs whole sweeps in which a stand-in takes the place of
measuring a point; ``table`` and ``draw`` show the seconds and the memory of every stage.
"""
