// FasterTransformer's two softmax kernels: a thread per column, and a block per `block_rows` rows.
#include "reduce.cuh"

constexpr float kEpsilon = 1e-6f;  // FasterTransformer adds it to every sum

template <typename T, int THREADS>
__global__ void fastertransformer(T* __restrict__ out, const T* __restrict__ x, Index out_stride,
                                  Index x_stride, Index rows, Index cols, Index block_rows) {
  __shared__ float max_parts[THREADS / kWarp];
  __shared__ float sum_parts[THREADS / kWarp];
  const int col = threadIdx.x;
  const bool inside = col < cols;
  const Index first = blockIdx.x * block_rows;
  const Index last = min(first + block_rows, rows);
  for (Index row = first; row < last; ++row) {
    const float value = inside ? to_float(x[row * x_stride + col]) : lowest();
    const float row_max = block_reduce<Max, THREADS>(value, max_parts);
    const float exponential = inside ? __expf(value - row_max) : 0.0f;
    const float sum = block_reduce<Sum, THREADS>(exponential, sum_parts);
    if (inside) from_float(out[row * out_stride + col], __fdividef(exponential, sum + kEpsilon));
  }
}
