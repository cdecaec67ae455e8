// The backward of softmax or of log-softmax: rows of g and y in the registers of a block, or of a
// cluster of blocks, so that memory is touched once.
#include "cluster.cuh"

// dx from the row's sum of of(g, y).
struct OfSoftmax {
  __device__ static float of(float g, float y) { return g * y; }
  __device__ static float slope(float g, float y, float sum) { return y * (g - sum); }
};
struct OfLogSoftmax {
  __device__ static float of(float g, float) { return g; }
  __device__ static float slope(float g, float y, float sum) { return g - exp_of(y) * sum; }
};

// run(i, element of g, of y) for all elements of two words, and a word of what it gives. AGAIN: as
// in to_floats(), so that between the two times words are kept, not what came out of them.
template <typename T, bool AGAIN, typename F>
__device__ inline uint4 with_elements(uint4 g_word, uint4 y_word, const F& run) {
  float g[kWide<T>], y[kWide<T>];
  elements_of<T, AGAIN>(g_word, g);
  elements_of<T, AGAIN>(y_word, y);
#pragma unroll
  for (int i = 0; i < kWide<T>; ++i) g[i] = run(i, g[i], y[i]);
  return word_of<T>(g);
}

// Have a word in registers here: left to itself, the compiler loads what a sum does not need only
// when it is needed, which is after the parts of a row have met.
__device__ inline void have(uint4& word) {
  asm volatile("" : "+r"(word.x), "+r"(word.y), "+r"(word.z), "+r"(word.w));
}

// Blocks of a multiprocessor that the compiler leaves registers for, found by trying: of some sizes
// of block it would have one more resident, and spill for that. 0: as it likes.
template <int WARPS>
constexpr int kLeastBlocks = (WARPS & (WARPS - 1)) == 0 ? 0 : 1;

// K: words of a lane. WARPS: of a block. CLUSTER: blocks that share a row. Rows are whole words and
// begin at words. Which elements meet in which sum depends on these and on nothing else.
template <typename T, typename Op, int K, int WARPS, int CLUSTER>
__global__ void __launch_bounds__(kWarp* WARPS, kLeastBlocks<WARPS>)
    backward(T* __restrict__ dx, const T* __restrict__ g, const T* __restrict__ y, Index dx_stride,
             Index g_stride, Index y_stride, Index rows, Index cols) {
  using Parts = Inbox<WARPS * CLUSTER>;
  __shared__ Parts inbox;
  Index row = blockIdx.x;
  int share = static_cast<int>(threadIdx.x) / kWarp;
  enter_row<WARPS, CLUSTER>(inbox, row, share);
  const int words = static_cast<int>(cols) / kWide<T>;
  const int first = share * (K * kWarp) + static_cast<int>(threadIdx.x) % kWarp;
  const T* const g_row = g + row * g_stride;
  const T* const y_row = y + row * y_stride;

  uint4 of_g[K], of_y[K];  // 0 where the row has none, which counts in no sum
#pragma unroll
  for (int k = 0; k < K; ++k) {
    const int at = first + k * kWarp;
    of_g[k] = of_y[k] = make_uint4(0, 0, 0, 0);
    if (at < words) {
      of_g[k] = load_word(g_row + at * kWide<T>);
      of_y[k] = load_word(y_row + at * kWide<T>);
    }
  }
  float sum[K];
#pragma unroll
  for (int k = 0; k < K; ++k) {
    float term[kWide<T>];
    with_elements<T, false>(of_g[k], of_y[k],
                            [&](int i, float a, float b) { return term[i] = Op::of(a, b); });
    sum[k] = over<Sum, kWide<T>>(term);
    have(of_y[k]);
  }
  // with one maximum for all, joining parts adds up their sums
  const Part all = joined_over_row<WARPS, CLUSTER>({0.0f, over<Sum, K>(sum)}, inbox);

  const unsigned zero = static_cast<unsigned>(cols >> 32);
  T* const dx_row = dx + row * dx_stride;
#pragma unroll
  for (int k = 0; k < K; ++k) {
    const int at = first + k * kWarp;
    if (at < words) {
      forget<T>(of_g[k], zero), forget<T>(of_y[k], zero);
      const uint4 word = with_elements<T, true>(
          of_g[k], of_y[k], [&](int, float a, float b) { return Op::slope(a, b, all.sum); });
      store_word(reinterpret_cast<uint4*>(dx_row + at * kWide<T>), word);
    }
  }
}
