"""Hold the project's fastest kernels: forward in CUDA C++, backward in CUDA C++ and Triton."""
