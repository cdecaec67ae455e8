// The backward of softmax and log-softmax. A row of g and of y is held in the registers of a warp,
// a block, or a cluster, so each element is read only once; one sum per row is merged in between.
#include "cluster.cuh"
#include "narrow.cuh"

// A gradient: dx follows from g, y and the row's sum of term(g, y). Products are explicit
// __fmul_rn() or fmaf(), so that every instance of the kernel rounds alike and gives the same bits.
struct SoftmaxGrad {
  // Everything is computed from halves, because g - sum may be twice the largest g, and the sum of
  // the rounded y may exceed 1. Factors of 0.5 and 2 are exact, so without overflow no bit changes.
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

// Compute run(g_i, y_i) for the elements of two vectors. AGAIN: see to_floats(); it makes registers
// keep the vectors between two calls, instead of their float32 elements.
template <typename T, bool AGAIN, typename F>
__device__ inline void combine(uint4 g_vec, uint4 y_vec, float (&to)[kVecElems<T>], const F& run) {
  float y[kVecElems<T>];
  unpack<T, AGAIN>(g_vec, to);
  unpack<T, AGAIN>(y_vec, y);
#pragma unroll
  for (int i = 0; i < kVecElems<T>; ++i) to[i] = run(to[i], y[i]);
}

// Resident blocks per multiprocessor for which the compiler must limit registers, found by
// compiling. 0 leaves it to the compiler, which for other block sizes spills or takes too many.
template <int K, int WARPS>
constexpr int kMinBlocksPerSm = (WARPS & (WARPS - 1)) == 0 ? 0 : 128 / (K * WARPS);

// Rows are divided as in frontier_rows (K, WARPS, CLUSTER, ROWS), and this division alone fixes the
// order of every sum. UNALIGNED: see VecTile. Out: the element type of dx.
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
  // FROM_LANE: with second vectors from the cache, two float32 tiles would exceed 64 registers.
  using Vecs = VecTile<T, K, UNALIGNED, 0, true>;
  // Elements beyond the row are 0, which changes no sum.
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
    // Without this the compiler delays the loads of y until the cluster has merged its sums.
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
