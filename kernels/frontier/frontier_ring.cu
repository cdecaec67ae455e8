// Rows through rings of slots in shared memory: of a warp, of a block, or of a cluster of blocks,
// which take one row after the other.
#include "cluster.cuh"
#include "ring.cuh"

// WARPS: of a block, for one row; with TEAMS of more than 1 a warp each has a row of its own.
// CLUSTER: blocks that share a row. ALIGNED: as in Ring. `slots`: of a warp, each of `words`
// words. Dynamic shared memory: for each warp and slot, pitch() words.
template <typename T, typename Op, int WARPS, int CLUSTER, int TEAMS, bool ALIGNED>
__global__ void __launch_bounds__(kWarp * WARPS * TEAMS, WARPS == 16 ? 1 : 0)
    frontier_ring(T* __restrict__ out, const T* __restrict__ x, Index out_stride, Index x_stride,
                  Index rows, Index cols, int slots, int words) {
  static_assert(TEAMS == 1 || (WARPS == 1 && CLUSTER == 1), "teams do not share barriers");
  extern __shared__ __align__(128) uint4 room[];
  __shared__ Arrival arrivals[WARPS * TEAMS][kMostSlots];
  using Parts = Inbox<WARPS * CLUSTER>;
  __shared__ Parts inbox[2];
  const int warp = threadIdx.x / kWarp;
  Division div{WARPS, warp, 1, words, slots, blockIdx.x, gridDim.x};
  if constexpr (CLUSTER > 1) {
    if (threadIdx.x == 0) inbox[0].begin(), inbox[1].begin();
    cluster_arrive();  // waited for when it has long been over
    div.shares *= CLUSTER, div.share += static_cast<int>(cluster_rank()) * WARPS;
    div.first_row /= CLUSTER, div.row_step /= CLUSTER;
  }
  if constexpr (TEAMS > 1) {
    div.share = 0;
    div.first_row = div.first_row * TEAMS + warp, div.row_step *= TEAMS;
  }
  Ring<T, ALIGNED> ring(div, out, x, out_stride, x_stride, rows, cols,
                        room + warp * slots * pitch(words, ALIGNED), arrivals[warp]);
  if constexpr (CLUSTER > 1) cluster_wait();
  unsigned turn = 0;
  for (Index row = div.first_row; row < rows; row += div.row_step, ++turn) {
    Parts& all = inbox[turn % 2];
    Part part = ring.part(row);
    if constexpr (CLUSTER > 1) {
      part = joined_over_cluster<WARPS, CLUSTER>(part, all, turn / 2);
      if (threadIdx.x == 0) all.expect();
    } else {
      part = joined_over_block(part, all.parts);
    }
    ring.write(row, part.max, Op(part.sum));
  }
}
