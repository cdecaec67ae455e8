// Multiply each row by a number, in place. Rows whose number is 1 are skipped: that is a plain
// loss.backward(), and the host cannot know it without waiting for the GPU.
#include "unaligned.cuh"

// dx: (rows, cols). g: (rows,), or one number for all rows if g_stride is 0. A row has `row_blocks`
// blocks, whose threads have K vectors each.
template <typename T, int K, int THREADS>
__global__ void __launch_bounds__(THREADS)
    multiply_rows(T* dx, const float* g, Index dx_stride, Index g_stride, Index cols,
                  Index row_blocks) {
  constexpr int kElems = kVecElems<T>;
  const unsigned blocks = static_cast<unsigned>(row_blocks);
  const Index row = blockIdx.x / blocks;
  const float factor = g[row * g_stride];
  if (factor == 1.0f) return;
  T* const dx_row = dx + row * dx_stride;
  const AlignedRow<T> aligned(dx_row);
  const int first_vec = static_cast<int>(blockIdx.x % blocks) * (K * THREADS) + threadIdx.x;
  const int width = static_cast<int>(cols);
#pragma unroll
  for (int k = 0; k < K; ++k) {
    const int vec = first_vec + k * THREADS, column = vec * kElems - aligned.elements_off();
    if (column >= 0 && column + kElems <= width) {
      uint4* const to = reinterpret_cast<uint4*>(aligned.at(vec));
      float value[kElems];
      unpack<T>(*to, value);
#pragma unroll
      for (int i = 0; i < kElems; ++i) value[i] *= factor;
      store_vec(to, pack<T>(value));
    } else {
      for (int i = max(column, 0); i < min(column + kElems, width); ++i)
        from_float(dx_row[i], to_float(dx_row[i]) * factor);
    }
  }
}
