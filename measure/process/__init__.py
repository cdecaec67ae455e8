"""Give every point its own process, isolated and limited in time, and leave no process behind.

The measuring command (``run_point``) locks the GPU and asks a fork server for a worker
(``fork_client``). A child of the ``fork_server`` becomes the point's ``reaper``, which forks the
worker and ends whatever it leaves behind. One server serves all points of a sweep, each of which is
a separate command; the forkserver of ``multiprocessing`` serves only its parent.
"""
