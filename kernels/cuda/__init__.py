"""Run CUDA C++ on torch tensors: NVRTC compiles, cuda-core loads, the driver launches."""
