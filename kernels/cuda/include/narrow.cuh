// Narrow vectors: as many elements of 16 bits as a vector has of float32. A kernel that reads one
// type and writes another one has its vectors in float32, and a narrow one beside each.
#pragma once
#include "vec_tile.cuh"

// As many elements of `Narrow` as a vector has of T.
template <typename Narrow, typename T>
using NarrowVec = typename VecOf<sizeof(Narrow) * kVecElems<T>>::type;

// Convert to float32, which changes no value, and back, which rounds. A vector of T stays itself.
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

// K vectors of T for each lane, loaded from a row of In. The members are those of VecTile.
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
// FROM_LANE in 16 bits, because registers are scarce; in 32 bits loads from the cache are faster.
template <typename T, int K, bool UNALIGNED, int BYPASS>
struct LoadedTile<T, T, K, UNALIGNED, BYPASS>
    : VecTile<T, K, UNALIGNED, BYPASS, (sizeof(T) < sizeof(float))> {
  using Vecs = VecTile<T, K, UNALIGNED, BYPASS, (sizeof(T) < sizeof(float))>;
  using Vecs::Vecs;
};
