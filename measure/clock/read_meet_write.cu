// A roofline for few long rows: the blocks of a row read it, wait for each other, and only then
// write it, as a softmax must. Each lane keeps its K vectors in registers in between.
#include "grid_workspace.cuh"
#include "unaligned.cuh"

constexpr unsigned kSense =
    1u << 31;  // a counter's bit that flips when all blocks of a row have added
constexpr unsigned kUnlikely = 0x9e3779b9;  // an arbitrary value that data will hardly ever give

__device__ inline unsigned load_relaxed(const unsigned* from) {
  unsigned value;
  asm volatile("ld.relaxed.gpu.global.u32 %0, [%1];" : "=r"(value) : "l"(from) : "memory");
  return value;
}

// K: vectors per lane. WARPS: warps per block. RESIDENT: blocks per multiprocessor. BYPASS: with 1,
// loads allocate no line in L1; with 2, stores are moreover evict-first in L2. WRITES: a row of x
// is copied to out, where it has the same offset from a 16-byte boundary; otherwise only one word
// per row is written. A row has `row_blocks` blocks, two at least; all blocks of the launch must be
// resident at once.
template <typename T, int K, int WARPS, int RESIDENT, int BYPASS, bool WRITES>
__global__ void __launch_bounds__(kWarp* WARPS, RESIDENT)
    read_meet_write(T* __restrict__ out, const T* __restrict__ x, Index out_stride, Index x_stride,
                    Index rows, Index cols, GridWorkspace* workspace, int row_blocks) {
  constexpr int kStep = kWarp * WARPS * kVecElems<T>;  // from a lane's vector to its next
  const int row_block = blockIdx.x % row_blocks, group = blockIdx.x / row_blocks;
  constexpr int kLines = sizeof(workspace->counters) / sizeof(workspace->counters[0]);
  // counters of neighbouring groups lie in different cache lines
  unsigned* const counter = &workspace->counters[group % kLines][group / kLines];
  unsigned before = threadIdx.x == 0 ? load_relaxed(counter) : 0;  // used after the loads of x
  const int first = row_block * K * kStep + static_cast<int>(threadIdx.x) * kVecElems<T>;
  for (Index row = group; row < rows; row += gridDim.x / row_blocks) {
    const AlignedRow<const T> from(x + row * x_stride);
    T* const out_row = out + row * out_stride;
    const int begin = from.elements_off(), end = begin + static_cast<int>(cols);
    uint4 vec[K];
    unsigned loaded = 0;
#pragma unroll
    for (int k = 0; k < K; ++k) {
      const T* const at = from.vecs + first + k * kStep;
      vec[k] = make_uint4(0, 0, 0, 0);
      if (first + k * kStep < end) vec[k] = BYPASS ? load_vec_once(at) : load_vec(at);
      loaded ^= vec[k].x;
    }
    // This depends on all loads, so no thread reaches the barrier before its own have arrived.
    if (loaded == kUnlikely) atomicAdd(&workspace->unread, 1u);
    __syncthreads();
    if (threadIdx.x == 0) {
      atomicAdd(counter, row_block == 0 ? kSense - (row_blocks - 1) : 1u);
      while (((load_relaxed(counter) ^ before) & kSense) == 0) {
      }
      before ^= kSense;
    }
    __syncthreads();
    if constexpr (!WRITES) {
      if (row_block == 0 && threadIdx.x == 0) *reinterpret_cast<unsigned*>(out_row) = loaded;
      continue;
    }
    T* const to = AlignedRow<T>(out_row).at(0) + first;
#pragma unroll
    for (int k = 0; k < K; ++k) {
      const int at = first + k * kStep;
      if (at >= begin && at + kVecElems<T> <= end) {
        uint4* const vec_to = reinterpret_cast<uint4*>(to + k * kStep);
        BYPASS == 2 ? __stcs(vec_to, vec[k]) : store_vec(vec_to, vec[k]);
      }
    }
#pragma unroll
    for (int k = 0; k < K; ++k) {  // the row's ends
      const int at = first + k * kStep, head = begin - at, count = end - at;
      if (count > 0 && (head > 0 || count < kVecElems<T>)) {
        PartialVec<T>{vec[k], to + k * kStep}.store_middle(head, count);
      }
    }
  }
}
