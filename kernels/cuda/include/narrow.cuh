// Narrow vectors, for kernels whose input and output differ in type, such as 16-bit x with float32
// output. Such a kernel is tiled by the vectors of float32; a narrow vector holds the same four
// elements in 16 bits, in 8 bytes.
#pragma once
#include "vec_tile.cuh"

// A vector of as many elements of `Narrow` as a 16-byte vector has of T.
template <typename Narrow, typename T>
using NarrowVec = typename VecOf<sizeof(Narrow) * kVecElems<T>>::type;

// Convert to float32, which is exact, and back, which rounds. A 16-byte vector stays as it is.
template <typename Narrow>
__device__ inline uint4 widened(uint4 vec) {
  return vec;
}
template <typename Narrow>
__device__ inline uint4 widened(uint2 vec) {
  float value[kVecElems<float>];
  to_floats<false>(vec.x, value[0], value[1], Narrow{});
  to_floats<false>(vec.y, value[2], value[3], Narrow{});
  return pack<float>(value);
}
template <typename Narrow>
__device__ inline uint2 narrowed(const float (&from)[kVecElems<float>]) {
  uint2 vec;
  from_floats(vec.x, from[0], from[1], Narrow{});
  from_floats(vec.y, from[2], from[3], Narrow{});
  return vec;
}

// A VecTile of T that is loaded from a row of In. The interface is that of VecTile.
template <typename T, typename In, int K, bool UNALIGNED, int BYPASS>
struct LoadedTile : VecTile<T, K, UNALIGNED, BYPASS, true> {
  using Vecs = VecTile<T, K, UNALIGNED, BYPASS, true>;
  VecTile<In, K, UNALIGNED, BYPASS, true, kVecElems<T>> narrow;

  LoadedTile() = default;
  __device__ LoadedTile(int first_vec, Index columns, float fill)
      : Vecs(first_vec, columns, fill), narrow(first_vec, columns, fill) {}

  __device__ void load(const In* row) { begin_load(row), end_load(row); }
  __device__ void begin_load(const In* row) { narrow.begin_load(row); }
  __device__ void end_load(const In* row) {
    narrow.end_load(row);
#pragma unroll
    for (int k = 0; k < K; ++k) Vecs::vec[k] = widened<In>(narrow.vec[k]);
  }
};
// Second vectors come from the next lane in 16 bits, where registers are scarce; in 32 bits it is
// faster to load them from the cache.
template <typename T, int K, bool UNALIGNED, int BYPASS>
struct LoadedTile<T, T, K, UNALIGNED, BYPASS>
    : VecTile<T, K, UNALIGNED, BYPASS, (sizeof(T) < sizeof(float))> {
  using Vecs = VecTile<T, K, UNALIGNED, BYPASS, (sizeof(T) < sizeof(float))>;
  using Vecs::Vecs;
};
