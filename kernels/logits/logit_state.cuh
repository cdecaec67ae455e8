// The state of a row of logits: what its log-sum-exp needs, and its entropy or mean.
#pragma once
#include "state.cuh"

// Second sums that a state may have besides that of the exps.
enum class Moment {
  kNone,
  kEntropy,  // exp(d) d of each element, where d is its distance from the maximum
  kMean,     // d of each element, and how many there are
};

// State of some logits x, with d = x - max. rest: the sum of exp(d / temperature) without one
// element that equals the maximum. The whole sum is 1 + rest, and rest keeps its digits even where
// the maximum has nearly all of it.
template <Moment MOMENT>
struct alignas(MOMENT == Moment::kNone ? 8 : 16) LogitState {
  float max, rest, moment, count;
  __device__ static LogitState identity() { return {lowest(), 0.0f, 0.0f, 0.0f}; }
};
template <>
struct alignas(8) LogitState<Moment::kNone> {
  float max, rest;
  __device__ static LogitState identity() { return {lowest(), 0.0f}; }
};

// Compute and merge states for one temperature.
template <Moment MOMENT>
struct LogitSums {
  using State = LogitState<MOMENT>;
  // A distance from the maximum whose exp is 0 at any temperature, and whose product with 0 is 0.
  static constexpr float kFarthest = -0x1p100f;
  // A product of a maximum and the scale that is rounded by 2 at most.
  static constexpr float kLargestProduct = 0x1p26f;
  float log2_scale;  // log2(e) / temperature

  __device__ explicit LogitSums(float inverse_temperature)
      : log2_scale(kLog2e * inverse_temperature) {}

  __device__ static float pivot_of(float max) { return max == lowest() ? 0.0f : max; }
  __device__ float exp(float distance) const { return exp2_approx(distance * log2_scale); }

  // How the exps of some elements are computed, from their maximum. The product of the maximum and
  // the scale is rounded, which makes all exps larger or smaller by one factor, that of `exp_max`.
  // Where this factor could overflow, the maximum is subtracted before.
  struct Exps {
    float pivot, log2_scale, log2_pivot, log2_max, exp_max;
    bool is_large;

    __device__ Exps(float max, float log2_scale)
        : pivot(pivot_of(max)), log2_scale(log2_scale), log2_pivot(pivot * log2_scale) {
      is_large = !(fabsf(log2_pivot) <= kLargestProduct);
      if (is_large) log2_pivot = 0.0f;
      log2_max = is_large ? 0.0f : fmaf(pivot, log2_scale, -log2_pivot);
      exp_max = exp2_approx(log2_max);
    }
    // Replace a vector's elements by what log2_of() takes.
    template <int N>
    __device__ void shift(float (&value)[N]) const {
      if (!is_large) return;
#pragma unroll
      for (int i = 0; i < N; ++i) value[i] -= pivot;
    }
    __device__ float log2_of(float value) const { return fmaf(value, log2_scale, -log2_pivot); }
  };

  // Add the exps of a lane's elements, and what the moment takes of them.
  template <typename T, bool MAY_BE_LARGE, typename Tile>
  __device__ static void add_exps(const Tile& tile, const Exps& exps, float& rest, float& moment) {
#pragma unroll
    for (int k = 0; k < Tile::kVecs; ++k) {
      float value[kVecElems<T>], exp_x[kVecElems<T>];
      unpack<T>(tile.vec[k], value);
      if constexpr (MAY_BE_LARGE) exps.shift(value);
#pragma unroll
      for (int i = 0; i < kVecElems<T>; ++i) {
        float log2_x = exps.log2_of(value[i]);
        // exp(-inf) = 0, and 0 times this is 0
        if constexpr (MOMENT == Moment::kEntropy) log2_x = max_or_nan(log2_x, kFarthest);
        exp_x[i] = exp2_approx(log2_x);
        if constexpr (MOMENT == Moment::kEntropy) moment = fmaf(exp_x[i], log2_x, moment);
        if constexpr (MOMENT == Moment::kMean) {
          if (Tile::place(k, i) < tile.elems_left())
            moment += exps.is_large ? value[i] : value[i] - exps.pivot;
        }
      }
      rest += tree_reduce<Sum, kVecElems<T>>(exp_x);
    }
  }

  // Return the state of a lane's elements in a LogitTile. `rest` lacks the digits that the
  // maximum's 1 has displaced; refine() restores them.
  template <typename T, typename Tile>
  __device__ State of_lane(const Tile& tile) const {
    State state = State::identity();
    state.max = max_element<T>(tile.vec);
    const Exps exps(state.max, log2_scale);
    float rest = 0.0f, moment = 0.0f;
    // A test of each of a lane's many elements would cost more than this branch. With a mean, two
    // loops would spill.
    constexpr bool kTwoLoops = MOMENT != Moment::kMean && Tile::kVecs > 2;
    if (kTwoLoops && !exps.is_large) {
      add_exps<T, false>(tile, exps, rest, moment);
    } else {
      add_exps<T, true>(tile, exps, rest, moment);
    }
    rest -= exps.exp_max;
    state.rest = __fdividef(rest, exps.exp_max);
    if constexpr (MOMENT == Moment::kEntropy) {
      // The distance of an element from the maximum is in units of 1 / log2_scale.
      const float distances = fmaf(-exps.log2_max, rest + exps.exp_max, moment);
      state.moment = __fdividef(distances, exps.exp_max * log2_scale);
    } else if constexpr (MOMENT == Moment::kMean) {
      state.moment = moment;
#pragma unroll
      for (int k = 0; k < Tile::kVecs; ++k) state.count += static_cast<float>(tile.count(k));
    }
    return state;
  }

  // Return what the `rest` of a lane that has the maximum lacks, where the maximum has nearly the
  // whole sum.
  template <typename T, int K>
  __device__ float lost_of_lane(const uint4 (&vec)[K], float max) const {
    const Exps exps(max, log2_scale);
    float inexact = 0.0f, small = 0.0f, large = 0.0f;  // all exps, those below 1/2, the others
#pragma unroll
    for (int k = 0; k < K; ++k) {
      float value[kVecElems<T>];
      unpack<T>(vec[k], value);
      exps.shift(value);
#pragma unroll
      for (int i = 0; i < kVecElems<T>; ++i) value[i] = exp2_approx(exps.log2_of(value[i]));
      inexact += tree_reduce<Sum, kVecElems<T>>(value);
#pragma unroll
      for (int i = 0; i < kVecElems<T>; ++i) {
        if (value[i] >= 0.5f) large += value[i], value[i] = 0.0f;
      }
      small += tree_reduce<Sum, kVecElems<T>>(value);
    }
    const float exact = small + (large - exps.exp_max);
    return __fdividef(exact, exps.exp_max) - __fdividef(inexact - exps.exp_max, exps.exp_max);
  }

  // Return what a part of a row adds to the sums of a row with this maximum. `has_max`: it is the
  // part whose maximum the row's sum leaves out.
  __device__ State shifted(State part, float max, bool has_max) const {
    State result = part;
    result.max = max;
    const float distance = fmaxf(part.max - pivot_of(max), kFarthest), weight = exp(distance);
    const float sum = has_max ? part.rest : part.rest + 1.0f;
    result.rest = __fmul_rn(sum, weight);
    if constexpr (MOMENT == Moment::kEntropy)
      result.moment = __fmul_rn(fmaf(distance, sum, part.moment), weight);
    if constexpr (MOMENT == Moment::kMean) {
      // a part of -inf alone has a moment of -inf, or no element
      if (part.max != lowest()) result.moment = fmaf(part.count, part.max - max, part.moment);
    }
    return result;
  }
  // Add the sums of a part of a row to those of another with the same maximum.
  __device__ static void add(State& to, const State& part) {
    to.rest += part.rest;
    if constexpr (MOMENT != Moment::kNone) to.moment += part.moment;
    if constexpr (MOMENT == Moment::kMean) to.count += part.count;
  }
  __device__ State merge(State a, State b) const {
    const float max = fmaxf(a.max, b.max);
    const bool in_a = a.max == max;
    State merged = shifted(a, max, in_a);
    const State other = shifted(b, max, !in_a);
    add(merged, other);
    return merged;
  }
  // Merge COUNT states as merge_lanes<COUNT>() does, with the same bits.
  template <int COUNT>
  __device__ State merge_adjacent(const State* states) const {
    State part[COUNT];
    float max = lowest();
#pragma unroll
    for (int i = 0; i < COUNT; ++i) part[i] = states[i], max = fmaxf(max, part[i].max);
    bool found = false;
#pragma unroll
    for (int i = 0; i < COUNT; ++i) {
      const bool has_max = !found && part[i].max == max;
      found = found || has_max;
      part[i] = shifted(part[i], max, has_max);
    }
#pragma unroll
    for (int distance = COUNT / 2; distance > 0; distance /= 2) {
#pragma unroll
      for (int i = 0; i < distance; ++i) add(part[i], part[i + distance]);
    }
    return part[0];
  }
  // Merge the states of LANES adjacent lanes; each of them gets the result.
  template <int LANES = kWarp>
  __device__ State merge_lanes(State state) const {
    const float max = max_of_lanes<LANES>(state.max);
    state = shifted(state, max, is_first_lane<LANES>(state.max == max));
    state.rest = warp_reduce<Sum, LANES>(state.rest);
    if constexpr (MOMENT != Moment::kNone) state.moment = warp_reduce<Sum, LANES>(state.moment);
    if constexpr (MOMENT == Moment::kMean) state.count = warp_reduce<Sum, LANES>(state.count);
    return state;
  }
};

// Segments of a row, at most: lane l of a warp merges segments l, 32 + l, ...
constexpr int kMaxSegments = 4 * kWarp;

// Merge the states of the segments from `begin` to `end`, to each of which WARPS warps have
// contributed one; each lane gets the result.
template <int WARPS, typename Sums, typename State>
__device__ inline State merge_segments(const Sums& sums, const State* warp_states, int begin,
                                       int end) {
  State state = State::identity();
#pragma unroll 1
  for (int segment = threadIdx.x % kWarp; segment < end; segment += kWarp) {
    if (segment >= begin)
      state = sums.merge(state, sums.template merge_adjacent<WARPS>(warp_states + segment * WARPS));
  }
  return sums.merge_lanes(state);
}
