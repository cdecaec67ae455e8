// Short rows of any N. A block takes a run of adjacent rows and moves it through shared memory in
// 16-byte vectors (load_run, store_run); in small or non-contiguous matrices lanes access global
// memory directly. The lanes of a row each have a strided subset of its elements (LaneElements).
#include "cluster.cuh"
#include "epilogue.cuh"
#include "unaligned.cuh"

// Load `count` elements from `from` to `smem` with THREADS threads, at most VECS vectors each.
// Returns the offset of the first element in `smem`. The threads must synchronise before they read.
template <typename T, int THREADS, int VECS>
__device__ int load_run(uint4* smem, const T* from, int count, int thread) {
  const AlignedRow<const T> run(from);
  const int before = run.elements_off();
  const int vecs = (before + count + kVecElems<T> - 1) / kVecElems<T>;
  uint4 vec[VECS];
#pragma unroll
  for (int k = 0; k < VECS; ++k) {
    vec[k] = load_vec(run.at(min(k * THREADS + thread, vecs - 1)));  // clamped, not branched
  }
#pragma unroll
  for (int k = 0; k < VECS; ++k) {
    if (k * THREADS + thread < vecs) smem[k * THREADS + thread] = vec[k];
  }
  return before;
}

// Store `count` elements from shared memory to `to`. The first one's offset in `smem` must equal
// the offset of `to` in its vector. Partial vectors at both ends are stored element by element.
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

constexpr int kPackedThreads = 128;  // threads per block, if a row takes at most one warp
// Partial sums per lane; a lane has fewer in small matrices, whose rows have more lanes.
constexpr int kPackedSums = 8;

// Return the row, within the block, of a thread, if a row takes at most one warp; LANES adjacent
// threads share a row. The rows of a warp are kept some rows apart, so that they fall into
// different banks of shared memory, at least if cols is odd.
template <typename T, int LANES>
__device__ int row_of(int thread) {
  constexpr int kWarps = kPackedThreads / kWarp;
  constexpr int kWarpRows = kWarp / LANES, kWanted = LANES * 4 / static_cast<int>(sizeof(T));
  constexpr int kDistance = kWanted < kWarps ? kWanted : kWarps;
  const int warp = thread / kWarp, row_in_warp = thread % kWarp / LANES;
  return warp / kDistance * (kDistance * kWarpRows) + row_in_warp * kDistance + warp % kDistance;
}

// A lane's elements of a row: every STEP-th, at most K, of which the first SURE surely exist. LANES
// lanes of its warp share the row. SUMS: partial sums per lane. Twice the lanes with half the sums
// each give the same bits: each sum has the same elements, and sums are added in the same order.
template <typename T, int K, int SURE, int STEP, int LANES, int SUMS, bool KEEP_EXP>
struct LaneElements {
  float value[K];  // x; after state(), exp(x - top) if KEEP_EXP
  float top;       // the maximum over the LANES lanes
  const int left;  // elements of the row from the lane's first one to its end

  __device__ explicit LaneElements(int elements_left) : left(elements_left) {}

  __device__ bool exists(int i) const { return i < SURE || STEP * i < left; }

  // Absent elements are loads of the row's last one, replaced by -inf below. Predicated loads would
  // wait for each other, because a thread has only 7 predicate registers.
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

  // Return the state of the LANES lanes' elements, to each of them.
  template <typename Sums>
  __device__ SoftmaxState state() {
    // fmaxf() with -inf, so that the maximum is no NaN
    top = max_of_lanes<LANES>(fmaxf(lowest(), tree_reduce<Max, K>(value)));
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

  template <typename Epilogue>
  __device__ void store(T* first, const Epilogue& epilogue) {
    float factor = 1.0f;
    // If the row has a single warp, `top` is its maximum and no rescaling is needed.
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

// A row is shared by LANES adjacent lanes of a warp or, if WARPS > 1, by WARPS whole warps. K: most
// elements per lane. SUMS: partial sums per lane. The order of every sum follows from cols alone.
// `direct`: 1 if lanes access global memory although rows are contiguous; they always do if SUMS is
// not kPackedSums. Dynamic shared memory: a block's rows, and two vectors. In: the type of x.
template <typename T, typename Epilogue, int K, int LANES, int WARPS, int SUMS, typename In = T>
__global__ void __launch_bounds__(WARPS > 1 ? kWarp * WARPS : kPackedThreads)
    frontier_packed(T* __restrict__ out, const In* __restrict__ x, Index out_stride, Index x_stride,
                    Index rows, Index cols, int direct) {
  extern __shared__ __align__(16) uint4 smem[];
  constexpr int kStep = LANES * WARPS, kThreads = WARPS > 1 ? kStep : kPackedThreads;
  constexpr int kRows = kThreads / kStep;
  // If a row takes one warp, K is the least even number that suffices, so each lane has at least
  // K - 2 elements. If it takes several, it has more elements than WARPS - 1 warps could hold.
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
  const int loaded_row = min(row, row_count - 1);  // threads without a row load the last one

  LaneElements<T, K, kSure, kStep, LANES, SUMS, Epilogue::kScalesExp> mine(width - lane);
  int in_off = 0;  // offset of the first row in smem, in elements
  if (load_packed) {
    constexpr int kVecs = K / kVecElems<In> + 1;
    in_off = load_run<In, kThreads, kVecs>(smem, x_rows, row_count * width, thread);
    __syncthreads();
    mine.load(reinterpret_cast<const In*>(smem) + in_off + loaded_row * width + lane);
  } else {
    mine.load(x_rows + loaded_row * x_stride + lane);
  }
  // Rows of one lane in a large matrix; in a small one several lanes, with fewer sums, share them.
  constexpr bool kShort = LANES * SUMS == kPackedSums;
  using Sums = typename Epilogue::template SumsOf<T, Epilogue::kScalesExp, kShort>;
  const typename Epilogue::template Of<T> epilogue(
      RowPart<Sums, WARPS, 1>().merge(mine.template state<Sums>()));
  if (!store_packed) {
    if (row < row_count) mine.store(out_rows + row * out_stride + lane, epilogue);
    return;
  }
  const int out_off = AlignedRow<T>(out_rows).elements_off();
  // A barrier is needed only if an output may overwrite an element that another thread has yet to
  // read: if the outputs are shifted or of another size, or if threads without a row read the last
  // one. With several warps, the merge has had a barrier.
  constexpr bool kInPlace = sizeof(In) == sizeof(T);
  if (WARPS == 1 && load_packed && (!kInPlace || out_off != in_off || row_count < kRows))
    __syncthreads();
  if (row < row_count) mine.store(elements + out_off + row * width + lane, epilogue);
  __syncthreads();
  store_run<T, kThreads, K / kVecElems<T> + 1>(out_rows, smem, row_count * width, thread);
}
