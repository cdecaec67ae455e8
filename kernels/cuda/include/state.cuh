// The state of the online softmax, its merge inside a warp, and the output computed from it.
#pragma once
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

// Compute the output from x - max and the row's sum. kScalesExp: the output is also exp(x - top)
// times factor(top - max).
struct SoftmaxEpilogue {
  static constexpr bool kScalesExp = true;
  float scale, log2_scale;
  __device__ explicit SoftmaxEpilogue(float sum) : scale(1.0f / sum), log2_scale(-__log2f(sum)) {}
  // In 16 bits the scale is added before exp2: its rounding is below that of the output.
  template <typename T>
  __device__ float of_shifted(float shifted) const {
    if constexpr (sizeof(T) < sizeof(float)) {
      return exp2_approx(fmaf(shifted, kLog2e, log2_scale));
    }
    return exp_approx(shifted) * scale;
  }
  __device__ float factor(float lower) const { return exp_approx(lower) * scale; }
};
struct LogSoftmaxEpilogue {
  static constexpr bool kScalesExp = false;
  float log_sum;
  __device__ explicit LogSoftmaxEpilogue(float sum) : log_sum(logf(sum)) {}
  template <typename T>
  __device__ float of_shifted(float shifted) const {
    return shifted - log_sum;
  }
};
