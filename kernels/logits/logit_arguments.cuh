// Arguments of the logits kernels, other than the logits themselves. A kernel takes one struct,
// whose fields have 8 bytes each.
#pragma once
#include "types.cuh"

// Operations. kHasIndex: each row comes with columns. kIsLoss: these are targets of a loss.
struct LogSumExp {
  static constexpr bool kHasIndex = false, kIsLoss = false;
};
struct TokenLogProb {
  static constexpr bool kHasIndex = true, kIsLoss = false;
};
struct TokenLogProbEntropy : TokenLogProb {};
struct CrossEntropy {
  static constexpr bool kHasIndex = true, kIsLoss = true;
};
struct SmoothedCrossEntropy : CrossEntropy {};

struct alignas(8) Number {
  float value;
};

// Pointers may be null. index: (rows, index_count), columns. temperature: (rows,); where it is
// null, inverse_temperature is all rows'. row_mask: (rows,), 0 where a row is not used, and its
// values and gradients are 0.
struct RowArguments {
  const Index* index;
  const float* temperature;
  const unsigned char* row_mask;
  Index index_count, ignore_index;
  Number inverse_temperature, smoothing, z_loss;

  __device__ float inverse_of(Index row) const {
    return temperature == nullptr ? inverse_temperature.value : 1.0f / temperature[row];
  }
  template <typename Op>
  __device__ bool skips(Index row) const {
    return (row_mask != nullptr && row_mask[row] == 0) ||
           (Op::kIsLoss && index[row] == ignore_index);
  }
  __device__ static bool has_column(Index column, Index cols) {
    return 0 <= column && column < cols;
  }
};
