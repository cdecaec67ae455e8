"""What the rules of the workflow call: check the config, expand it into points, list the tables.

Nothing here imports torch, so that a sweep can be planned on a machine without it.
"""
