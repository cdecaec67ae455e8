"""Softmax kernels of other projects, which are optional packages."""
