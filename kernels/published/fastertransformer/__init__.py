"""Reproduce FasterTransformer's softmax kernels in CUDA C++."""
