// The backward of softmax or log-softmax: rows of g and y in the registers of a block, or of a
// cluster of blocks, so each element is read once.
#include "cluster.cuh"
#include "vec.cuh"

// Compute dx from g, y and the row's sum of term(g, y).
struct SoftmaxGrad {
  __device__ static float term(float g, float y) { return g * y; }
  __device__ static float dx(float g, float y, float sum) { return y * (g - sum); }
};
struct LogSoftmaxGrad {
  __device__ static float term(float g, float) { return g; }
  __device__ static float dx(float g, float y, float sum) { return g - exp_approx(y) * sum; }
};

// Return the vector of run(i, g_i, y_i) for the elements of two vectors. AGAIN: as in to_floats(),
// so that registers keep the vectors between the two calls, not their float32 elements.
template <typename T, bool AGAIN, typename F>
__device__ inline uint4 transform_elements(uint4 g_vec, uint4 y_vec, const F& run) {
  float g[kVecElems<T>], y[kVecElems<T>];
  unpack<T, AGAIN>(g_vec, g);
  unpack<T, AGAIN>(y_vec, y);
#pragma unroll
  for (int i = 0; i < kVecElems<T>; ++i) g[i] = run(i, g[i], y[i]);
  return pack<T>(g);
}

// Resident blocks for which the compiler limits registers, found by compiling. For some block sizes
// it would allow for one block more, and spill. 0: the compiler decides.
template <int WARPS>
constexpr int kMinBlocksPerSm = (WARPS & (WARPS - 1)) == 0 ? 0 : 1;

// K: vectors of a lane. WARPS: warps of a block. CLUSTER: blocks that share a row. Rows are aligned
// and a multiple of a vector long. The order of every sum depends on these parameters alone.
template <typename T, typename Grad, int K, int WARPS, int CLUSTER>
__global__ void __launch_bounds__(kWarp* WARPS, kMinBlocksPerSm<WARPS>)
    backward(T* __restrict__ dx, const T* __restrict__ g, const T* __restrict__ y, Index dx_stride,
             Index g_stride, Index y_stride, Index rows, Index cols) {
  using Buffer = ClusterReduceBuffer<WARPS * CLUSTER>;
  __shared__ Buffer buffer;
  Index row = blockIdx.x;
  int tile = static_cast<int>(threadIdx.x) / kWarp;
  enter_row<WARPS, CLUSTER>(buffer, row, tile);
  const int vecs = static_cast<int>(cols) / kVecElems<T>;
  const int first = tile * (K * kWarp) + static_cast<int>(threadIdx.x) % kWarp;
  const T* const g_row = g + row * g_stride;
  const T* const y_row = y + row * y_stride;

  uint4 g_vec[K], y_vec[K];  // 0 beyond the row, which changes no sum
#pragma unroll
  for (int k = 0; k < K; ++k) {
    const int vec = first + k * kWarp;
    g_vec[k] = y_vec[k] = make_uint4(0, 0, 0, 0);
    if (vec < vecs) {
      g_vec[k] = load_vec(g_row + vec * kVecElems<T>);
      y_vec[k] = load_vec(y_row + vec * kVecElems<T>);
    }
  }
  float sum[K];
#pragma unroll
  for (int k = 0; k < K; ++k) {
    float term[kVecElems<T>];
    transform_elements<T, false>(
        g_vec[k], y_vec[k], [&](int i, float a, float b) { return term[i] = Grad::term(a, b); });
    sum[k] = tree_reduce<Sum, kVecElems<T>>(term);
    // otherwise the compiler loads y only after the cluster has merged its states
    opaque(y_vec[k]);
  }
  // all states have one maximum, so merging adds their sums
  const SoftmaxState merged = merge_row<WARPS, CLUSTER>({0.0f, tree_reduce<Sum, K>(sum)}, buffer);

  const unsigned zero = static_cast<unsigned>(cols >> 32);
  T* const dx_row = dx + row * dx_stride;
#pragma unroll
  for (int k = 0; k < K; ++k) {
    const int vec = first + k * kWarp;
    if (vec < vecs) {
      opaque<T>(g_vec[k], zero), opaque<T>(y_vec[k], zero);
      const uint4 result = transform_elements<T, true>(
          g_vec[k], y_vec[k], [&](int, float a, float b) { return Grad::dx(a, b, merged.sum); });
      store_vec(reinterpret_cast<uint4*>(dx_row + vec * kVecElems<T>), result);
    }
  }
}
