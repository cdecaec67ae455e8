// The output, computed from a row's maximum and its sum of exp(x - max).
#pragma once
#include "vec.cuh"

// Compute an element of the output from x - max and the row's sum of exp(x - max). Division and exp
// are the fast ones. By the CUDA Math API their errors are 2 ulp, and 2 + |1.173 x| ulp for exp(x),
// which is larger for the smaller, less important elements of a row.
struct Softmax {
  float scale;
  __device__ explicit Softmax(float sum) : scale(__fdividef(1.0f, sum)) {}
  // keep exp(x - max) in place of x between the passes
  __device__ static float keep(float, float exponential) { return exponential; }
  __device__ float of_kept(float kept) const { return kept * scale; }
};
struct LogSoftmax {
  float log_sum;
  __device__ explicit LogSoftmax(float sum) : log_sum(logf(sum)) {}
  // keep x - max in place of x between the passes
  __device__ static float keep(float shifted, float) { return shifted; }
  __device__ float of_kept(float kept) const { return kept - log_sum; }
};

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
