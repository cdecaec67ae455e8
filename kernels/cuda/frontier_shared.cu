// A row in the shared memory of a block, or of a cluster of blocks: the copy engine brings it, so
// that its length costs no registers.
#include "cluster.cuh"
#include "shared_rows.cuh"

// WARPS: of a block. CLUSTER: blocks that share a row. APART: rows begin anywhere. Dynamic shared
// memory: for each warp, its words and one more.
template <typename T, typename Op, int WARPS, int CLUSTER, bool APART>
__global__ void __launch_bounds__(kWarp* WARPS)
    frontier_shared(T* __restrict__ out, const T* __restrict__ x, Index out_stride, Index x_stride,
                    Index rows, Index cols) {
  extern __shared__ uint4 room[];
  __shared__ Arrival arrivals[WARPS];
  __shared__ Part of_warps[WARPS];
  const int warp = threadIdx.x / kWarp, width = static_cast<int>(cols);
  Index row = blockIdx.x;
  int share = warp;
  if constexpr (CLUSTER > 1) {
    cluster_arrive();  // waited for when it has long been over
    row /= CLUSTER, share += static_cast<int>(cluster_rank()) * WARPS;
  }
  const int all = (width + kWide<T> - 1) / kWide<T>, shares = WARPS * CLUSTER;
  // in whole rounds of a warp, so that words of a lane do not depend on where a share ends
  const int words = ((all + shares - 1) / shares + kWarp - 1) / kWarp * kWarp;
  SharedSpan<T, APART> span{room + warp * (words + 1), share * words, words, width};
  if (threadIdx.x % kWarp == 0) arrivals[warp].begin();
  __syncwarp();
  span.fetch(x + row * x_stride, arrivals[warp]);
  arrivals[warp].wait(0);
  Part part = joined_over_block<WARPS>(span.part(), of_warps);
  if constexpr (CLUSTER > 1) {
    __shared__ Part of_blocks[CLUSTER];
    part = joined_over_cluster<CLUSTER>(part, of_blocks);
  }
  span.store(out + row * out_stride, part.max, Op(part.sum));
}
