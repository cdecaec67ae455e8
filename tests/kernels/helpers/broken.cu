// Kernels with an error each, which a tool of compute-sanitizer must report.
#include "types.cuh"

#define ARGUMENTS T *out, const T *x, Index out_stride, Index x_stride, Index rows, Index cols

// Read beyond the matrix.
template <typename T>
__global__ void broken_memcheck(ARGUMENTS) {
  out[threadIdx.x] = x[rows * x_stride + 1000 + threadIdx.x];
}

// Read what another warp writes, without a barrier in between.
template <typename T>
__global__ void broken_racecheck(ARGUMENTS) {
  __shared__ T values[64];
  values[threadIdx.x] = x[threadIdx.x];
  out[threadIdx.x] = values[63 - threadIdx.x];
}

// Read memory that nothing has written.
template <typename T>
__global__ void broken_initcheck(ARGUMENTS) {
  out[threadIdx.x] = x[threadIdx.x];
}

// Only a part of a warp comes to the barrier.
template <typename T>
__global__ void broken_synccheck(ARGUMENTS) {
  if (threadIdx.x < 48) __syncthreads();
  out[threadIdx.x] = x[threadIdx.x];
}
