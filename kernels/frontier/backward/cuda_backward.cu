// The backward of softmax or log-softmax: rows of g and y in the registers of a warp, a block, or a
// cluster of blocks, so each element is read once.
#include "cluster.cuh"
#include "narrow.cuh"

// Compute dx from g, y and the row's sum of term(g, y). Explicit __fmul_rn() and fmaf(): all
// instances of the kernel give the same bits.
struct SoftmaxGrad {
  // Half of g and half of the sum: g - sum may be up to twice the largest g, and the sum of rounded
  // y above 1. A product with 0.5 or 2 is exact, so no bit changes where nothing overflows.
  __device__ static float term(float g, float y) { return __fmul_rn(0.5f * g, y); }
  template <typename T>
  __device__ static float dx(float g, float y, float sum) {
    return (y + y) * fmaf(0.5f, g, -sum);
  }
};
struct LogSoftmaxGrad {
  __device__ static float term(float g, float) { return g; }
  template <typename T>
  __device__ static float dx(float g, float y, float sum) {
    const float p = sizeof(T) < sizeof(float) ? exp_approx(y) : exp_corrected(y);
    return fmaf(-p, sum, g);
  }
};

// Compute run(g_i, y_i) for the elements of two vectors. AGAIN: as in to_floats(), so that
// registers keep the vectors between two calls, not their float32 elements.
template <typename T, bool AGAIN, typename F>
__device__ inline void combine(uint4 g_vec, uint4 y_vec, float (&to)[kVecElems<T>], const F& run) {
  float y[kVecElems<T>];
  unpack<T, AGAIN>(g_vec, to);
  unpack<T, AGAIN>(y_vec, y);
#pragma unroll
  for (int i = 0; i < kVecElems<T>; ++i) to[i] = run(to[i], y[i]);
}

// Resident blocks for which the compiler limits registers, found by compiling. Without a limit it
// spills for some block sizes, or takes too many registers. 0: the compiler decides.
template <int K, int WARPS>
constexpr int kMinBlocksPerSm = (WARPS & (WARPS - 1)) == 0 ? 0 : 128 / (K * WARPS);

// K, UNALIGNED: as in VecTile. WARPS, CLUSTER, ROWS: as in frontier_rows. The order of every sum
// depends on all but UNALIGNED. Out: the type of dx.
template <typename T, typename Grad, int K, int WARPS, int CLUSTER, int ROWS, bool UNALIGNED,
          typename Out = T>
__global__ void __launch_bounds__(kWarp * WARPS * ROWS, kMinBlocksPerSm<K, WARPS>)
    backward(Out* __restrict__ dx, const T* __restrict__ g, const T* __restrict__ y,
             Index dx_stride, Index g_stride, Index y_stride, Index rows, Index cols) {
  const RowPart<SumMerge, WARPS, CLUSTER, ROWS> part;
  if (ROWS > 1 && part.row >= rows) return;
  const T* const g_row = g + part.row * g_stride;
  const T* const y_row = y + part.row * y_stride;
  const int first = part.tile * (K * kWarp);
  // Vectors from the next lane: from the cache, two tiles of float32 would take over 64 registers.
  using Vecs = VecTile<T, K, UNALIGNED, 0, true>;
  // 0 beyond the row, which changes no sum
  Vecs g_tile(first, cols, 0.0f), y_tile(first, cols, 0.0f);
  g_tile.begin_load(g_row), y_tile.begin_load(y_row);
  part.listen();
  g_tile.end_load(g_row), y_tile.end_load(y_row);
  float sum[K];
#pragma unroll
  for (int k = 0; k < K; ++k) {
    float term[kVecElems<T>];
    combine<T, false>(g_tile.vec[k], y_tile.vec[k], term, Grad::term);
    sum[k] = tree_reduce<Sum, kVecElems<T>>(term);
    // otherwise the compiler loads y only after the cluster has merged its states
    opaque(y_tile.vec[k]);
  }
  const SumMerge::State merged = part.merge({warp_reduce<Sum>(tree_reduce<Sum, K>(sum))});

  const unsigned zero = static_cast<unsigned>(cols >> 32);
  constexpr bool kNarrow = sizeof(Out) < sizeof(T);
  VecTile<Out, kNarrow ? K : 1, UNALIGNED, 0, true, kVecElems<T>> narrow(first, cols, 0.0f);
#pragma unroll
  for (int k = 0; k < K; ++k) {
    opaque<T>(g_tile.vec[k], zero), opaque<T>(y_tile.vec[k], zero);
    float value[kVecElems<T>];
    combine<T, true>(g_tile.vec[k], y_tile.vec[k], value,
                     [&](float a, float b) { return Grad::template dx<T>(a, b, merged.sum); });
    if constexpr (kNarrow) {
      narrow.vec[k] = narrowed<Out>(value);
    } else {
      g_tile.vec[k] = pack<T>(value);
    }
  }
  Out* const dx_row = dx + part.row * dx_stride;
  if constexpr (kNarrow) {
    narrow.store(dx_row, [&](int k) { return narrow.vec[k]; });
  } else {
    g_tile.store(dx_row, [&](int k) { return g_tile.vec[k]; });
  }
}
