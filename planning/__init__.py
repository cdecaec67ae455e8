"""Check the config, expand it into points and list the tables, for the rules of the workflow.

Nothing here imports torch, so that a sweep can be planned on a machine without it.
"""
