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

// Merge two states. The result is the same bits in either order, because no multiply-add is fused.
__device__ inline SoftmaxState merge(SoftmaxState a, SoftmaxState b) {
  SoftmaxState merged{fmaxf(a.max, b.max), 0.0f};
  const float of_a = __fmul_rn(a.sum, exp_approx(a.max - merged.pivot()));
  const float of_b = __fmul_rn(b.sum, exp_approx(b.max - merged.pivot()));
  merged.sum = __fadd_rn(of_a, of_b);
  return merged;
}

// Merge the states of LANES adjacent lanes; each gets the result. A whole warp must call it.
template <int LANES = kWarp>
__device__ inline SoftmaxState merge_lanes(SoftmaxState state) {
  SoftmaxState merged{warp_reduce<Max, LANES>(state.max), 0.0f};
  merged.sum = warp_reduce<Sum, LANES>(state.sum * exp_approx(state.max - merged.pivot()));
  return merged;
}
