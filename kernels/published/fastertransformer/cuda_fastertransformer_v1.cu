// FasterTransformer's first softmax: a block per (batch, head), which loops over its rows.
#include "fastertransformer.cuh"

// A (batch, head) is a square of `cols` rows; the last one may be short.
template <typename T, int THREADS>
__global__ void fastertransformer_v1(T* __restrict__ out, const T* __restrict__ x, Index out_stride,
                                     Index x_stride, Index rows, Index cols) {
  __shared__ float max_parts[THREADS / kWarp];
  __shared__ float sum_parts[THREADS / kWarp];
  const Index first = blockIdx.x * cols;
  const Index last = min(first + cols, rows);
  for (Index row = first; row < last; ++row) {
    softmax_of_row<T, THREADS>(out + row * out_stride, x + row * x_stride, cols, max_parts,
                               sum_parts);
  }
}
