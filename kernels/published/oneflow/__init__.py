"""Reproduce OneFlow's softmax kernels in CUDA C++."""
