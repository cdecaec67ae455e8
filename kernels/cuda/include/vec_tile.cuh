// A warp's tile of a row, in registers: load it from, and store it to, rows at any address.
#pragma once
#include "unaligned.cuh"

// Each lane holds K vectors of the row: first + lane, first + 32 + lane, ... UNALIGNED: rows may
// begin inside an aligned vector; each vector then straddles two aligned ones. With FROM_LANE the
// next lane passes on the second one by a shuffle; without, each lane loads it as well, from the
// cache. BYPASS: with 1, loads of aligned rows allocate no line in L1; with 2, stores are moreover
// evict-first in L2. ELEMS: elements per vector, which may be narrower than 16 bytes (narrow.cuh).
template <typename T, int K, bool UNALIGNED, int BYPASS, bool FROM_LANE, int ELEMS = kVecElems<T>>
struct VecTile {
  using Vec = typename VecOf<sizeof(T) * ELEMS>::type;
  using From = AlignedRow<const T, ELEMS>;
  using To = AlignedRow<T, ELEMS>;
  static constexpr int kBytes = sizeof(Vec);
  static constexpr int kRoundElems = kWarp * ELEMS;  // from one vector of a lane to its next
  // from the beginning of a lane's first vector to the end of its last
  static constexpr int kSpanElems = (K - 1) * kRoundElems + ELEMS;

  Vec vec[K];
  Vec following[FROM_LANE ? 1 : K];  // second aligned vectors, from begin_load() to end_load()
  int first;                         // lane 0's first vector
  int cols;
  float fill;  // value of elements beyond the row

  // Return this lane's first element, and the row's elements from there on, which may be negative.
  __device__ int first_elem() const {
    return (first + static_cast<int>(threadIdx.x) % kWarp) * ELEMS;
  }
  __device__ int elems_left() const { return cols - first_elem(); }

  VecTile() = default;
  __device__ VecTile(int first_vec, Index columns, float fill_value)
      : first(first_vec), cols(static_cast<int>(columns)), fill(fill_value) {
#pragma unroll
    for (int k = 0; k < K; ++k) {
      vec[k] = Vec{};
      if constexpr (!UNALIGNED) vec[k] = mask_tail<T>(vec[k], 0, fill);  // else by shift()
    }
  }

  __device__ void load(const T* row) { begin_load(row), end_load(row); }
  // Loading takes two steps, so that the caller can do other work while the loads are in flight.
  __device__ void begin_load(const T* row) {
    if constexpr (UNALIGNED) return load_around(From(row));
    const T* const from = row + first_elem();
#pragma unroll
    for (int k = 0; k < K; ++k) {
      if (k * kRoundElems >= elems_left()) continue;
      const T* const at = from + k * kRoundElems;
      vec[k] = BYPASS ? load_vec_once<Vec>(at) : load_vec<Vec>(at);
    }
  }
  __device__ void end_load(const T* row) {
    if constexpr (!UNALIGNED) return;
    const From aligned(row);
    dispatch_quarter<kBytes>(aligned.off, [&](auto part) { shift<part.value>(aligned); });
  }

  // Store output(k) as vector k, for each vector of the row.
  template <typename Output>
  __device__ void store(T* out_row, const Output& output) const {
    if constexpr (UNALIGNED) {
      const To out(out_row);
      if (out.off == 0) return store_aligned_but_the_last(out_row, output);
      return dispatch_quarter<kBytes>(kBytes - out.off, [&](auto quarter) {
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
  __device__ static void put(T* to, Vec output) {
    Vec* const vec_to = reinterpret_cast<Vec*>(to);
    BYPASS == 2 ? __stcs(vec_to, output) : store_vec(vec_to, output);
  }

  // Load only aligned vectors that hold an element of the row. No load depends on another: absent
  // vectors are zeros, not copies of a loaded one, and all addresses are offsets of one pointer.
  __device__ void load_around(const From& row) {
    const T* const from = opaque(row.vecs + first_elem());
    // how many elements of a vector lie in the first of its two aligned vectors
    const int in_first = ELEMS - row.elements_off();
    const bool sends = FROM_LANE && threadIdx.x % kWarp < kWarp - 1;
#pragma unroll
    for (int k = FROM_LANE ? K - 1 : 0; k < K; ++k) {
      Vec& next = following[FROM_LANE ? 0 : k];
      next = Vec{};
      if (!sends && elems_left() - k * kRoundElems > in_first)
        next = load_vec<Vec>(from + k * kRoundElems + ELEMS);
    }
#pragma unroll
    for (int k = 0; k < K; ++k) {
      if (elems_left() - k * kRoundElems > (FROM_LANE ? in_first - ELEMS : 0))
        vec[k] = load_vec<Vec>(from + k * kRoundElems);
    }
  }

  // Assemble each vector from its two aligned ones.
  template <int QUARTER>
  __device__ void shift(const From& row) {
    const int lane = threadIdx.x % kWarp;
#pragma unroll
    for (int k = 0; k < K; ++k) {
      const int elements = elems_left() - k * kRoundElems;
      Vec next = following[FROM_LANE ? 0 : k];
      if constexpr (FROM_LANE) {
        // lane 31's second vector is lane 0's next one
        const Vec sent = lane == 0 && k + 1 < K ? vec[(k + 1) % K] : vec[k];
        const Vec received = shuffled(sent, (lane + 1) % kWarp);
        if (k + 1 < K || lane < kWarp - 1) next = received;
      }
      vec[k] = funnel_shift<T, QUARTER>(vec[k], next, row.off % 4);
      if (elements < ELEMS) vec[k] = mask_tail<T>(vec[k], elements, fill);
    }
  }

  template <typename Output>
  __device__ void store_aligned_but_the_last(T* out_row, const Output& output) const {
    T* const to = out_row + first_elem();
#pragma unroll
    for (int k = 0; k < K; ++k) {
      const int elements = elems_left() - k * kRoundElems;
      if (elements >= ELEMS) {
        put(to + k * kRoundElems, output(k));
      } else if (elements > 0) {
        lower(output(k), to + k * kRoundElems, elements).store_beginning();
      }
    }
  }

  // Each aligned output vector begins with the end of the previous vector, which the previous lane
  // sends by a shuffle. The tile's first and last vectors are shared with the neighbouring tiles,
  // so only this tile's part of them is stored.
  template <int QUARTER, typename Output>
  __device__ void store_shifted(T* out_row, const To& out, const Output& output) const {
    const int lane = threadIdx.x % kWarp, back = out.elements_off();
    T* const to = out_row + first_elem() - back;
    const int elems_to_end = elems_left() + back;  // elements of the row from `to` on
    Vec previous = Vec{}, current;
#pragma unroll
    for (int k = 0; k < K; ++k) {
      current = output(k);
      const Vec neighbour = shuffled(current, (lane + kWarp - 1) % kWarp);
      const Vec shifted =
          funnel_shift<T, QUARTER>(lane == 0 ? previous : neighbour, current, out.off % 4);
      previous = neighbour;  // lane 0 has lane 31's vector here, which it needs next
      const int elements = elems_to_end - k * kRoundElems;
      if (k == 0 && lane == 0) {
        if (elems_to_end <= back) continue;
        elems_to_end < ELEMS ? lower(shifted, to, 0).store_middle(back, elems_to_end)
                             : upper(shifted, to, ELEMS - back).store_end();
      } else if (elements >= ELEMS) {
        put(to + k * kRoundElems, shifted);
      } else if (elements > 0) {
        lower(shifted, to + k * kRoundElems, elements).store_beginning();
      }
    }
    if (lane == kWarp - 1 && elems_to_end > kSpanElems) {
      lower(funnel_shift<T, QUARTER>(current, current, out.off % 4), to + kSpanElems,
            min(back, elems_to_end - kSpanElems))
          .store_beginning();
    }
  }

  // Return a vector, which may be narrow, as the lower or the upper part of a 16-byte one.
  __device__ static PartialVec<T> lower(uint4 vec, T* to, int count) { return {vec, to, count}; }
  __device__ static PartialVec<T> upper(uint4 vec, T* to, int count) { return {vec, to, count}; }
  __device__ static PartialVec<T> lower(uint2 vec, T* to, int count) {
    return {make_uint4(vec.x, vec.y, 0, 0), to, count};
  }
  __device__ static PartialVec<T> upper(uint2 vec, T* to, int count) {
    return {make_uint4(0, 0, vec.x, vec.y), to - ELEMS, count};
  }

  __device__ static uint2 shuffled(uint2 vec, int lane) {
    return make_uint2(__shfl_sync(kWholeWarp, vec.x, lane), __shfl_sync(kWholeWarp, vec.y, lane));
  }
  __device__ static uint4 shuffled(uint4 vec, int lane) {
    return make_uint4(__shfl_sync(kWholeWarp, vec.x, lane), __shfl_sync(kWholeWarp, vec.y, lane),
                      __shfl_sync(kWholeWarp, vec.z, lane), __shfl_sync(kWholeWarp, vec.w, lane));
  }
};
