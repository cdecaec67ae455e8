// Compute softmax or log-softmax from the state of a row.
#pragma once
#include "vec.cuh"

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
