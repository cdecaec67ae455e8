// The exp of a row's elements, scaled so that it cannot overflow: relative to the row's maximum in
// 16 bits, to a power of two near exp of the maximum in float32. And the log of a sum of exps.
#pragma once
#include "vec.cuh"

constexpr float kLn2 = 0.693147180559945309f, kLn2Low = -0x1.05c61p-29f;
// Added to a float below 2^22, it leaves the nearest integer plus the exponent bias in the low
// bits.
constexpr float kRounder = 0x1.8p23f + 127;

// Return 2^n, where n + 127 is in the low bits of a float between 2^23 and 2^24 (see kRounder).
__device__ inline float power_of_two(float low_bits) {
  return __int_as_float(static_cast<int>(__float_as_uint(low_bits) << 23));
}

// Compute exp(r) for |r| < 0.3475 to 0.6 ulp, by the minimax polynomial 1 + r + ... of degree 6.
__device__ inline float exp_near_0(float r) {
  float y = fmaf(0x1.6a21acp-10f, r, 0x1.123b6ap-7f);
  y = fmaf(y, r, 0x1.5558fap-5f);
  y = fmaf(y, r, 0x1.55549p-3f);
  y = fmaf(y, r, 0x1.fffffcp-2f);
  return fmaf(fmaf(y, r, 1.0f), r, 1.0f);
}

// Compute exp(x) in float32 for x <= 0, correcting the rounding of the product t = x log2(e) in
// exp_approx(): exp(x) = 2^t exp(x - t ln 2).
__device__ inline float exp_corrected(float x) {
  const float t = x * kLog2e, power = exp2_approx(t);
  // For x = -inf this is NaN, of which fminf() makes 1; 2^t is 0 then.
  const float rest = fminf(fmaf(t, -kLn2, x), 1.0f);
  return fmaf(power, rest, power);
}

// The exp of elements from which outputs of type Out are computed: here exp(x - max). For 16-bit
// outputs the precision of the special function unit is enough.
template <typename Out>
struct RowExp {
  float pivot;  // the maximum, or 0 if that is -inf, because -inf - -inf is NaN

  __device__ explicit RowExp(float max) : pivot(max == lowest() ? 0.0f : max) {}
  __device__ float operator()(float x) const { return exp_approx(x - pivot); }
  __device__ float exact(float x) const { return exp_approx(x - pivot); }
  // for_sum() is exp for terms of a sum that are not outputs, less precise, in units of sum_unit().
  __device__ float for_sum(float x) const { return exp_approx(x - pivot); }
  __device__ static constexpr float sum_unit() { return 1.0f; }
  // Return the factor that rescales sums relative to a smaller maximum `max`.
  __device__ float weight(float max) const { return exp_approx(max - pivot); }
  static constexpr bool kShifts = false;
};

// In float32: 2^64 exp(x) / 2^exponent, where 2^exponent is near exp(max); the factor cancels out
// of a softmax. x - max would be rounded, by up to 2^-20 if x is 16 below the maximum, and its exp
// would have that relative error; scaling by a power of two is exact. 2^64 keeps exps normal whose
// outputs are subnormal. The error is 2 ulp, plus 0.1 ulp for each 1 that x is below the maximum,
// because log2(e) is rounded.
template <>
struct RowExp<float> {
  // Maxima of this magnitude are subtracted after all, which is exact: they are multiples of 2^-2.
  static constexpr float kLarge = 0x1p21f;
  static constexpr float kUnit = 64;

  float large;  // the maximum if its magnitude reaches kLarge, else 0
  float exponent;

  __device__ explicit RowExp(float max) {
    const float finite = max == lowest() ? 0.0f : max;
    large = fabsf(finite) >= kLarge ? finite : 0.0f;
    exponent = fmaf(finite - large, kLog2e, kRounder) - kRounder;
  }
  static constexpr bool kShifts = true;  // operator() and exact() expect x - large

  __device__ float operator()(float x) const {
    const float rounder = kRounder + kUnit - exponent;
    // clamped at 2^-151, which is below half of the smallest subnormal
    const float power = max_or_nan(fmaf(x, kLog2e, rounder), kRounder + kUnit - 151);
    return exp2_approx(fmaf(x, kLog2e, rounder - power)) * power_of_two(power);
  }
  // Compute the same with an error of 0.7 ulp.
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

  // Rescale exps from a smaller maximum `max` to this one. Usually nothing is multiplied, and the
  // factor is returned for the caller to apply.
  template <int N>
  __device__ float bring(float (&exps)[N], float max) const {
    const float power = fmaf(max, kLog2e, kRounder - exponent);
    const bool far = power < kRounder - 30;
    if (large == 0.0f && !far) return power_of_two(power);
    // The factor, or its product with the row's scale, may not be a normal number, so it is applied
    // here as two square roots.
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

// Return log(1 + x) for x >= 0, and in `lost` what its rounding lost, or 0 if that is negligible.
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
