// Epilogues: the output, computed from x and the row's state.
#pragma once
#include "state.cuh"

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

struct LogSoftmax {
  float log_sum;
  __device__ explicit LogSoftmax(float sum) : log_sum(logf(sum)) {}
  __device__ static float first_pass(float shifted, float) { return shifted; }
  __device__ float from_kept(float kept) const { return kept - log_sum; }
};

// For the kernels of the online softmax, whose warps know only the maximum of their part of a row
// before exp. The output is from_x(x), or exp(x) times factor(exps, top) if `top` was the maximum.
template <typename Out>
struct SoftmaxOf {
  RowExp<Out> exp;
  float scale, log2_scale;

  __device__ explicit SoftmaxOf(SoftmaxState state)
      : exp(state.max), scale(1.0f / state.sum), log2_scale(-__log2f(state.sum)) {}
  // The scale is added before exp2. This error is below the rounding of the output.
  __device__ float from_x(float x) const {
    return exp2_approx(fmaf(x - exp.pivot, kLog2e, log2_scale));
  }
  template <int N>
  __device__ float factor(float (&)[N], float top) const {
    return exp(top) * scale;
  }
  __device__ static float scaled(float exp_x, float factor) { return exp_x * factor; }
};
template <>
struct SoftmaxOf<float> {
  RowExp<float> exp;
  float scale;

  // An infinite maximum has no softmax.
  __device__ explicit SoftmaxOf(SoftmaxState state)
      : exp(state.max), scale(1.0f / state.sum + (state.max - state.max)) {}
  __device__ float from_x(float x) const { return scaled(exp(x - exp.large), scale); }
  template <int N>
  __device__ float factor(float (&exps)[N], float top) const {
    return exp.bring(exps, top) * scale;
  }
  // The reciprocal of a row's only exp is rounded, and its product with this exp may be the number
  // just below 1, where the softmax is 1.
  __device__ static float scaled(float exp_x, float factor) {
    const float y = exp_x * factor;
    return y == 0x1.fffffep-1f ? 1.0f : y;
  }
};

template <typename Out>
struct LogSoftmaxOf {
  float max, log_sum;
  __device__ explicit LogSoftmaxOf(SoftmaxState state) : max(state.max), log_sum(logf(state.sum)) {}
  __device__ float from_x(float x) const { return x - max - log_sum; }
};
template <>
struct LogSoftmaxOf<float> {
  static constexpr float kLargest = 0x1.fffffep127f;
  float high, low;  // log(sum of exp(x)) in two parts; NaN for an infinite maximum, which has none

  __device__ explicit LogSoftmaxOf(SoftmaxState state) {
    float lost;
    const float log_sum = log1p_of(state.sum, lost);
    high = __fadd_rn(state.max, log_sum);
    // the part that the addition lost (Knuth)
    const float added = __fsub_rn(high, state.max);
    low = __fadd_rn(__fsub_rn(state.max, __fsub_rn(high, added)), __fsub_rn(log_sum, added));
    low = __fadd_rn(low, lost);
    high += state.max - state.max;
  }
  // x - high is rounded once more where |x| <= |high|, and then the rounding is made good. It is
  // NaN for -inf, of which the maximum is the number.
  __device__ float from_x(float x) const {
    const float y = __fsub_rn(x, high);
    return y + fmaxf(__fsub_rn(x, __fadd_rn(y, high)) - low, -kLargest);
  }
};

template <typename Out>
struct LogSumsOf {
  using type = Sums<Out, false>;
};
template <>
struct LogSumsOf<float> {
  using type = RestSums;
};

struct OnlineSoftmax {
  static constexpr bool kScalesExp = true;
  template <typename Out>
  using Of = SoftmaxOf<Out>;
  template <typename Out, bool KEEP_EXP, bool SHORT = false>
  using SumsOf = Sums<Out, KEEP_EXP, SHORT>;
};
struct OnlineLogSoftmax {
  static constexpr bool kScalesExp = false;
  template <typename Out>
  using Of = LogSoftmaxOf<Out>;
  template <typename Out, bool, bool = false>
  using SumsOf = typename LogSumsOf<Out>::type;
};
