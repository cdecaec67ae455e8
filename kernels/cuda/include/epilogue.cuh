// Epilogues: how an output follows from x, or from a kept exp, and the state of the row.
#pragma once
#include "state.cuh"

// For kernels that know the row's maximum before they compute the first exp. first_pass() replaces
// x by what from_kept() needs: exp(x - max) for softmax, x - max for log-softmax. Division and exp
// are the fast intrinsics. According to the CUDA Math API their errors are 2 ulp for the division
// and 2 + |1.173 x| ulp for exp(x), so the smaller elements of a row are less precise.
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

// For online-softmax kernels, whose warps know only the maximum of their own part, `top`, when they
// compute exp. The output is from_x(x), or, from a kept exp, scaled(exp, factor(exps, top)).
template <typename Out>
struct SoftmaxOf {
  RowExp<Out> exp;
  float scale, log2_scale;

  __device__ explicit SoftmaxOf(SoftmaxState state)
      : exp(state.max), scale(1.0f / state.sum), log2_scale(-__log2f(state.sum)) {}
  // The scale is added in the exponent. This error is below the rounding of a 16-bit output.
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

  // max - max makes the scale NaN if the maximum is infinite: such a row has no softmax.
  __device__ explicit SoftmaxOf(SoftmaxState state)
      : exp(state.max), scale(1.0f / state.sum + (state.max - state.max)) {}
  __device__ float from_x(float x) const { return scaled(exp(x - exp.large), scale); }
  template <int N>
  __device__ float factor(float (&exps)[N], float top) const {
    return exp.bring(exps, top) * scale;
  }
  // If one exp is the whole sum, the output is 1, but the exp times its rounded reciprocal may be
  // the number just below 1.
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
  float high, low;  // log(sum of exp(x)) as high + low; NaN if the maximum is infinite

  __device__ explicit LogSoftmaxOf(SoftmaxState state) {
    float lost;
    const float log_sum = log1p_of(state.sum, lost);
    high = __fadd_rn(state.max, log_sum);
    // the error-free transformation of a sum (Knuth's two-sum): what the addition above has lost
    const float added = __fsub_rn(high, state.max);
    low = __fadd_rn(__fsub_rn(state.max, __fsub_rn(high, added)), __fsub_rn(log_sum, added));
    low = __fadd_rn(low, lost);
    high += state.max - state.max;
  }
  // If |x| <= |high|, x - high is rounded, and the second term corrects that. For x = -inf that
  // term is NaN, and fmaxf() picks the number.
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

// Template arguments of kernels: the epilogue and the sums for an output type. kScalesExp: the
// output is a multiple of exp(x), so a kernel may keep exps.
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
