// A warp's tile of a row in registers: its softmax state and its outputs.
#pragma once
#include "narrow.cuh"
#include "state.cuh"

// K, UNALIGNED, BYPASS: see VecTile. KEEP_EXP: state() keeps the exps, in float32, for the output;
// otherwise the output computes them again from x. In: the element type of the row that is loaded.
template <typename T, int K, bool UNALIGNED, bool KEEP_EXP, int BYPASS = 0, typename In = T>
struct RowTile : LoadedTile<T, In, K, UNALIGNED, BYPASS> {
  using Vecs = LoadedTile<T, In, K, UNALIGNED, BYPASS>;
  using Vecs::vec;

  float exp_x[KEEP_EXP ? K * kVecElems<T> : 1];
  float top;      // the maximum of this warp's elements
  unsigned zero;  // 0, which only the run time knows: for opaque()

  RowTile() = default;
  __device__ RowTile(int first_vec, Index columns)
      : Vecs(first_vec, columns, lowest()), zero(static_cast<unsigned>(columns >> 32)) {}

  // Write this thread's vectors to shared memory, `step` vectors apart, and read them back.
  __device__ void save(uint4* to, int step) const {
#pragma unroll
    for (int k = 0; k < K; ++k) to[k * step] = vec[k];
  }
  __device__ void restore(const uint4* from, int step) {
#pragma unroll
    for (int k = 0; k < K; ++k) vec[k] = from[k * step];
  }

  // Return the state of the warp's elements, to every lane.
  template <typename Sums>
  __device__ SoftmaxState state() {
    top = max_of_lanes(max_element<T>(vec));
    Summation<Sums> summation(top);
    float sum = 0.0f;
#pragma unroll
    for (int k = 0; k < K; ++k) {
      float value[kVecElems<T>];
      unpack<T>(vec[k], value);
      summation.shift(value);
#pragma unroll
      for (int i = 0; i < kVecElems<T>; ++i) {
        value[i] = summation.term(value[i]);
        if constexpr (KEEP_EXP) exp_x[k * kVecElems<T> + i] = value[i];
      }
      sum += tree_reduce<Sum, kVecElems<T>>(value);
    }
    return summation.state(sum);
  }

  // Return the output of vector k. `factor` scales kept exps.
  template <typename Epilogue>
  __device__ uint4 result(int k, const Epilogue& epilogue, float factor) {
    if constexpr (KEEP_EXP) {
      float value[kVecElems<T>];
#pragma unroll
      for (int i = 0; i < kVecElems<T>; ++i)
        value[i] = Epilogue::scaled(exp_x[k * kVecElems<T> + i], factor);
      return pack<T>(value);
    } else {
      opaque<T>(vec[k], zero);
      return apply_epilogue<T, true>(vec[k], epilogue);
    }
  }

  template <typename Epilogue>
  __device__ void store(T* out_row, const Epilogue& epilogue) {
    // In 16 bits the outputs are computed before the branches on the alignment, in 32 bits within
    // them. The other way round, the compiler hoists parts of a branch, which takes more registers.
    constexpr bool kBefore = UNALIGNED && sizeof(T) < sizeof(float);
    float factor = 1.0f;
    if constexpr (KEEP_EXP) factor = epilogue.factor(exp_x, top);
    if constexpr (kBefore) {
#pragma unroll
      for (int k = 0; k < K; ++k) vec[k] = result(k, epilogue, factor);
    }
    Vecs::store(out_row, [&](int k) { return kBefore ? vec[k] : result(k, epilogue, factor); });
  }
};
