"""Time calls. A Clock (``base``) times series of calls: ``graph`` on a GPU, ``host`` on a CPU.

``sampling`` decides how long, and in which order. ``controls``, ``copy_kernel``, ``roofline`` and
``read_meet_write`` provide rooflines. ``cold``, ``l2``, ``graph_nodes`` and ``hooks`` make sure
that what is timed is what was asked for.
"""
