// Values of a row that the kernels of logits write, computed from the row's state.
#pragma once
#include "logit_arguments.cuh"
#include "logit_state.cuh"

// The second sum of an operation's state.
template <typename Op>
constexpr Moment kMoment = Moment::kNone;
template <>
constexpr Moment kMoment<TokenLogProbEntropy> = Moment::kEntropy;
template <>
constexpr Moment kMoment<SmoothedCrossEntropy> = Moment::kMean;

// first: (rows, index_count) log-probabilities, or (rows,) log-sum-exps or losses. second: (rows,)
// entropies. maxima, log_sums: (rows,), of log(sum of exp((x - max) / temperature)), or null; the
// entropies stand once more behind log_sums.
template <typename T>
struct ValueArguments : RowArguments {
  float* first;
  const T* x;
  Index x_stride, rows, cols;
  float* second;
  float* maxima;
  float* log_sums;
};

__device__ inline float not_a_number() { return __int_as_float(0x7fffffff); }

// Write the values of a row that is not used.
template <typename Op, typename T>
__device__ void write_zeros(const ValueArguments<T>& to, Index row) {
  for (Index k = 0; k < to.index_count; ++k) to.first[row * to.index_count + k] = 0.0f;
  if (to.second != nullptr) {
    to.second[row] = 0.0f;
    if (to.log_sums != nullptr) to.log_sums[to.rows + row] = 0.0f;
  }
  if (to.maxima != nullptr) to.maxima[row] = to.log_sums[row] = 0.0f;
}

// The first of a row's columns, and the element there if it is one of the row's.
template <typename T>
struct Target {
  Index column;
  T x;
};
template <typename Op, typename T>
__device__ Target<T> first_target(const ValueArguments<T>& from, Index row) {
  Target<T> target{};
  if constexpr (Op::kHasIndex) {
    target.column = from.index[row * from.index_count];
    if (from.has_column(target.column, from.cols))
      target.x = from.x[row * from.x_stride + target.column];
  }
  return target;
}

// Write a row's values from its state. `target`: the first of the row's columns.
template <typename Op, typename T, typename State>
__device__ void write_values(const ValueArguments<T>& to, Index row, State state, float inverse,
                             Target<T> target) {
  const T* const x_row = to.x + row * to.x_stride;
  float lost;
  const float log_high = log1p_of(state.rest, lost), log_sum = log_high + lost;
  if (to.maxima != nullptr) to.maxima[row] = state.max, to.log_sums[row] = log_sum;
  float logsumexp = fmaf(state.max, inverse, log_sum);
  if constexpr (kMoment<Op> == Moment::kEntropy) {
    float entropy = log_sum - state.moment * inverse / (1.0f + state.rest);
    if (entropy < 0.0f) entropy = 0.0f;
    if (state.max == lowest()) entropy = not_a_number();  // a row of -inf alone has none
    to.second[row] = entropy;
    if (to.log_sums != nullptr) to.log_sums[to.rows + row] = entropy;
  }
  if constexpr (!Op::kHasIndex) {
    if (state.max == -lowest()) {  // the sum is NaN, even if no element is
      logsumexp = state.max;
      for (Index i = 0; i < to.cols; ++i)
        if (const float x = to_float(x_row[i]); x != x) logsumexp = x;
    }
    to.first[row] = logsumexp;
    return;
  }
  // An element whose share is nearly 1 is the maximum, and log_sum is all that is left.
  const auto log_prob = [&](Index column, T x) {
    if (!to.has_column(column, to.cols)) return not_a_number();
    return fmaf(to_float(x) - state.max, inverse, -log_high) - lost;
  };
  const float first = log_prob(target.column, target.x);
  if constexpr (Op::kIsLoss) {
    float loss = -first;
    if constexpr (kMoment<Op> == Moment::kMean) {
      const float mean = state.moment / static_cast<float>(to.cols);
      const float smoothing = to.smoothing.value;
      loss = fmaf(1.0f - smoothing, loss, smoothing * fmaf(-mean, inverse, log_sum));
    }
    to.first[row] = fmaf(to.z_loss.value * logsumexp, logsumexp, loss);
    return;
  }
  float* const values = to.first + row * to.index_count;
  values[0] = first;
  for (Index k = 1; k < to.index_count; ++k) {
    const Index column = to.index[row * to.index_count + k];
    const T x = to.has_column(column, to.cols) ? x_row[column] : T{};
    values[k] = log_prob(column, x);
  }
}

// Return the column of a row's maximum if it has most of the sum and an index says where it is;
// else -1. Then log(softmax) of this element is all that the other elements' sum says. A whole warp
// must call it; `state` is that of the row.
template <typename Op, typename T, typename State>
__device__ int column_of_most(const ValueArguments<T>& arguments, Index row, State state) {
  if constexpr (!Op::kHasIndex) return -1;
  if (!(state.rest < 1.0f)) return -1;
  int found = -1;
  for (Index k = threadIdx.x % kWarp; k < arguments.index_count; k += kWarp) {
    const Index column = arguments.index[row * arguments.index_count + k];
    if (arguments.has_column(column, arguments.cols) &&
        to_float(arguments.x[row * arguments.x_stride + column]) == state.max)
      found = static_cast<int>(column);
  }
  const unsigned lanes = __ballot_sync(kWholeWarp, found >= 0);
  return lanes == 0 ? -1 : __shfl_sync(kWholeWarp, found, __ffs(lanes) - 1);
}

// Restore the digits of such a row's sum that the maximum's lane lost when it added small exps to a
// large one.
template <typename Op, typename Tile, typename T, typename Sums, typename State>
__device__ void refine(State& state, const Sums& sums, const ValueArguments<T>& arguments,
                       Index row) {
  const int column = column_of_most<Op>(arguments, row, state);
  if (column < 0) [[likely]]
    return;
  Tile tile(column / Tile::kElems * (Tile::kVecs * kWarp), static_cast<int>(arguments.cols));
  tile.load(arguments.x + row * arguments.x_stride);
  const float lost = sums.template lost_of_lane<T>(tile.vec, state.max);
  state.rest += __shfl_sync(kWholeWarp, lost, Tile::lane_of(column));
}
