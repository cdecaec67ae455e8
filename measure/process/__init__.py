"""Give every point a process of its own: isolated, limited in time, and gone when it is over.

The measuring command (``run_point``) holds the GPU and asks for a worker (``fork_client``). A child
of the fork server, or a fresh Python, becomes the ``reaper`` of the point and forks the ``worker``.
"""
