// Few long rows: a row in the registers of many blocks, which meet in global memory.
#include "cluster.cuh"
#include "meeting.cuh"

// Have the memory bring the beginning of what a block will read next to L2, while it waits for the
// others: `bytes` from `from`, a multiple of 16 each. PTX ISA, "cp.async.bulk.prefetch".
__device__ inline void prefetch(const void* from, unsigned bytes) {
  asm volatile("cp.async.bulk.prefetch.L2.global [%0], %1;" ::"l"(from), "r"(bytes) : "memory");
}

// The same, but the compiler takes it for a new one: else it would keep what follows from it, for
// the next rows, in as many registers as a row.
__device__ inline int renewed(int value) {
  asm volatile("" : "+r"(value));
  return value;
}

// K, APART: as in Span. WARPS: of a block. RESIDENT: blocks of a multiprocessor. `shares`:
// blocks of a row. All blocks of the launch, a multiple of `shares`, must be resident at once.
// STREAMED: a row is longer than these blocks hold in registers. It has `tiles` tiles, which all
// blocks share. The last tile stays in registers, the `kept` before it in shared memory; the others
// are read a second time, from the end, which L2 still holds.
template <typename T, typename Op, int K, int WARPS, int RESIDENT, bool APART, bool STREAMED>
__global__ void __launch_bounds__(kWarp* WARPS, RESIDENT)
    frontier_spread(T* __restrict__ out, const T* __restrict__ x, Index out_stride, Index x_stride,
                    Index rows, Index cols, Meeting* meeting, int shares, int tiles, int kept) {
  // in 16 bits the powers would take twice the registers of the elements
  constexpr bool kKeep = Op::kPowers && sizeof(T) == sizeof(float);
  constexpr int kThreads = kWarp * WARPS;
  constexpr int kOfBlock = K * kThreads;  // words
  extern __shared__ __align__(16) uint4 room[];
  __shared__ Part of_warps[WARPS];
  __shared__ Part of_row[WARPS];
  const int warp = __shfl_sync(kWholeWarp, static_cast<int>(threadIdx.x) / kWarp, 0);
  const int share = blockIdx.x % shares, group = blockIdx.x / shares, groups = gridDim.x / shares;
  const int first = share * kOfBlock;
  const Table table(meeting, group * shares, shares);
  unsigned turn = 0;
  for (Index row = group; row < rows; row += groups, ++turn) {
    const T* const x_row = x + row * x_stride;
    T* const out_row = out + row * out_stride;
    const auto begin = [&](int tile) {
      return renewed(first + warp * K * kWarp + tile * shares * kOfBlock);
    };
    // Each thread reads back only what it has saved itself: no barrier is needed.
    const auto slot = [&](int tile) { return room + (tiles - 2 - tile) * kOfBlock + threadIdx.x; };
    Part part = Part::none();
    if constexpr (STREAMED) {
#pragma unroll 1
      for (int tile = 0; tile < tiles - 1; ++tile) {
        Span<T, K, APART, false> early(x_row, begin(tile), cols);
        part = joined(part, early.part());
        if (tile >= tiles - 1 - kept) early.save(slot(tile), kThreads);
      }
    }
    Span<T, K, APART, kKeep> span(x_row, begin(STREAMED ? tiles - 1 : 0), cols);
    part = STREAMED ? joined(part, span.part()) : span.part();
    const Part own = joined_over_block(part, of_warps);
    if (threadIdx.x == 0) {
      table.leave(own, share, turn);
      if (row + groups < rows) {
        const T* const next = Aligned<const T>(x_row + groups * x_stride).at(first);
        const int left = (static_cast<int>(cols) - first * kWide<T>) / kWide<T>;
        if (left > 0) prefetch(next, static_cast<unsigned>(min(kOfBlock, left)) * kWordBytes);
      }
    }
    part = joined_over_block(table.of_thread<kWarp * WARPS>(turn), of_row);
    const Op finish(part.sum);
    span.store(out_row, part.max, finish);
    if constexpr (STREAMED) {
#pragma unroll 1
      for (int tile = tiles - 2; tile >= 0; --tile) {
        const uint4* const saved = tile >= tiles - 1 - kept ? slot(tile) : nullptr;
        Span<T, K, APART, false> again(x_row, begin(tile), cols, saved, kThreads);
        again.store(out_row, part.max, finish);
      }
    }
  }
  if (threadIdx.x == 0) table.end(static_cast<unsigned>((rows + groups - 1) / groups));
}
