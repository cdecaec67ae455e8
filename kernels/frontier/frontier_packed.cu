// Short rows of any N. The lanes of a row have strided subsets of its elements. A run of rows
// passes through shared memory in vectors, or lanes access global memory themselves.
#include "cluster.cuh"
#include "epilogue.cuh"
#include "unaligned.cuh"

// Load `count` elements from `from` with THREADS threads, at most VECS vectors each. Returns the
// offset of the first element in `smem`. The threads must synchronise before they read.
template <typename T, int THREADS, int VECS>
__device__ int load_run(uint4* smem, const T* from, int count, int thread) {
  const AlignedRow<const T> run(from);
  const int before = run.elements_off();
  const int vecs = (before + count + kVecElems<T> - 1) / kVecElems<T>;
  uint4 vec[VECS];
#pragma unroll
  for (int k = 0; k < VECS; ++k) {
    vec[k] = load_vec(run.at(min(k * THREADS + thread, vecs - 1)));  // without a branch
  }
#pragma unroll
  for (int k = 0; k < VECS; ++k) {
    if (k * THREADS + thread < vecs) smem[k * THREADS + thread] = vec[k];
  }
  return before;
}

// Store `count` elements to `to`. The first one's offset in `smem` must equal the offset of `to` in
// its vector. Partial vectors at both ends are stored element by element.
template <typename T, int THREADS, int VECS>
__device__ void store_run(T* to, const uint4* smem, int count, int thread) {
  const T* const elements = reinterpret_cast<const T*>(smem);
  const AlignedRow<T> run(to);
  const int before = run.elements_off(), end = before + count;
  const int first = before > 0 ? 1 : 0, last = end / kVecElems<T>;
  uint4 vec[VECS];
#pragma unroll
  for (int k = 0; k < VECS; ++k) vec[k] = smem[min(first + k * THREADS + thread, last)];
#pragma unroll
  for (int k = 0; k < VECS; ++k) {
    const int at = first + k * THREADS + thread;
    if (at < last) store_vec(reinterpret_cast<uint4*>(run.at(at)), vec[k]);
  }
  if (thread >= before && thread < min(first * kVecElems<T>, end))
    run.vecs[thread] = elements[thread];
  const int rest = max(first, last) * kVecElems<T> + thread;
  if (rest < end) run.vecs[rest] = elements[rest];
}

constexpr int kPackedThreads = 128;  // threads of a block whose rows have at most a warp each
// Sums of a lane; fewer in a small matrix whose rows have more lanes.
constexpr int kPackedSums = 8;

// Return the block's row of a thread, if rows share a warp or have one each; LANES adjacent threads
// share a row. The distance between a warp's rows spreads them over the banks of shared memory, at
// least where cols is odd.
template <typename T, int LANES>
__device__ int row_of(int thread) {
  constexpr int kWarps = kPackedThreads / kWarp;
  constexpr int kWarpRows = kWarp / LANES, kWanted = LANES * 4 / static_cast<int>(sizeof(T));
  constexpr int kDistance = kWanted < kWarps ? kWanted : kWarps;
  const int warp = thread / kWarp, row_in_warp = thread % kWarp / LANES;
  return warp / kDistance * (kDistance * kWarpRows) + row_in_warp * kDistance + warp % kDistance;
}

// A lane's elements of a row: every STEP-th, at most K. The first SURE of them exist. LANES of its
// warp share the row. SUMS: of a lane. Twice the lanes with half the sums give the same bits: each
// sum has the same elements, and halves are added in the same order.
template <typename T, int K, int SURE, int STEP, int LANES, int SUMS, bool KEEP_EXP>
struct LaneElements {
  float value[K];  // KEEP_EXP: exp(x - top), else x
  float top;       // the maximum of the lanes
  const int left;  // elements of the row from the lane's first one on

  __device__ explicit LaneElements(int elements_left) : left(elements_left) {}

  __device__ bool exists(int i) const { return i < SURE || STEP * i < left; }

  // Load the row's last element in place of absent ones. Loads under conditions would wait for each
  // other, as a thread has only 7 predicates.
  template <typename In>
  __device__ void load(const In* first) {
    const int last = opaque(left - 1);
#pragma unroll
    for (int i = 0; i < K; ++i)
      value[i] = opaque(to_float(first[i < SURE ? STEP * i : min(STEP * i, last)]));
#pragma unroll
    for (int i = 0; i < K; ++i) {
      if (!exists(i)) value[i] = lowest();
    }
  }

  // Compute the state of all lanes; each of them gets it.
  template <typename Sums>
  __device__ SoftmaxState state() {
    top = max_of_lanes<LANES>(fmaxf(lowest(), tree_reduce<Max, K>(value)));  // not NaN
    Summation<Sums> summation(top);
    summation.shift(value);
    float sum[SUMS] = {};
#pragma unroll
    for (int i = 0; i < K; ++i) {
      const float exp_x = summation.term(value[i]);
      sum[i % SUMS] = i < SUMS ? exp_x : sum[i % SUMS] + exp_x;
      if constexpr (KEEP_EXP) value[i] = exp_x;
    }
#pragma unroll
    for (int half = SUMS / 2; half > 0; half /= 2) {
#pragma unroll
      for (int i = 0; i < half; ++i) sum[i] += sum[i + half];
    }
    return summation.template state<LANES>(sum[0]);
  }

  // Store the output.
  template <typename Epilogue>
  __device__ void store(T* first, const Epilogue& epilogue) {
    float factor = 1.0f;
    // With one warp, top is the maximum.
    if constexpr (KEEP_EXP) factor = STEP > kWarp ? epilogue.factor(value, top) : epilogue.scale;
#pragma unroll
    for (int i = 0; i < K; ++i) {
      if (!exists(i)) continue;
      if constexpr (KEEP_EXP) {
        from_float(first[STEP * i], Epilogue::scaled(value[i], factor));
      } else {
        from_float(first[STEP * i], epilogue.from_x(value[i]));
      }
    }
  }
};

// LANES: adjacent lanes of a warp that share a row. WARPS: whole warps that share one. K: most
// elements of a lane. SUMS: of a lane. The order of every sum follows from cols alone. `direct`: 1
// if lanes access global memory though rows are contiguous; without kPackedSums they always do.
// Dynamic shared memory: the rows of a block, and two vectors. In: the type of x.
template <typename T, typename Epilogue, int K, int LANES, int WARPS, int SUMS, typename In = T>
__global__ void __launch_bounds__(WARPS > 1 ? kWarp * WARPS : kPackedThreads)
    frontier_packed(T* __restrict__ out, const In* __restrict__ x, Index out_stride, Index x_stride,
                    Index rows, Index cols, int direct) {
  extern __shared__ __align__(16) uint4 smem[];
  constexpr int kStep = LANES * WARPS, kThreads = WARPS > 1 ? kStep : kPackedThreads;
  constexpr int kRows = kThreads / kStep;
  // For a row of one warp K is the least even number that suffices, so each lane has at least K - 2
  // elements. A row of several warps has more than all warps but one can hold.
  constexpr int kSure = WARPS == 1 ? K - 2 : K * (WARPS - 1) / WARPS;
  const int width = static_cast<int>(cols), thread = threadIdx.x, lane = thread % kStep;
  const Index first_row = static_cast<Index>(blockIdx.x) * kRows;
  const int row_count = rows - first_row < kRows ? static_cast<int>(rows - first_row) : kRows;
  T* const elements = reinterpret_cast<T*>(smem);
  const In* const x_rows = x + first_row * x_stride;
  T* const out_rows = out + first_row * out_stride;
  const bool packed = SUMS == kPackedSums && !direct;
  const bool load_packed = packed && x_stride == cols, store_packed = packed && out_stride == cols;
  const int row = WARPS > 1 ? 0 : row_of<T, LANES>(thread);
  const int loaded_row = min(row, row_count - 1);  // threads without a row have the last one

  LaneElements<T, K, kSure, kStep, LANES, SUMS, Epilogue::kScalesExp> mine(width - lane);
  int in_off = 0;  // offset of the first row in smem
  if (load_packed) {
    constexpr int kVecs = K / kVecElems<In> + 1;
    in_off = load_run<In, kThreads, kVecs>(smem, x_rows, row_count * width, thread);
    __syncthreads();
    mine.load(reinterpret_cast<const In*>(smem) + in_off + loaded_row * width + lane);
  } else {
    mine.load(x_rows + loaded_row * x_stride + lane);
  }
  // Rows of a lane in a large matrix; in a small one more lanes share a row, with fewer sums each.
  constexpr bool kShort = LANES * SUMS == kPackedSums;
  using Sums = typename Epilogue::template SumsOf<T, Epilogue::kScalesExp, kShort>;
  const typename Epilogue::template Of<T> epilogue(
      RowPart<Sums, WARPS, 1>().merge(mine.template state<Sums>()));
  if (!store_packed) {
    if (row < row_count) mine.store(out_rows + row * out_stride + lane, epilogue);
    return;
  }
  const int out_off = AlignedRow<T>(out_rows).elements_off();
  // Without a shift, lanes overwrite only their elements, and threads without a row read, for
  // nothing, those of the last one. The merge of several warps has a barrier.
  constexpr bool kInPlace = sizeof(In) == sizeof(T);
  if (WARPS == 1 && load_packed && (!kInPlace || out_off != in_off || row_count < kRows))
    __syncthreads();
  if (row < row_count) mine.store(elements + out_off + row * width + lane, epilogue);
  __syncthreads();
  store_run<T, kThreads, K / kVecElems<T> + 1>(out_rows, smem, row_count * width, thread);
}
