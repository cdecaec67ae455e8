"""CUDA C++ on torch tensors: compilation by NVRTC, launches by cuda-core."""
