// The vectors of a warp's tile of a row, in registers.
#pragma once
#include "unaligned.cuh"

// K vectors of a row for each lane: first + lane, first + 32 + lane, ... UNALIGNED: rows may begin
// inside a vector. BYPASS: 1: loads of aligned rows take no line of L1. 2: stores are also the
// first to leave L2. FROM_LANE: a vector of an unaligned row ends in the next aligned vector. The
// next lane sends that one; otherwise each lane loads it, too, from the cache.
template <typename T, int K, bool UNALIGNED, int BYPASS, bool FROM_LANE>
struct VecTile {
  static constexpr int kRoundElems = kWarp * kVecElems<T>;  // between two vectors of a lane
  // from the begin of a lane's first vector to the end of its last
  static constexpr int kSpanElems = (K - 1) * kRoundElems + kVecElems<T>;

  uint4 vec[K];
  uint4 following[FROM_LANE ? 1 : K];  // aligned vectors, from begin_load() to end_load()
  int first;                           // vector
  int cols;
  float fill;  // elements beyond the row

  // Return this lane's first element, and the elements from there to the end of the row. The
  // second number may be negative.
  __device__ int first_elem() const {
    return (first + static_cast<int>(threadIdx.x) % kWarp) * kVecElems<T>;
  }
  __device__ int elems_left() const { return cols - first_elem(); }

  __device__ VecTile(int first_vec, Index columns, float fill_value)
      : first(first_vec), cols(static_cast<int>(columns)), fill(fill_value) {
#pragma unroll
    for (int k = 0; k < K; ++k) {
      vec[k] = make_uint4(0, 0, 0, 0);
      if constexpr (!UNALIGNED) vec[k] = mask_tail<T>(vec[k], 0, fill);  // else shift() fills
    }
  }

  __device__ void load(const T* row) { begin_load(row), end_load(row); }
  // In two steps: whatever needs no element can stand between them.
  __device__ void begin_load(const T* row) {
    if constexpr (UNALIGNED) return load_around(AlignedRow<const T>(row));
    const T* const from = row + first_elem();
#pragma unroll
    for (int k = 0; k < K; ++k) {
      if (k * kRoundElems >= elems_left()) continue;
      vec[k] = BYPASS ? load_vec_once(from + k * kRoundElems) : load_vec(from + k * kRoundElems);
    }
  }
  __device__ void end_load(const T* row) {
    if constexpr (!UNALIGNED) return;
    const AlignedRow<const T> aligned(row);
    dispatch_quarter(aligned.off, [&](auto quarter) { shift<quarter.value>(aligned); });
  }

  // Store output(k) for each vector k of the row.
  template <typename Output>
  __device__ void store(T* out_row, const Output& output) const {
    if constexpr (UNALIGNED) {
      const AlignedRow<T> out(out_row);
      if (out.off == 0) return store_aligned_but_the_last(out_row, output);
      return dispatch_quarter(kVecBytes - out.off, [&](auto quarter) {
        store_shifted<quarter.value>(out_row, out, output);
      });
    }
    T* const to = out_row + first_elem();
#pragma unroll
    for (int k = 0; k < K; ++k) {
      if (k * kRoundElems < elems_left()) put(to + k * kRoundElems, output(k));
    }
  }

 private:
  __device__ static void put(T* to, uint4 output) {
    uint4* const vec_to = reinterpret_cast<uint4*>(to);
    BYPASS == 2 ? __stcs(vec_to, output) : store_vec(vec_to, output);
  }

  // Load only aligned vectors that hold an element of the row. No load waits for another: absent
  // vectors are zeros, not copies of a loaded one, and all addresses come from one pointer.
  __device__ void load_around(const AlignedRow<const T>& row) {
    const T* const from = opaque(row.vecs + first_elem());
    // elements of a vector of the row that lie in its first aligned vector
    const int in_first = kVecElems<T> - row.elements_off();
    const bool sends = FROM_LANE && threadIdx.x % kWarp < kWarp - 1;
#pragma unroll
    for (int k = FROM_LANE ? K - 1 : 0; k < K; ++k) {
      uint4& next = following[FROM_LANE ? 0 : k];
      next = make_uint4(0, 0, 0, 0);
      if (!sends && elems_left() - k * kRoundElems > in_first)
        next = load_vec(from + k * kRoundElems + kVecElems<T>);
    }
#pragma unroll
    for (int k = 0; k < K; ++k) {
      if (elems_left() - k * kRoundElems > (FROM_LANE ? in_first - kVecElems<T> : 0))
        vec[k] = load_vec(from + k * kRoundElems);
    }
  }

  template <int QUARTER>
  __device__ void shift(const AlignedRow<const T>& row) {
    const int lane = threadIdx.x % kWarp;
#pragma unroll
    for (int k = 0; k < K; ++k) {
      const int elements = elems_left() - k * kRoundElems;
      uint4 next = following[FROM_LANE ? 0 : k];
      if constexpr (FROM_LANE) {
        // lane 31 continues in lane 0's next vector
        const uint4 sent = lane == 0 && k + 1 < K ? vec[(k + 1) % K] : vec[k];
        const uint4 received = shuffled(sent, (lane + 1) % kWarp);
        if (k + 1 < K || lane < kWarp - 1) next = received;
      }
      vec[k] = funnel_shift<T, QUARTER>(vec[k], next, row.off % 4);
      if (elements < kVecElems<T>) vec[k] = mask_tail<T>(vec[k], elements, fill);
    }
  }

  template <typename Output>
  __device__ void store_aligned_but_the_last(T* out_row, const Output& output) const {
    T* const to = out_row + first_elem();
#pragma unroll
    for (int k = 0; k < K; ++k) {
      const int elements = elems_left() - k * kRoundElems;
      if (elements >= kVecElems<T>) {
        put(to + k * kRoundElems, output(k));
      } else if (elements > 0) {
        PartialVec<T>{output(k), to + k * kRoundElems, elements}.store_beginning();
      }
    }
  }

  // Each aligned vector begins with the end of the previous vector, which the previous lane has.
  // The two vectors at the tile's ends are shared with the neighbouring tiles and stored in part.
  template <int QUARTER, typename Output>
  __device__ void store_shifted(T* out_row, const AlignedRow<T>& out, const Output& output) const {
    const int lane = threadIdx.x % kWarp, back = out.elements_off();
    T* const to = out_row + first_elem() - back;
    const int elems_to_end = elems_left() + back;  // of the row, from `to` on
    uint4 previous = make_uint4(0, 0, 0, 0), current;
#pragma unroll
    for (int k = 0; k < K; ++k) {
      current = output(k);
      const uint4 neighbour = shuffled(current, (lane + kWarp - 1) % kWarp);
      const uint4 shifted =
          funnel_shift<T, QUARTER>(lane == 0 ? previous : neighbour, current, out.off % 4);
      previous = neighbour;  // lane 0 gets lane 31's vector, which it needs next
      const int elements = elems_to_end - k * kRoundElems;
      if (k == 0 && lane == 0) {
        if (elems_to_end <= back) continue;
        const PartialVec<T> piece{shifted, to, kVecElems<T> - back};
        elems_to_end < kVecElems<T> ? piece.store_middle(back, elems_to_end) : piece.store_end();
      } else if (elements >= kVecElems<T>) {
        put(to + k * kRoundElems, shifted);
      } else if (elements > 0) {
        PartialVec<T>{shifted, to + k * kRoundElems, elements}.store_beginning();
      }
    }
    if (lane == kWarp - 1 && elems_to_end > kSpanElems) {
      PartialVec<T>{funnel_shift<T, QUARTER>(current, current, out.off % 4), to + kSpanElems,
                    min(back, elems_to_end - kSpanElems)}
          .store_beginning();
    }
  }

  __device__ static uint4 shuffled(uint4 vec, int lane) {
    return make_uint4(__shfl_sync(kWholeWarp, vec.x, lane), __shfl_sync(kWholeWarp, vec.y, lane),
                      __shfl_sync(kWholeWarp, vec.z, lane), __shfl_sync(kWholeWarp, vec.w, lane));
  }
};
