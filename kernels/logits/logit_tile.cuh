// Tiles of a row of logits. Only the last tile of a row may end beyond it, so all others are loaded
// without a test for each vector.
#pragma once
#include "vec_tile.cuh"

// Load a tile that lies wholly in the row, in two steps as VecTile does, with the same result.
template <typename T, int K, bool UNALIGNED, int BYPASS, bool FROM_LANE>
struct WholeTile {
  using Tile = VecTile<T, K, UNALIGNED, BYPASS, FROM_LANE>;
  using From = typename Tile::From;
  static constexpr int kElems = K * Tile::kRoundElems;

  __device__ static void begin_load(Tile& tile, const T* row) {
    if constexpr (UNALIGNED) return load_around(tile, From(row));
    const T* const from = opaque(row + tile.first_elem());
#pragma unroll
    for (int k = 0; k < K; ++k) {
      const T* const at = from + k * Tile::kRoundElems;
      tile.vec[k] = BYPASS ? load_vec_once<uint4>(at) : load_vec<uint4>(at);
    }
  }
  __device__ static void end_load(Tile& tile, const T* row) {
    if constexpr (!UNALIGNED) return;
    const From aligned(row);
    dispatch_quarter(aligned.off, [&](auto part) { shift<part.value>(tile, aligned.off % 4); });
  }

 private:
  // An aligned row needs no following vector, which may lie beyond the row.
  __device__ static void load_around(Tile& tile, const From& row) {
    const T* const from = opaque(row.vecs + tile.first_elem());
    const bool is_sent = FROM_LANE && threadIdx.x % kWarp < kWarp - 1;
#pragma unroll
    for (int k = FROM_LANE ? K - 1 : 0; k < K; ++k) {
      uint4& next = tile.following[FROM_LANE ? 0 : k];
      next = uint4{};
      if (!is_sent && row.off != 0)
        next = load_vec<uint4>(from + k * Tile::kRoundElems + kVecElems<T>);
    }
#pragma unroll
    for (int k = 0; k < K; ++k) tile.vec[k] = load_vec<uint4>(from + k * Tile::kRoundElems);
  }

  template <int QUARTER>
  __device__ static void shift(Tile& tile, int rest) {
    const int lane = threadIdx.x % kWarp, next_lane = (lane + 1) % kWarp;
#pragma unroll
    for (int k = 0; k < K; ++k) {
      uint4 next = tile.following[FROM_LANE ? 0 : k];
      if constexpr (FROM_LANE) {
        // lane 31 continues in lane 0's next vector
        const uint4 sent = lane == 0 && k + 1 < K ? tile.vec[(k + 1) % K] : tile.vec[k];
        const uint4 received = make_uint4(
            __shfl_sync(kWholeWarp, sent.x, next_lane), __shfl_sync(kWholeWarp, sent.y, next_lane),
            __shfl_sync(kWholeWarp, sent.z, next_lane), __shfl_sync(kWholeWarp, sent.w, next_lane));
        if (k + 1 < K || lane < kWarp - 1) next = received;
      }
      tile.vec[k] = funnel_shift<T, QUARTER>(tile.vec[k], next, rest);
    }
  }
};
