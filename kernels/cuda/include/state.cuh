// The state of the online softmax, and its merge inside a warp.
#pragma once
#include "reduce.cuh"
#include "vec.cuh"

// The state of the online softmax over some elements: their maximum, and the sum of exp(x - max).
struct alignas(8) SoftmaxState {  // one access moves both
  float max;
  float sum;
  __device__ static SoftmaxState identity() { return {lowest(), 0.0f}; }
  // Return what exp subtracts: not the maximum if that is -inf, because -inf - -inf is NaN.
  __device__ float pivot() const { return max == lowest() ? 0.0f : max; }
};

// Merge two states, commutative bit by bit: a fused multiply-add would favour one side.
__device__ inline SoftmaxState merge(SoftmaxState a, SoftmaxState b) {
  SoftmaxState both{fmaxf(a.max, b.max), 0.0f};
  const float of_a = __fmul_rn(a.sum, exp_approx(a.max - both.pivot()));
  const float of_b = __fmul_rn(b.sum, exp_approx(b.max - both.pivot()));
  both.sum = __fadd_rn(of_a, of_b);
  return both;
}

// Merge the states of LANES adjacent lanes; each gets the result. A whole warp must call it.
template <int LANES = kWarp>
__device__ inline SoftmaxState merge_lanes(SoftmaxState state) {
  SoftmaxState all{warp_reduce<Max, LANES>(state.max), 0.0f};
  all.sum = warp_reduce<Sum, LANES>(state.sum * exp_approx(state.max - all.pivot()));
  return all;
}
