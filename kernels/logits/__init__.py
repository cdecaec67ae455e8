"""Compute values of rows of logits, and their gradients: what reads a matrix and writes none."""
