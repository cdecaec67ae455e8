// The step that both of FasterTransformer's softmax kernels take: a row by a block, a thread per
// column.
#pragma once
#include "row.cuh"

constexpr float kEpsilon = 1e-6f;  // FasterTransformer adds it to every sum

// All threads of the block must call it; those beyond the last column only lend a hand.
template <typename T, int THREADS>
__device__ inline void softmax_of_row(T* out_row, const T* x_row, Index cols,
                                      float (&max_parts)[THREADS / kWarp],
                                      float (&sum_parts)[THREADS / kWarp]) {
  const int col = threadIdx.x;
  const bool inside = col < cols;
  const float value = inside ? to_float(x_row[col]) : lowest();
  const float row_max = block_reduce<Max, THREADS>(value, max_parts);
  const float exponential = inside ? __expf(value - row_max) : 0.0f;
  const float sum = block_reduce<Sum, THREADS>(exponential, sum_parts);
  if (inside) from_float(out_row[col], __fdividef(exponential, sum + kEpsilon));
}
