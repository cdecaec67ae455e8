// Tiles of a row of logits. Only the last tile of a row may end beyond it, so all others are loaded
// without a test for each vector.
#pragma once
#include "vec_tile.cuh"

// Load a tile that lies wholly in the row, in two steps as VecTile does, with the same result.
template <typename T, int K, bool UNALIGNED>
struct WholeTile {
  using Tile = VecTile<T, K, UNALIGNED, 1, true>;
  using From = typename Tile::From;
  static constexpr int kElems = K * Tile::kRoundElems;

  __device__ static void begin_load(Tile& tile, const T* row) {
    if constexpr (UNALIGNED) return load_around(tile, From(row));
    const T* const from = opaque(row + tile.first_elem());
#pragma unroll
    for (int k = 0; k < K; ++k) {
      const T* const at = from + k * Tile::kRoundElems;
      tile.vec[k] = load_vec_once<uint4>(at);
    }
  }
  __device__ static void end_load(Tile& tile, const T* row) {
    if constexpr (!UNALIGNED) return;
    const From aligned(row);
    dispatch_quarter(aligned.off, [&](auto part) { shift<part.value>(tile, aligned.off % 4); });
  }

 private:
  // Lane 31 alone loads a following vector. An aligned row needs none: it may lie beyond the row.
  __device__ static void load_around(Tile& tile, const From& row) {
    const T* const from = opaque(row.vecs + tile.first_elem());
    tile.following[0] = uint4{};
    if (threadIdx.x % kWarp == kWarp - 1 && row.off != 0)
      tile.following[0] = load_vec<uint4>(from + Tile::kSpanElems);
#pragma unroll
    for (int k = 0; k < K; ++k) tile.vec[k] = load_vec<uint4>(from + k * Tile::kRoundElems);
  }

  template <int QUARTER>
  __device__ static void shift(Tile& tile, int rest) {
    // words of the next vector that the shift takes
    constexpr int kWords = QUARTER + (sizeof(T) < sizeof(float));
    const int lane = threadIdx.x % kWarp, next_lane = (lane + 1) % kWarp;
#pragma unroll
    for (int k = 0; k < K; ++k) {
      // lane 31 continues in lane 0's next vector
      const uint4 sent = lane == 0 && k + 1 < K ? tile.vec[(k + 1) % K] : tile.vec[k];
      uint4 next{};
      if constexpr (kWords > 0) next.x = __shfl_sync(kWholeWarp, sent.x, next_lane);
      if constexpr (kWords > 1) next.y = __shfl_sync(kWholeWarp, sent.y, next_lane);
      if constexpr (kWords > 2) next.z = __shfl_sync(kWholeWarp, sent.z, next_lane);
      if constexpr (kWords > 3) next.w = __shfl_sync(kWholeWarp, sent.w, next_lane);
      if (k + 1 == K && lane == kWarp - 1) next = tile.following[0];
      tile.vec[k] = funnel_shift<T, QUARTER>(tile.vec[k], next, rest);
    }
  }
};
