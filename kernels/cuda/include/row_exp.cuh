// The exp of a row's elements, relative to its maximum or to a power of two near it, and the log of
// their sum.
#pragma once
#include "vec.cuh"

constexpr float kLn2 = 0.693147180559945309f, kLn2Low = -0x1.05c61p-29f;
// Added to a float below 2^22, it leaves the nearest integer in the low bits, here with the bias of
// an exponent.
constexpr float kRounder = 0x1.8p23f + 127;

// Turn the low bits of a float between 2^23 and 2^24 into the exponent of another.
__device__ inline float power_of_two(float low_bits) {
  return __int_as_float(static_cast<int>(__float_as_uint(low_bits) << 23));
}

// Compute exp(r) for |r| < 0.3475 to 0.6 ulp, by the minimax polynomial of degree 6 that begins
// with 1 + r.
__device__ inline float exp_near_0(float r) {
  float y = fmaf(0x1.6a21acp-10f, r, 0x1.123b6ap-7f);
  y = fmaf(y, r, 0x1.5558fap-5f);
  y = fmaf(y, r, 0x1.55549p-3f);
  y = fmaf(y, r, 0x1.fffffcp-2f);
  return fmaf(fmaf(y, r, 1.0f), r, 1.0f);
}

// Compute exp(x) in float32, x at most 0. What the rounded product t of exp_approx() lost is made
// good: exp(x) = 2^t exp(x - t ln 2).
__device__ inline float exp_corrected(float x) {
  const float t = x * kLog2e, power = exp2_approx(t);
  // -inf - -inf is NaN, of which the minimum is the number
  const float rest = fminf(fmaf(t, -kLn2, x), 1.0f);
  return fmaf(power, rest, power);
}

// Compute what outputs of type Out are multiples of: exp(x - max). 16 bits need no more than the
// special function unit gives.
template <typename Out>
struct RowExp {
  float pivot;  // the maximum, or 0 if it is -inf, as -inf - -inf is NaN

  __device__ explicit RowExp(float max) : pivot(max == lowest() ? 0.0f : max) {}
  __device__ float operator()(float x) const { return exp_approx(x - pivot); }
  __device__ float exact(float x) const { return exp_approx(x - pivot); }
  // Compute the same for a sum, less exactly, and return the unit of these sums.
  __device__ float for_sum(float x) const { return exp_approx(x - pivot); }
  __device__ static constexpr float sum_unit() { return 1.0f; }
  // Return the factor of sums that are relative to a smaller maximum.
  __device__ float weight(float max) const { return exp_approx(max - pivot); }
  static constexpr bool kShifts = false;
};

// Compute 2^64 exp(x) / 2^exponent, where 2^exponent is near exp(max); the factor cancels out of a
// softmax. x - max would be rounded, by 2^-20 where x is 16 below the maximum, hence an error that
// large in its exp; a power of two is exact. 2^64 keeps numbers normal that become subnormal
// outputs. The error is 2 ulp, and 0.1 ulp more for each 1 below the maximum, for log2(e) is
// rounded.
template <>
struct RowExp<float> {
  // Maxima from here on are subtracted, which is exact: such floats are multiples of 2^-2.
  static constexpr float kLarge = 0x1p21f;
  static constexpr float kUnit = 64;

  float large;  // 0, or the maximum
  float exponent;

  __device__ explicit RowExp(float max) {
    const float finite = max == lowest() ? 0.0f : max;
    large = fabsf(finite) >= kLarge ? finite : 0.0f;
    exponent = fmaf(finite - large, kLog2e, kRounder) - kRounder;
  }
  static constexpr bool kShifts = true;  // operator() and exact() get x - large

  __device__ float operator()(float x) const {
    const float rounder = kRounder + kUnit - exponent;
    // 2^-151 is below half of the least subnormal
    const float power = max_or_nan(fmaf(x, kLog2e, rounder), kRounder + kUnit - 151);
    return exp2_approx(fmaf(x, kLog2e, rounder - power)) * power_of_two(power);
  }
  // Compute it to 0.7 ulp.
  __device__ float exact(float x) const {
    const float rounder = kRounder + kUnit - exponent;
    const float power = max_or_nan(fmaf(x, kLog2e, rounder), kRounder + kUnit - 151);
    const float rest = max_or_nan(fmaf(x, kLog2e, rounder - power), -1.0f);
    return exp_near_0(rest * kLn2) * power_of_two(power);
  }
  __device__ float for_sum(float x) const {
    return exp2_approx(fmaf(x - large, kLog2e, -exponent));
  }
  __device__ static constexpr float sum_unit() { return 0x1p64f; }

  __device__ float weight(float max) const {
    if (large != 0.0f) return weight_of_large(max);
    return power_of_two(fmaxf(fmaf(max, kLog2e, kRounder - exponent), kRounder - 127));
  }

  // Turn exps that are relative to a smaller maximum into ones relative to this one, all but the
  // factor that is returned.
  template <int N>
  __device__ float bring(float (&exps)[N], float max) const {
    const float power = fmaf(max, kLog2e, kRounder - exponent);
    const bool far = power < kRounder - 30;
    if (large == 0.0f && !far) return power_of_two(power);
    // such a factor, or its product with a row's scale, may be no normal number
    const float half = large == 0.0f ? exp2_approx(fmaxf(power - kRounder, -252.0f) * 0.5f)
                                     : sqrtf(weight_of_large(max));
#pragma unroll
    for (int i = 0; i < N; ++i) exps[i] = exps[i] * half * half;
    return 1.0f;
  }

 private:
  __device__ float weight_of_large(float max) const {
    const RowExp part(max);
    return max == lowest() ? 0.0f : exp_approx(fmaf(part.exponent, kLn2, part.large - large));
  }
};

// Compute log(1 + x), x at least 0, as a float and what its rounding lost; 0 if it is negligible
// beside the smallest output.
__device__ inline float log1p_of(float x, float& lost) {
  const float log = log1pf(x);
  const float exponent = rintf(log * kLog2e);
  const float r = fmaf(exponent, kLn2Low, fmaf(exponent, kLn2, -log));
  // (1 + x) / exp(log) - 1
  const float scale = power_of_two(kRounder - exponent), sum = __fadd_rn(1.0f, x);
  const float sum_lost = __fsub_rn(fminf(1.0f, x), __fsub_rn(sum, fmaxf(1.0f, x)));
  const float over = exp_near_0(r) * scale;
  lost = log > 0.5f ? fmaf(sum_lost, over, fmaf(sum, over, -1.0f)) : 0.0f;
  return log;
}
