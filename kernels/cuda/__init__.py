"""Run CUDA C++ kernels on torch tensors: NVRTC compiles, cuda-core loads, the driver launches.

A planner (``plan``) picks the template instance and the grid for a shape. ``launch`` looks the
launch up or prepares it: ``nvrtc`` compiles the source with its headers (``sources``), ``cache``
keeps the binary on disk, and ``submit`` makes the call of the driver. ``grid_workspace`` allocates
global memory for kernels whose blocks exchange states.
"""
