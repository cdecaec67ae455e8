// Epilogues: the output, computed from a row's maximum and its sum of exp(x - max).
#pragma once
#include "vec.cuh"

// For kernels that know the row's maximum before they compute an exp. first_pass() replaces x by
// what from_kept() needs: exp(x - max) for softmax, x - max for log-softmax. Division and exp are
// the fast ones. By the CUDA Math API the error of the division is 2 ulp, and that of exp(x)
// 2 + |1.173 x| ulp, which is larger for the smaller elements of a row.
struct Softmax {
  float scale;
  __device__ explicit Softmax(float sum) : scale(__fdividef(1.0f, sum)) {}
  __device__ static float first_pass(float, float exponential) { return exponential; }
  __device__ float from_kept(float kept) const { return kept * scale; }
};

// For kernels of the online softmax, whose warps know only `top`, the maximum of their part of the
// row, before exp. kScalesExp: the output is exp(x - top) times factor(top - max).
struct OnlineSoftmax {
  static constexpr bool kScalesExp = true;
  float scale, log2_scale;
  __device__ explicit OnlineSoftmax(float sum) : scale(1.0f / sum), log2_scale(-__log2f(sum)) {}
  // In 16 bits the scale is added before exp2. This error is below the rounding of the output.
  template <typename T>
  __device__ float from_shifted(float shifted) const {
    if constexpr (sizeof(T) < sizeof(float)) {
      return exp2_approx(fmaf(shifted, kLog2e, log2_scale));
    }
    return exp_for<T>(shifted) * scale;
  }
  template <typename T>
  __device__ float factor(float shift) const {
    return exp_for<T>(shift) * scale;
  }
};

// For both kinds of kernels.
struct LogSoftmax {
  static constexpr bool kScalesExp = false;
  float log_sum;
  __device__ explicit LogSoftmax(float sum) : log_sum(logf(sum)) {}
  __device__ static float first_pass(float shifted, float) { return shifted; }
  __device__ float from_kept(float kept) const { return kept - log_sum; }
  template <typename T>
  __device__ float from_shifted(float shifted) const {
    return shifted - log_sum;
  }
};
