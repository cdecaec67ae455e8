"""Compute the backward of softmax and log-softmax, in CUDA C++ and in Triton."""
