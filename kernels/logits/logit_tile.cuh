// A warp's tile of a row of logits. Only the last tile of a row may end beyond it, so all others
// can be loaded without a test for each vector.
#pragma once
#include "vec_tile.cuh"

// How a warp reads a row. kAligned: by aligned vectors. kShifted: by aligned vectors around the
// row, whose parts it puts together. kStrided: a lane takes every 32nd element; for float32 rows
// that do not fill whole vectors, because moving parts of a vector costs more than four loads.
enum class Access { kAligned, kShifted, kStrided };

// A tile of K vectors a lane. Element i of a lane's vector k lies place(k, i) elements after the
// lane's first one. So the row's length alone may decide between kStrided and the others: a lane's
// sum depends on it.
template <typename T, int K, Access ACCESS>
struct LogitTile : VecTile<T, K, ACCESS == Access::kShifted, 1, true> {
  static constexpr bool kShifts = ACCESS == Access::kShifted;
  using Tile = VecTile<T, K, kShifts, 1, true>;
  using From = typename Tile::From;
  using Tile::first, Tile::cols, Tile::vec, Tile::following;
  static constexpr int kVecs = K, kElems = K * Tile::kRoundElems;

  LogitTile() = default;
  __device__ LogitTile(int first_vec, int columns) : Tile(first_vec, columns, lowest()) {}
  __device__ static constexpr int place(int k, int i) { return k * Tile::kRoundElems + i; }
  // Return how many elements of the row this lane's vector k has.
  __device__ int count(int k) const {
    return min(max(this->elems_left() - place(k, 0), 0), kVecElems<T>);
  }
  // Return the lane that has the element in a column.
  __device__ static int lane_of(int column) { return column / kVecElems<T> % kWarp; }

  // Load a tile that lies wholly in the row, in two steps, with the same result as VecTile.
  __device__ void begin_load_whole(int first_vec, int columns, const T* row) {
    first = first_vec, cols = columns;
    if constexpr (kShifts) return load_around(From(row));
    const T* const from = opaque(row + this->first_elem());
#pragma unroll
    for (int k = 0; k < K; ++k) {
      const T* const at = from + k * Tile::kRoundElems;
      vec[k] = load_vec_once<uint4>(at);
    }
  }
  __device__ void end_load_whole(const T* row) {
    if constexpr (!kShifts) return;
    const From aligned(row);
    dispatch_quarter(aligned.off, [&](auto part) { shift<part.value>(aligned.off % 4); });
  }

 private:
  // Lane 31 alone loads a following vector. An aligned row needs none: it may lie beyond the row.
  __device__ void load_around(const From& row) {
    const T* const from = opaque(row.vecs + this->first_elem());
    following[0] = uint4{};
    if (threadIdx.x % kWarp == kWarp - 1 && row.off != 0)
      following[0] = load_vec<uint4>(from + Tile::kSpanElems);
#pragma unroll
    for (int k = 0; k < K; ++k) vec[k] = load_vec<uint4>(from + k * Tile::kRoundElems);
  }

  template <int QUARTER>
  __device__ void shift(int rest) {
    // words of the next vector that the shift takes
    constexpr int kWords = QUARTER + (sizeof(T) < sizeof(float));
    const int lane = threadIdx.x % kWarp, next_lane = (lane + 1) % kWarp;
#pragma unroll
    for (int k = 0; k < K; ++k) {
      // lane 31 continues in lane 0's next vector
      const uint4 sent = lane == 0 && k + 1 < K ? vec[(k + 1) % K] : vec[k];
      uint4 next{};
      if constexpr (kWords > 0) next.x = __shfl_sync(kWholeWarp, sent.x, next_lane);
      if constexpr (kWords > 1) next.y = __shfl_sync(kWholeWarp, sent.y, next_lane);
      if constexpr (kWords > 2) next.z = __shfl_sync(kWholeWarp, sent.z, next_lane);
      if constexpr (kWords > 3) next.w = __shfl_sync(kWholeWarp, sent.w, next_lane);
      if (k + 1 == K && lane == kWarp - 1) next = following[0];
      vec[k] = funnel_shift<T, QUARTER>(vec[k], next, rest);
    }
  }
};

template <int K>
struct LogitTile<float, K, Access::kStrided> {
  static constexpr int kVecs = K, kVec = kVecElems<float>, kElems = K * kVec * kWarp;
  uint4 vec[K];
  int first, cols;

  LogitTile() = default;
  __device__ LogitTile(int first_vec, int columns) : first(first_vec), cols(columns) {}
  __device__ static constexpr int place(int k, int i) { return (k * kVec + i) * kWarp; }
  __device__ int count(int k) const {
    return min(max((elems_left() - place(k, 0) + kWarp - 1) / kWarp, 0), kVec);
  }
  __device__ static int lane_of(int column) { return column % kWarp; }
  __device__ int first_elem() const { return first * kVec + static_cast<int>(threadIdx.x) % kWarp; }
  __device__ int elems_left() const { return cols - first_elem(); }

  __device__ void load(const float* row) { load_elements<false>(row); }
  __device__ void begin_load(const float* row) { load(row); }
  __device__ void end_load(const float*) const {}
  __device__ void begin_load_whole(int first_vec, int columns, const float* row) {
    first = first_vec, cols = columns;
    load_elements<true>(row);
  }
  __device__ void end_load_whole(const float*) const {}

  template <typename Output>
  __device__ void store(float* out_row, const Output& output) const {
    float* const to = out_row + first_elem();
#pragma unroll
    for (int k = 0; k < K; ++k) {
      float value[kVec];
      unpack<float>(output(k), value);
#pragma unroll
      for (int i = 0; i < kVec; ++i) {
        if (place(k, i) < elems_left()) to[place(k, i)] = value[i];
      }
    }
  }

 private:
  template <bool WHOLE>
  __device__ void load_elements(const float* row) {
    const float* const from = opaque(row + first_elem());
#pragma unroll
    for (int k = 0; k < K; ++k) {
      float value[kVec];
#pragma unroll
      for (int i = 0; i < kVec; ++i) {
        value[i] = WHOLE || place(k, i) < elems_left() ? __ldg(from + place(k, i)) : lowest();
      }
      vec[k] = pack<float>(value);
    }
  }
};
