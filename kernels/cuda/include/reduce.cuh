// Reductions over an array in registers, a warp and a thread block.
#pragma once
#include "types.cuh"

struct Max {
  __device__ static float identity() { return lowest(); }
  __device__ static float apply(float a, float b) { return fmaxf(a, b); }
};
struct Sum {
  __device__ static float identity() { return 0.0f; }
  __device__ static float apply(float a, float b) { return a + b; }
};

// Reduce over LANES adjacent lanes by butterfly shuffles, for all of them; a whole warp must call.
template <typename Op, int LANES = kWarp>
__device__ inline float warp_reduce(float value) {
#pragma unroll
  for (int distance = LANES / 2; distance > 0; distance /= 2) {
    value = Op::apply(value, __shfl_xor_sync(kWholeWarp, value, distance));
  }
  return value;
}

// Reduce over a block of THREADS threads with one barrier; all threads get the result. Each warp
// writes its value to shared memory, and after the barrier every warp reduces all of them. Two
// consecutive reductions need two arrays `parts`, because a fast warp may begin the second while a
// slow one still reads the first. After the second one's barrier the first array may be used again.
template <typename Op, int THREADS>
__device__ inline float block_reduce(float value, float (&parts)[THREADS / kWarp]) {
  value = warp_reduce<Op>(value);
  if constexpr (THREADS > kWarp) {
    const int lane = threadIdx.x % kWarp;
    if (lane == 0) parts[threadIdx.x / kWarp] = value;
    __syncthreads();
    value = warp_reduce<Op>(lane < THREADS / kWarp ? parts[lane] : Op::identity());
  }
  return value;
}

// Reduce N values as a tree, whose chain of dependent operations is shorter than a loop's.
template <typename Op, int N>
__device__ inline float tree_reduce(const float* values) {
  if constexpr (N == 1) {
    return *values;
  } else {
    return Op::apply(tree_reduce<Op, N / 2>(values), tree_reduce<Op, N - N / 2>(values + N / 2));
  }
}

// A value as 32-bit words.
template <typename T>
struct Words {
  static constexpr int kCount = sizeof(T) / sizeof(unsigned);
  union {
    T value;
    unsigned word[kCount];
  };

  __device__ Words() {}
  __device__ explicit Words(T whole) : value(whole) {}
  __device__ unsigned& operator[](int i) { return word[i]; }
  __device__ unsigned operator[](int i) const { return word[i]; }

  // Return the value of lane `lane`. The whole warp must call it.
  __device__ T of_lane(int lane) const {
    Words other;
#pragma unroll
    for (int i = 0; i < kCount; ++i) other[i] = __shfl_sync(kWholeWarp, word[i], lane);
    return other.value;
  }
};
