"""Give every point its own process, isolated and limited in time, and leave no process behind.

The measuring command (``run_point``) locks the GPU and asks the fork server for a worker
(``fork_client``). A child of the ``fork_server`` becomes the point's ``reaper`` and forks the
worker. The forkserver of ``multiprocessing`` belongs to one parent, and every point is a
separate command: here the server serves all points of a sweep.
"""
