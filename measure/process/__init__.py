"""Give every point its own process, isolated and limited in time, and leave no process behind.

The measuring command (``run_point``) locks the GPU and asks the fork server for a worker
(``fork_client``). A child of the ``fork_server`` becomes the point's ``reaper`` and forks the
``worker``.
"""
