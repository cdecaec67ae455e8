"""Experiments that carry a claim of the documents; no sweep uses them."""
