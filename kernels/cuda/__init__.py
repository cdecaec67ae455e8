"""Run CUDA C++ on torch tensors: NVRTC compiles, cuda-core launches."""
