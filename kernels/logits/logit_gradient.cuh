// The gradient of a row's values with respect to its logits, from the row's sums.
#pragma once
#include "logit_arguments.cuh"
#include "row_exp.cuh"
#include "unaligned.cuh"

// A row's columns in an aligned vector. At the row's ends they do not fill it, and may be none.
template <typename T>
struct Columns {
  int begin, end;
  __device__ Columns(const AlignedRow<T>& row, int vec, int width) {
    const int first = vec * kVecElems<T> - row.elements_off();
    begin = max(first, 0), end = min(first + kVecElems<T>, width);
  }
  __device__ bool fill_vec() const { return end - begin == kVecElems<T>; }
};

// A row's gradient: for an element with probability p,
//   scale p + entropy_scale p (log p + entropy) + offset, and `at_index` more at its indices.
// HAS_ENTROPY: entropy_scale is not always 0.
template <typename T, bool HAS_ENTROPY>
struct RowGradient {
  float max, log_sum, inverse_temperature;
  float scale = 0.0f, entropy_scale = 0.0f, entropy = 0.0f, offset = 0.0f;
  const Index* index = nullptr;
  const float* g = nullptr;  // gradient of each index
  Index index_count = 0;
  float per_g = 0.0f;  // at_index, of a g of 1

  // Turn the gradient of a log-probability into that of a loss, of rows of so many elements.
  __device__ void make_loss(const RowArguments& arguments, int cols) {
    const float logsumexp = fmaf(max, inverse_temperature, log_sum);
    per_g *= arguments.smoothing.value - 1.0f;
    offset = scale * arguments.smoothing.value / static_cast<float>(cols);
    scale *= -fmaf(2.0f * arguments.z_loss.value, logsumexp, 1.0f);
  }

  __device__ float log_prob(float x) const { return (x - max) * inverse_temperature - log_sum; }
  // Return the gradient of an element of no index, or of one whose scale differs.
  __device__ float from_x(float x) const { return from_x(x, scale); }
  __device__ float from_x(float x, float scale_of_x) const {
    const float log_p = log_prob(x);
    const float p = sizeof(T) < sizeof(float) ? exp_approx(log_p) : exp_corrected(log_p);
    if constexpr (!HAS_ENTROPY) return fmaf(p, scale_of_x, offset);
    // an element that is -inf has p = 0, and 0 times its log p is 0
    const float from_mean = max_or_nan(log_p, -0x1p100f) + entropy;
    return fmaf(p, fmaf(entropy_scale, from_mean, scale_of_x), offset);
  }
  // Return the gradient of an element to which its indices add `at_index`. Where it is a nearly
  // certain token, 1 - p is not what is left of 1.
  __device__ float of_index(float x, float at_index) const {
    return fmaf(-at_index, expm1f(log_prob(x)), from_x(x, scale + at_index));
  }
  // Return the gradient of the element in a column.
  __device__ float of(float x, Index column) const {
    float at_index = 0.0f;
    for (Index k = 0; k < index_count; ++k)
      if (index[k] == column) at_index += g[k] * per_g;
    return of_index(x, at_index);
  }
};
