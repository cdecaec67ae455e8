"""Merge rows, rank variants, check claims, draw figures, write reports, compare and record runs.

This room reads files and writes files, and never imports torch. `python3 -m analysis --help`.
"""
