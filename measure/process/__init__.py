"""Give every point its own process: isolated, limited in time, and gone when it is over.

The measuring command (``run_point``) locks the GPU and asks the fork server for a worker
(``fork_client``). A child of the ``fork_server`` becomes the point's ``reaper`` and forks the
``worker``.
"""
