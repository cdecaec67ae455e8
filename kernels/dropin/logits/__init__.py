"""Functions of logits: ``api`` has the public ones, ``rows`` and ``loss`` run the kernels.

``by_torch`` computes the same with torch's functions, and ``sharded`` over several processes.
"""
