// The state of a part of a row, which the warps and blocks that share the row exchange, and how
// states merge. A type `Merge` defines State, of 4, 8 or 16 bytes, with identity(), and
//   State merge(const State (&states)[N])   merges N states of one lane;
//   State merge_lanes<LANES>(State state)   merges those of LANES adjacent lanes, for each of them.
// Products are explicit fmaf() or __fmul_rn(): all instances of a kernel give the same bits.
#pragma once
#include "reduce.cuh"
#include "row_exp.cuh"

// The online-softmax state of some elements: their maximum, and a sum relative to it; see Sums.
struct alignas(8) SoftmaxState {  // aligned, so that one access moves both
  float max;
  float sum;
  __device__ static SoftmaxState identity() { return {lowest(), 0.0f}; }
};

// Return whether this is the first of LANES adjacent lanes with `mine`; a whole warp must call.
template <int LANES>
__device__ inline bool is_first_lane(bool mine) {
  const int lane = threadIdx.x % kWarp, place = lane % LANES;
  const unsigned before = __ballot_sync(kWholeWarp, mine) >> (lane - place);
  return mine && (before & ((1u << place) - 1u)) == 0;
}

// Map a float's bits to an integer of the same order, and back. Not for NaN.
__device__ inline int ordered(int bits) { return bits ^ (bits >> 31 & 0x7fffffff); }

// Return the maximum over LANES adjacent lanes, to each of them. The whole warp must call it, and
// no value may be NaN. For a whole warp it is one instruction, redux.sync on integers.
template <int LANES = kWarp>
__device__ inline float max_of_lanes(float value) {
  if constexpr (LANES < kWarp) return warp_reduce<Max, LANES>(value);
  const int mine = ordered(static_cast<int>(__float_as_uint(value)));
  return __int_as_float(ordered(__reduce_max_sync(kWholeWarp, mine)));
}

// Merge softmax states: rescale each sum to the common maximum, and add. No maximum may be NaN.
template <typename Sums>
struct SoftmaxMerge {
  using State = SoftmaxState;

  template <int N>
  __device__ static State merge(const State (&states)[N]) {
    if constexpr (N == 1) return states[0];
    State merged = State::identity();
#pragma unroll
    for (int i = 0; i < N; ++i) merged.max = fmaxf(merged.max, states[i].max);
    bool found = false;
#pragma unroll
    for (int i = 0; i < N; ++i) {
      const bool has_max = !found && states[i].max == merged.max;
      found = found || has_max;
      merged.sum = fmaf(Sums::sum_of(states[i], has_max), Sums::weight(states[i].max, merged.max),
                        merged.sum);
    }
    return merged;
  }
  template <int LANES = kWarp>
  __device__ static State merge_lanes(State state) {
    const float max = max_of_lanes<LANES>(state.max);
    const bool has_max = Sums::kRest && is_first_lane<LANES>(state.max == max);
    const float sum = __fmul_rn(Sums::sum_of(state, has_max), Sums::weight(state.max, max));
    return {max, warp_reduce<Sum, LANES>(sum)};
  }
};

// A plain sum, for backward kernels.
struct SumMerge {
  struct State {
    float sum;
    __device__ static State identity() { return {0.0f}; }
  };
  template <int N>
  __device__ static State merge(const State (&states)[N]) {
    State merged = states[0];
#pragma unroll
    for (int i = 1; i < N; ++i) merged.sum += states[i].sum;
    return merged;
  }
  template <int LANES = kWarp>
  __device__ static State merge_lanes(State state) {
    return {warp_reduce<Sum, LANES>(state.sum)};
  }
};

// The sum of exp of all elements, as RowExp<Out> computes it. KEEP_EXP: the exps become outputs, so
// they are computed more precisely. SHORT: the sum has so few terms that their rounding errors do
// not average out, so each is computed more precisely still.
template <typename Out, bool KEEP_EXP, bool SHORT = false>
struct Sums : SoftmaxMerge<Sums<Out, KEEP_EXP, SHORT>> {
  using Exp = RowExp<Out>;
  static constexpr bool kKeepExp = KEEP_EXP, kShort = SHORT, kRest = false;
  __device__ static float sum_of(SoftmaxState state, bool) { return state.sum; }
  __device__ static float weight(float max, float row_max) { return Exp(row_max).weight(max); }
};
// The sum of exp(x - max) over all elements except one that equals the maximum, whose exp is 1. If
// that 1 is nearly the whole sum, the others would lose their digits beside it, and log-softmax
// needs log(1 + their sum).
struct RestSums : SoftmaxMerge<RestSums> {
  using Exp = RowExp<Half>;
  static constexpr bool kKeepExp = false, kShort = false, kRest = true;
  // Return a state's sum over all its elements, or, if `has_max`, over all but its maximum.
  __device__ static float sum_of(SoftmaxState state, bool has_max) {
    return has_max ? state.sum : state.sum + 1.0f;
  }
  __device__ static float weight(float max, float row_max) { return Exp(row_max).weight(max); }
};

// Sum the exps of elements of which `top` is the largest, as `Sums` defines it.
template <typename Sums>
struct Summation {
  typename Sums::Exp exp;
  float top;
  float large = 0.0f;  // RestSums: the sum of this lane's exps of at least 1/2

  __device__ explicit Summation(float largest) : exp(largest), top(largest) {}

  // Subtract a very large maximum from the elements, as RowExp expects. Usually nothing is to do.
  template <int N>
  __device__ void shift(float (&x)[N]) const {
    if constexpr (Sums::kKeepExp && Sums::Exp::kShifts) {
      if (exp.large == 0.0f) return;
#pragma unroll
      for (int i = 0; i < N; ++i) x[i] -= exp.large;
    }
  }
  // Return what an element adds to its lane's sum; if kKeepExp it is the exp, and x is shift()ed.
  __device__ float term(float x) {
    const float exp_x = !Sums::kKeepExp ? exp.for_sum(x) : Sums::kShort ? exp.exact(x) : exp(x);
    if constexpr (Sums::kRest) {
      if (exp_x >= 0.5f) {
        large += exp_x;
        return 0.0f;
      }
    }
    return exp_x;
  }

  // Return the state of LANES adjacent lanes, from each lane's sum of term().
  template <int LANES = kWarp>
  __device__ SoftmaxState state(float lane_sum) const {
    float sum = warp_reduce<Sum, LANES>(lane_sum);
    // The maximum itself has added exactly 1, so without another large exp this adds exactly 0.
    if constexpr (Sums::kRest) sum += warp_reduce<Sum, LANES>(large) - 1.0f;
    if constexpr (!Sums::kKeepExp) sum *= exp.sum_unit();
    return {top, sum};
  }
};
