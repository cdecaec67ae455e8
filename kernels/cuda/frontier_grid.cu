// Few rows, too long for a cluster: all blocks of the GPU share them, and meet in global memory.
#include "cluster.cuh"
#include "shared_rows.cuh"

constexpr int kMostBlocks = 1024;  // of a launch

// Zero before the first launch, and again after each.
struct Meeting {
  unsigned arrived[kMostBlocks];  // of a row under way, by its first block
  unsigned left[kMostBlocks];
  Part parts[2][kMostBlocks];  // in turn, so that one may be read while the other is written
};

__device__ inline unsigned load_acquire(const unsigned* from) {
  unsigned value;
  asm volatile("ld.acquire.gpu.global.u32 %0, [%1];" : "=r"(value) : "l"(from) : "memory");
  return value;
}
__device__ inline void add_release(unsigned* to) {
  asm volatile("red.release.gpu.global.add.u32 [%0], 1;" ::"l"(to) : "memory");
}

// WARPS: of a block. RESIDENT: blocks of a multiprocessor. APART: rows begin anywhere. `shares`:
// blocks of a row, each with so many `spans` of it, one after the other, of so many `words` for
// each warp. The last span stays in shared memory, those before are brought a second time, from L2
// where they are still there. All blocks of the launch, a multiple of `shares`, must be resident at
// once.
template <typename T, typename Op, int WARPS, int RESIDENT, bool APART>
__global__ void __launch_bounds__(kWarp* WARPS, RESIDENT)
    frontier_grid(T* __restrict__ out, const T* __restrict__ x, Index out_stride, Index x_stride,
                  Index rows, Index cols, Meeting* meeting, int shares, int spans, int words) {
  extern __shared__ uint4 room[];
  __shared__ Arrival arrivals[WARPS];
  __shared__ Part of_warps[2][WARPS];
  const int warp = threadIdx.x / kWarp, lane = threadIdx.x % kWarp;
  const int share = blockIdx.x % shares, begin = blockIdx.x - share;
  const Index step = gridDim.x / shares;
  SharedSpan<T, APART> span{room + warp * (words + 1), 0, words, static_cast<int>(cols)};
  Arrival& arrival = arrivals[warp];
  if (lane == 0) arrival.begin();
  unsigned copies = 0, turn = 0;
  const auto bring = [&](const T* x_row, int s) {
    span.first = ((s * shares + share) * WARPS + warp) * words;
    span.fetch(x_row, arrival);
    arrival.wait(copies++);
  };

  for (Index row = blockIdx.x / shares; row < rows; row += step, ++turn) {
    const T* const x_row = x + row * x_stride;
    T* const out_row = out + row * out_stride;
    Part part = Part::none();
    for (int s = 0; s < spans; ++s) {
      bring(x_row, s);
      part = joined(part, span.part());
    }
    part = joined_over_block<WARPS>(part, of_warps[turn % 2]);
    Part* const parts = meeting->parts[turn % 2];
    if (threadIdx.x == 0) {
      parts[blockIdx.x] = part;
      add_release(meeting->arrived + begin);
      while (load_acquire(meeting->arrived + begin) < (turn + 1) * shares) {
      }
    }
    __syncthreads();
    part = Part::none();
    for (int other = lane; other < shares; other += kWarp) {
      const float2 theirs = __ldcg(reinterpret_cast<const float2*>(parts + begin + other));
      part = joined(part, Part{theirs.x, theirs.y});
    }
    part = joined_over_lanes(part);
    const Op finish(part.sum);
    span.store(out_row, part.max, finish);
    for (int s = spans - 2; s >= 0; --s) {
      bring(x_row, s);
      span.store(out_row, part.max, finish);
    }
  }
  // The last to leave makes all as it was before.
  if (threadIdx.x == 0 && atomicAdd(meeting->left + begin, 1u) == shares - 1u) {
    meeting->arrived[begin] = 0;
    meeting->left[begin] = 0;
  }
}
