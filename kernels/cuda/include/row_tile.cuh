// A warp's tile of a row in registers.
#pragma once
#include "state.cuh"
#include "unaligned.cuh"

// A warp's tile of a row: K vectors for each lane, first + lane, first + 32 + lane, ... UNALIGNED:
// rows may begin inside a vector. KEEP_EXP: state() keeps the exps in float32 for the output.
// BYPASS: 1: loads of aligned rows take no line of L1. 2: stores are also the first to leave L2.
template <typename T, int K, bool UNALIGNED, bool KEEP_EXP, int BYPASS = 0>
struct RowTile {
  static constexpr int kLaneElems = K * kVecElems<T>;
  static constexpr int kRoundElems = kWarp * kVecElems<T>;  // between two vectors of a lane
  // from the begin of a lane's first vector to the end of its last
  static constexpr int kSpanElems = (K - 1) * kRoundElems + kVecElems<T>;

  uint4 vec[K];  // as loaded
  float exp_x[KEEP_EXP ? kLaneElems : 1];
  float top;  // the maximum of this lane
  int first;  // vector
  int cols;
  unsigned zero;

  // Return this lane's first element, and the elements from there to the end of the row. The
  // second number may be negative.
  __device__ int first_elem() const {
    return (first + static_cast<int>(threadIdx.x) % kWarp) * kVecElems<T>;
  }
  __device__ int elems_left() const { return cols - first_elem(); }

  // Load from x_row, or what the same thread saved at `saved`, `step` vectors apart.
  __device__ RowTile(const T* x_row, int first_vec, Index columns, const uint4* saved = nullptr,
                     int step = 0)
      : first(first_vec),
        cols(static_cast<int>(columns)),
        zero(static_cast<unsigned>(columns >> 32)) {
    if (saved != nullptr) {
#pragma unroll
      for (int k = 0; k < K; ++k) vec[k] = saved[k * step];
      return;
    }
    const AlignedRow<const T> row(x_row);
#pragma unroll
    for (int k = 0; k < K; ++k) vec[k] = mask_tail<T>(make_uint4(0, 0, 0, 0), 0);
    if constexpr (UNALIGNED) {
      dispatch_quarter(row.off, [&](auto quarter) { load_between<quarter.value>(row); });
    } else {
      const T* const from = x_row + first_elem();
#pragma unroll
      for (int k = 0; k < K; ++k) {
        if (k * kRoundElems >= elems_left()) continue;
        vec[k] = BYPASS ? load_vec_once(from + k * kRoundElems) : load_vec(from + k * kRoundElems);
      }
    }
  }

  __device__ void save(uint4* to, int step) const {
#pragma unroll
    for (int k = 0; k < K; ++k) to[k * step] = vec[k];
  }

  // Compute the state of this lane's elements.
  __device__ SoftmaxState state() {
    SoftmaxState state{max_element<T>(vec), 0.0f};
    top = state.max;
    const float pivot = state.pivot();
    float value[kVecElems<T>];
#pragma unroll
    for (int k = 0; k < K; ++k) {
      exp_elements<T, KEEP_EXP>(vec[k], pivot, value);
      if constexpr (KEEP_EXP) {
#pragma unroll
        for (int i = 0; i < kVecElems<T>; ++i) exp_x[k * kVecElems<T> + i] = value[i];
      }
      state.sum += tree_reduce<Sum, kVecElems<T>>(value);
    }
    return state;
  }

  // Compute the output of vector k.
  template <typename Epilogue>
  __device__ uint4 result(int k, float max, const Epilogue& epilogue) {
    if constexpr (KEEP_EXP) {
      const float factor = epilogue.template factor<T>(top - max);
      float value[kVecElems<T>];
#pragma unroll
      for (int i = 0; i < kVecElems<T>; ++i) value[i] = exp_x[k * kVecElems<T> + i] * factor;
      return pack<T>(value);
    } else {
      opaque<T>(vec[k], zero);
      return apply_epilogue<T, true>(vec[k], max, epilogue);
    }
  }

  template <typename Epilogue>
  __device__ void store(T* out_row, float max, const Epilogue& epilogue) {
    if constexpr (UNALIGNED) return store_between(out_row, max, epilogue);
    T* const to = out_row + first_elem();
#pragma unroll
    for (int k = 0; k < K; ++k) {
      if (k * kRoundElems < elems_left()) put(to + k * kRoundElems, result(k, max, epilogue));
    }
  }

 private:
  __device__ static void put(T* to, uint4 output) {
    uint4* const vec_to = reinterpret_cast<uint4*>(to);
    BYPASS == 2 ? __stcs(vec_to, output) : store_vec(vec_to, output);
  }

  // Load only aligned vectors that hold an element of the row. A vector of the row ends in the next
  // aligned vector. In 16 bits the next lane sends that vector, because registers are scarce. In 32
  // bits the lane loads it from the cache, which is faster.
  template <int QUARTER>
  __device__ void load_between(const AlignedRow<const T>& row) {
    constexpr bool kFromLane = sizeof(T) < sizeof(float);
    const T* const from = row.vecs + first_elem();
    const int lane = threadIdx.x % kWarp;
    // elements of a vector of the row that lie in its first aligned vector
    const int in_first = kVecElems<T> - row.elements_off();
    uint4 following[kFromLane ? 1 : K];
#pragma unroll
    for (int k = 0; k < K; ++k) {
      const int elements = elems_left() - k * kRoundElems;
      if (elements > (kFromLane ? in_first - kVecElems<T> : 0))
        vec[k] = load_vec(from + k * kRoundElems);
      if constexpr (!kFromLane) {
        following[k] = vec[k];
        if (elements > in_first) following[k] = load_vec(from + k * kRoundElems + kVecElems<T>);
      }
    }
    if constexpr (kFromLane) {
      following[0] = vec[K - 1];
      const T* const last = from + (K - 1) * kRoundElems + kVecElems<T>;
      if (lane == kWarp - 1 && elems_left() - (K - 1) * kRoundElems > in_first)
        following[0] = load_vec(last);
    }
#pragma unroll
    for (int k = 0; k < K; ++k) {
      const int elements = elems_left() - k * kRoundElems;
      uint4 next = following[kFromLane ? 0 : k];
      if constexpr (kFromLane) {
        // lane 31 continues in lane 0's next vector
        const uint4 sent = lane == 0 && k + 1 < K ? vec[(k + 1) % K] : vec[k];
        const uint4 received = shuffled(sent, (lane + 1) % kWarp);
        if (k + 1 < K || lane < kWarp - 1) next = received;
      }
      vec[k] = funnel_shift<T, QUARTER>(vec[k], next, row.off % 4);
      if (elements < kVecElems<T>) vec[k] = mask_tail<T>(vec[k], elements);
    }
  }

  template <typename Epilogue>
  __device__ void store_between(T* out_row, float max, const Epilogue& epilogue) {
    // In 16 bits the outputs are computed before the branches, in 32 bits inside them. Otherwise
    // the compiler hoists parts of a branch, which takes more registers.
    constexpr bool kBefore = sizeof(T) < sizeof(float);
    if constexpr (kBefore) {
#pragma unroll
      for (int k = 0; k < K; ++k) vec[k] = result(k, max, epilogue);
    }
    const auto output = [&](int k) { return kBefore ? vec[k] : result(k, max, epilogue); };
    const AlignedRow<T> out(out_row);
    if (out.off == 0) return store_aligned_but_the_last(out_row, output);
    dispatch_quarter(kVecBytes - out.off,
                     [&](auto quarter) { store_shifted<quarter.value>(out_row, out, output); });
  }

  template <typename Output>
  __device__ void store_aligned_but_the_last(T* out_row, const Output& output) const {
    T* const to = out_row + first_elem();
    PartialVec<T> last;
#pragma unroll
    for (int k = 0; k < K; ++k) {
      const int elements = elems_left() - k * kRoundElems;
      if (elements >= kVecElems<T>) {
        put(to + k * kRoundElems, output(k));
      } else if (elements > 0) {
        last = {output(k), to + k * kRoundElems, elements};
      }
    }
    last.store_beginning();
  }

  // Each aligned vector begins with the end of the previous vector, which the previous lane has.
  // The two vectors at the tile's ends are shared with the neighbouring tiles and stored in part.
  template <int QUARTER, typename Output>
  __device__ void store_shifted(T* out_row, const AlignedRow<T>& out, const Output& output) const {
    const int lane = threadIdx.x % kWarp, back = out.elements_off();
    T* const to = out_row + first_elem() - back;
    const int elems_to_end = elems_left() + back;  // of the row, from `to` on
    uint4 previous = make_uint4(0, 0, 0, 0), begin_vec = previous, current;
    PartialVec<T> last;
#pragma unroll
    for (int k = 0; k < K; ++k) {
      current = output(k);
      const uint4 neighbour = shuffled(current, (lane + kWarp - 1) % kWarp);
      const uint4 shifted =
          funnel_shift<T, QUARTER>(lane == 0 ? previous : neighbour, current, out.off % 4);
      previous = neighbour;  // lane 0 gets lane 31's vector, which it needs next
      const int elements = elems_to_end - k * kRoundElems;
      if (k == 0 && lane == 0) {
        begin_vec = shifted;
      } else if (elements >= kVecElems<T>) {
        put(to + k * kRoundElems, shifted);
      } else if (elements > 0) {
        last = {shifted, to + k * kRoundElems, elements};
      }
    }
    if (lane == kWarp - 1 && elems_to_end > kSpanElems) {
      last = {funnel_shift<T, QUARTER>(current, current, out.off % 4), to + kSpanElems,
              min(back, elems_to_end - kSpanElems)};
    }
    last.store_beginning();
    if (lane == 0 && elems_to_end > back) {
      const PartialVec<T> piece{begin_vec, to, kVecElems<T> - back};
      elems_to_end < kVecElems<T> ? piece.store_middle(back, elems_to_end) : piece.store_end();
    }
  }

  __device__ static uint4 shuffled(uint4 vec, int lane) {
    return make_uint4(__shfl_sync(kWholeWarp, vec.x, lane), __shfl_sync(kWholeWarp, vec.y, lane),
                      __shfl_sync(kWholeWarp, vec.z, lane), __shfl_sync(kWholeWarp, vec.w, lane));
  }
};
