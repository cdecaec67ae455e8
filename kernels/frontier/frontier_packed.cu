// Short rows of any N, a contiguous run of them at once. The run passes through shared memory,
// where lanes read the elements of their rows.
#include "epilogue.cuh"
#include "state.cuh"
#include "unaligned.cuh"

// Load `count` elements from `from` with THREADS threads, at most VECS vectors each. Returns the
// offset of the first element in `smem`. The threads must synchronise before they read.
template <typename T, int THREADS, int VECS>
__device__ int load_run(uint4* smem, const T* from, int count, int thread) {
  const AlignedRow<const T> run(from);
  const int before = run.elements_off();
  const int vecs = count > 0 ? (before + count + kVecElems<T> - 1) / kVecElems<T> : 0;
  uint4 vec[VECS];
#pragma unroll
  for (int k = 0; k < VECS; ++k) {
    if (k * THREADS + thread < vecs) vec[k] = load_vec(run.at(k * THREADS + thread));
  }
#pragma unroll
  for (int k = 0; k < VECS; ++k) {
    if (k * THREADS + thread < vecs) smem[k * THREADS + thread] = vec[k];
  }
  return before;
}

// Store `count` elements to `to`. The first one's offset in `smem` must equal the offset of `to` in
// its vector. Partial vectors at both ends are stored element by element.
template <typename T, int THREADS>
__device__ void store_run(T* to, const uint4* smem, int count, int thread) {
  const T* const elements = reinterpret_cast<const T*>(smem);
  const AlignedRow<T> run(to);
  const int before = run.elements_off(), end = before + max(0, count);
  const int first = before > 0 ? 1 : 0, last = end / kVecElems<T>;
  for (int vec = first + thread; vec < last; vec += THREADS) {
    store_vec(reinterpret_cast<uint4*>(run.at(vec)), smem[vec]);
  }
  if (thread >= before && thread < min(first * kVecElems<T>, end))
    run.vecs[thread] = elements[thread];
  const int rest = max(first, last) * kVecElems<T> + thread;
  if (rest < end) run.vecs[rest] = elements[rest];
}

// Load and store non-contiguous rows.
template <int THREADS, typename T>
__device__ void load_rows(T* elements, const T* x, Index stride, int rows, int cols) {
  for (int elem = threadIdx.x; elem < rows * cols; elem += THREADS) {
    elements[elem] = x[elem / cols * stride + elem % cols];
  }
}
template <int THREADS, typename T>
__device__ void store_rows(T* out, Index stride, const T* elements, int rows, int cols) {
  for (int elem = threadIdx.x; elem < rows * cols; elem += THREADS) {
    out[elem / cols * stride + elem % cols] = elements[elem];
  }
}

// Return the block's row of a thread; LANES adjacent threads share a row. The distance between a
// warp's rows spreads them over the banks of shared memory, at least where cols is odd.
template <typename T, int LANES, int THREADS>
__device__ int row_of(int thread) {
  constexpr int kWarpRows = kWarp / LANES, kWanted = LANES * 4 / static_cast<int>(sizeof(T));
  constexpr int kDistance = kWanted < THREADS / kWarp ? kWanted : THREADS / kWarp;
  const int warp = thread / kWarp, row_in_warp = thread % kWarp / LANES;
  return warp / kDistance * (kDistance * kWarpRows) + row_in_warp * kDistance + warp % kDistance;
}

// A thread's elements: every STEP-th from `elements` on. The last one may not exist.
template <typename T, int K, int STEP, bool KEEP_EXP>
struct LaneElements {
  float value[K];  // KEEP_EXP: exp(x - lane_max), else x
  float lane_max;
  const bool full;

  __device__ LaneElements(const T* elements, bool has_last) : full(has_last) {
#pragma unroll
    for (int i = 0; i < K; ++i)
      value[i] = i < K - 1 || full ? to_float(elements[STEP * i]) : lowest();
  }

  __device__ SoftmaxState state() {
    SoftmaxState state{fmaxf(lowest(), tree_reduce<Max, K>(value)), 0.0f};  // not NaN
    lane_max = state.max;
    const float pivot = state.pivot();
    float sum[4] = {};
#pragma unroll
    for (int i = 0; i < K; ++i) {
      const float shifted = value[i] - pivot;
      const float exp_x = KEEP_EXP ? exp_for<T>(shifted) : exp_approx(shifted);
      sum[i % 4] += exp_x;
      if constexpr (KEEP_EXP) value[i] = exp_x;
    }
    state.sum = tree_reduce<Sum, 4>(sum);
    return state;
  }

  template <typename Epilogue>
  __device__ void put(T* elements, float max, const Epilogue& epilogue) const {
    float factor = 0.0f;
    if constexpr (KEEP_EXP) factor = epilogue.template factor<T>(lane_max - max);
#pragma unroll
    for (int i = 0; i < K; ++i) {
      if (i == K - 1 && !full) continue;
      if constexpr (KEEP_EXP) {
        from_float(elements[STEP * i], value[i] * factor);
      } else {
        from_float(elements[STEP * i], epilogue.template from_shifted<T>(value[i] - max));
      }
    }
  }
};

// LANES: adjacent threads that share a row. K: elements of each. Both follow from cols alone, and
// so does the order of every sum. THREADS: of a block. Dynamic shared memory: the rows of a block,
// and two vectors.
template <typename T, typename Epilogue, int K, int LANES, int THREADS>
__global__ void __launch_bounds__(THREADS)
    frontier_packed(T* __restrict__ out, const T* __restrict__ x, Index out_stride, Index x_stride,
                    Index rows, Index cols) {
  extern __shared__ __align__(16) uint4 smem[];
  constexpr int kRows = THREADS / LANES;
  const int width = static_cast<int>(cols), thread = threadIdx.x, lane = thread % LANES;
  const Index first_row = static_cast<Index>(blockIdx.x) * kRows;
  const int row_count = rows - first_row < kRows ? static_cast<int>(rows - first_row) : kRows;
  T* const elements = reinterpret_cast<T*>(smem);
  const T* const x_rows = x + first_row * x_stride;
  T* const out_rows = out + first_row * out_stride;
  int in_off = 0, out_off = 0;  // offsets of the first row in smem
  if (x_stride == cols) {
    in_off = load_run<T, THREADS, K / kVecElems<T> + 1>(smem, x_rows, row_count * width, thread);
  } else {
    load_rows<THREADS>(elements, x_rows, x_stride, row_count, width);
  }
  if (out_stride == cols) out_off = AlignedRow<T>(out_rows).elements_off();
  __syncthreads();

  const int row = row_of<T, LANES, THREADS>(thread);
  T* const lane_begin = elements + min(row, row_count - 1) * width + lane;
  LaneElements<T, K, LANES, Epilogue::kScalesExp> lane_elements(lane_begin + in_off,
                                                                lane + LANES * (K - 1) < width);
  const SoftmaxState state = merge_lanes<LANES>(lane_elements.state());
  // without a shift, lanes overwrite only their elements; threads without a row read the last one
  if (out_off != in_off || row_count < kRows) __syncthreads();
  if (row < row_count) lane_elements.put(lane_begin + out_off, state.max, Epilogue(state.sum));

  __syncthreads();
  if (out_stride == cols) {
    store_run<T, THREADS>(out_rows, smem, row_count * width, thread);
  } else {
    store_rows<THREADS>(out_rows, out_stride, elements, row_count, width);
  }
}
