"""Run the softmax kernels of other projects, which are optional packages."""
