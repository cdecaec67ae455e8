// The state of the online softmax, and its merge inside a warp.
#pragma once
#include "reduce.cuh"
#include "vec.cuh"

// The state of the online softmax over some elements: their maximum, and the sum of exp(x - max).
struct alignas(8) SoftmaxState {  // one access moves both
  float max;
  float sum;
  __device__ static SoftmaxState identity() { return {lowest(), 0.0f}; }
  // Return what to subtract before exp: the maximum, or 0 if it is -inf, as -inf - -inf is NaN.
  __device__ float pivot() const { return max == lowest() ? 0.0f : max; }
};

// Merge N states of one lane. With an explicit fmaf() all instances of a kernel give the same bits.
template <int N>
__device__ inline SoftmaxState merge(const SoftmaxState (&states)[N]) {
  if constexpr (N == 1) return states[0];
  SoftmaxState merged = SoftmaxState::identity();
#pragma unroll
  for (int i = 0; i < N; ++i) merged.max = fmaxf(merged.max, states[i].max);
  const float pivot = merged.pivot();
#pragma unroll
  for (int i = 0; i < N; ++i)
    merged.sum = fmaf(states[i].sum, exp_approx(states[i].max - pivot), merged.sum);
  return merged;
}

// Turn the bits of floats into integers of the same order, and back. Not for NaN.
__device__ inline int ordered(int bits) { return bits ^ (bits >> 31 & 0x7fffffff); }

// Return the maximum over LANES adjacent lanes; each gets it. A whole warp must call it. No value
// may be NaN. One instruction finds that of a whole warp.
template <int LANES = kWarp>
__device__ inline float max_of_lanes(float value) {
  if constexpr (LANES < kWarp) return warp_reduce<Max, LANES>(value);
  const int mine = ordered(static_cast<int>(__float_as_uint(value)));
  return __int_as_float(ordered(__reduce_max_sync(kWholeWarp, mine)));
}

// Merge the states of LANES adjacent lanes; each gets the result. No maximum may be NaN.
template <int LANES = kWarp>
__device__ inline SoftmaxState merge_lanes(SoftmaxState state) {
  SoftmaxState merged{max_of_lanes<LANES>(state.max), 0.0f};
  merged.sum = warp_reduce<Sum, LANES>(state.sum * exp_approx(state.max - merged.pivot()));
  return merged;
}
