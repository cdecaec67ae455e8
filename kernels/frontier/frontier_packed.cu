// Short rows of any length, a run of them at once: they pass through shared memory as they lie, and
// only there elements are taken out of words.
#include "run.cuh"

constexpr int kThreads = 128;

// Rows that have gaps between them.
template <typename T>
__device__ void bring_rows(T* held, const T* x, Index stride, int rows, int cols) {
  for (int at = threadIdx.x; at < rows * cols; at += kThreads) {
    held[at] = x[at / cols * stride + at % cols];
  }
}
template <typename T>
__device__ void take_rows(T* out, Index stride, const T* held, int rows, int cols) {
  for (int at = threadIdx.x; at < rows * cols; at += kThreads) {
    out[at / cols * stride + at % cols] = held[at];
  }
}

// Which of its block's rows a thread works on, where LANES neighbours share one. A warp's rows are
// as far apart as spreads them over the banks of shared memory, at least for an odd number of
// columns: LANES elements of each at a time.
template <typename T, int LANES>
__device__ int row_of(int thread) {
  constexpr int kOfWarp = kWarp / LANES, kWanted = LANES * 4 / static_cast<int>(sizeof(T));
  constexpr int kApart = kWanted < kThreads / kWarp ? kWanted : kThreads / kWarp;
  const int warp = thread / kWarp, own = thread % kWarp / LANES;
  return warp / kApart * (kApart * kOfWarp) + own * kApart + warp % kApart;
}

// A thread's elements, every STEP-th from `held` on; of the last there may be none.
template <typename T, int K, int STEP, bool KEEP>
struct Elements {
  float value[K];  // KEEP: exp(x - top), else x
  float top;
  const bool full;

  __device__ Elements(const T* held, bool all) : full(all) {
#pragma unroll
    for (int i = 0; i < K; ++i) value[i] = i < K - 1 || full ? to_float(held[STEP * i]) : lowest();
  }

  __device__ Part part() {
    Part found{fmaxf(lowest(), over<Max, K>(value)), 0.0f};  // not NaN
    top = found.max;
    const float base = found.base();
    float sum[4] = {};
#pragma unroll
    for (int i = 0; i < K; ++i) {
      const float power = exp_of(value[i] - base);
      sum[i % 4] += power;
      if constexpr (KEEP) value[i] = power;
    }
    found.sum = over<Sum, 4>(sum);
    return found;
  }

  template <typename Op>
  __device__ void put(T* held, float max, const Op& finish) const {
    float factor = 0.0f;
    if constexpr (KEEP) factor = finish.factor(top - max);
#pragma unroll
    for (int i = 0; i < K; ++i) {
      if (i == K - 1 && !full) continue;
      if constexpr (KEEP) {
        from_float(held[STEP * i], value[i] * factor);
      } else {
        from_float(held[STEP * i], finish.template of_shifted<T>(value[i] - max));
      }
    }
  }
};

// LANES: neighbouring threads that share a row. K: elements of each. Both follow from cols, so
// which elements meet in which sum does, too. Dynamic shared memory: the rows of a block, and two
// words.
template <typename T, typename Op, int K, int LANES>
__global__ void __launch_bounds__(kThreads)
    frontier_packed(T* __restrict__ out, const T* __restrict__ x, Index out_stride, Index x_stride,
                    Index rows, Index cols) {
  extern __shared__ __align__(16) uint4 room[];
  constexpr int kRows = kThreads / LANES;
  const int width = static_cast<int>(cols), thread = threadIdx.x, lane = thread % LANES;
  const Index first = static_cast<Index>(blockIdx.x) * kRows;
  const int count = rows - first < kRows ? static_cast<int>(rows - first) : kRows;
  T* const held = reinterpret_cast<T*>(room);
  const T* const from = x + first * x_stride;
  T* const to = out + first * out_stride;
  int before = 0, after = 0;  // of the first row, from the beginning of the room
  if (x_stride == cols) {
    before = bring_run<T, kThreads, K / kWide<T> + 1>(room, from, count * width, thread);
  } else {
    bring_rows(held, from, x_stride, count, width);
  }
  if (out_stride == cols) after = Aligned<T>(to).elements_off();
  __syncthreads();

  const int row = row_of<T, LANES>(thread);
  T* const begin = held + min(row, count - 1) * width + lane;
  Elements<T, K, LANES, Op::kPowers> own(begin + before, lane + LANES * (K - 1) < width);
  const Part part = joined_over_lanes<LANES>(own.part());
  // Else what is written over is this lane's own, unless threads without a row have read the last.
  if (after != before || count < kRows) __syncthreads();
  if (row < count) own.put(begin + after, part.max, Op(part.sum));

  __syncthreads();
  if (out_stride == cols) {
    take_run<T, kThreads>(to, room, count * width, thread);
  } else {
    take_rows(to, out_stride, held, count, width);
  }
}
