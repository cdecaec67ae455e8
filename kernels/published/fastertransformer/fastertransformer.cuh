// The softmax of a row by a block, a thread per column, for both of FasterTransformer's kernels.
#pragma once
#include "row.cuh"

constexpr float kEpsilon = 1e-6f;  // FasterTransformer adds it to every sum

// All threads of the block must call it, because they share the reductions.
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
