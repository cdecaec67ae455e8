// Few long rows, in tiles that a block takes as a whole. As many blocks share a row as there are
// rows to be shared; how its sum is put together does not depend on that.
#include "belt.cuh"
#include "cluster.cuh"
#include "meeting.cuh"

constexpr int kMostSlots = 32;   // of a block
constexpr int kMostLeaves = 16;  // of a block

// Until all threads of these warps are there; the one that brings the tiles goes its own way.
template <int WARPS>
__device__ inline void meet_warps() {
  asm volatile("bar.sync 1, %0;" ::"n"(WARPS * kWarp) : "memory");
}

// WARPS: of a block, and one more, which brings the tiles. RESIDENT: blocks of a multiprocessor.
// ALIGNED: as in Kept. A row is `leaves` leaves of `of_leaf` tiles, each of `words` words; a block
// has `of_block` leaves of it, which its `slots` hold. A block of a single leaf may have fewer
// slots: then all but `passing` are for the leaf's first tiles, and the others pass through these.
// All blocks of the launch, a multiple of those that a row has, must be resident at once.
template <typename T, typename Op, int WARPS, int RESIDENT, bool ALIGNED>
__global__ void __launch_bounds__(kWarp*(WARPS + 1), RESIDENT)
    frontier_tiles(T* __restrict__ out, const T* __restrict__ x, Index out_stride, Index x_stride,
                   Index rows, Index cols, Meeting* meeting, int leaves, int of_leaf, int words,
                   int of_block, int slots, int passing_slots) {
  extern __shared__ __align__(128) uint4 room[];
  __shared__ Slot of_slots[kMostSlots];
  __shared__ Part of_warps[2][kMostLeaves][WARPS];
  __shared__ Part of_row[2];
  const int warp = __shfl_sync(kWholeWarp, static_cast<int>(threadIdx.x) / kWarp, 0);
  const int lane = threadIdx.x % kWarp;
  const int blocks_of_row = (leaves + of_block - 1) / of_block;
  const int group = blockIdx.x / blocks_of_row, groups = gridDim.x / blocks_of_row;
  const int first_leaf = blockIdx.x % blocks_of_row * of_block;
  const int own_leaves = min(of_block, leaves - first_leaf), tiles = own_leaves * of_leaf;
  const int first = first_leaf * of_leaf;
  const int to_keep = tiles <= slots ? tiles : slots - passing_slots;
  const int for_kept = tiles <= slots ? slots : to_keep;
  Belt<T, ALIGNED, WARPS> kept({first, to_keep, words, for_kept}, room, of_slots, cols);
  Belt<T, ALIGNED, WARPS> passing({first + to_keep, tiles - to_keep, words, slots - for_kept},
                                  room + for_kept * pitch(words, ALIGNED), of_slots + for_kept,
                                  cols);
  if (warp == WARPS && lane == 0) {
    kept.begin(), passing.begin();
    show_barriers();
  }
  __syncthreads();
  if (warp == WARPS) {
    if (lane > 0) return;
    for (Index row = group; row < rows; row += groups) {
      kept.bring(x + row * x_stride), passing.bring(x + row * x_stride);
    }
    return;
  }
  const Table table(meeting, group * leaves, leaves);
  // While parts are on their way to the other blocks, the next row's are found, if they fit beside.
  const unsigned at_once = 2 * tiles <= slots ? 2 : 1;
  unsigned known = 0, turn = 0;  // rows whose parts have been left, that have been written
  Index next = group;
  for (Index row = group; row < rows; row += groups, ++turn) {
    for (; known < turn + at_once && next < rows; ++known, next += groups) {
      const T* const x_row = x + next * x_stride;
      for (int leaf = 0; leaf < own_leaves; ++leaf) {
        const int end = min((leaf + 1) * of_leaf, to_keep);
        Part found = kept.part(x_row, leaf * of_leaf, end, Part::none());
        found = passing.part(x_row, 0, tiles - to_keep, found);  // of the only leaf, or of none
        found = joined_over_lanes(found);
        if (lane == 0) of_warps[known % 2][leaf][warp] = found;
      }
      meet_warps<WARPS>();
      for (int leaf = warp; leaf < own_leaves; leaf += WARPS) {
        const Part found = joined_of(of_warps[known % 2][leaf]);
        if (lane == 0) table.leave(found, first_leaf + leaf, known);
      }
    }
    if (warp == 0) {
      const Part found = table.joined_with_others(turn);
      if (lane == 0) of_row[turn % 2] = found;
    }
    meet_warps<WARPS>();
    const Part part = of_row[turn % 2];
    T* const out_row = out + row * out_stride;
    passing.write(x + row * x_stride, out_row, part.max, Op(part.sum));  // it has been seen last
    kept.write(x + row * x_stride, out_row, part.max, Op(part.sum));
  }
  if (threadIdx.x == 0) table.end(static_cast<unsigned>((rows + groups - 1) / groups));
}
