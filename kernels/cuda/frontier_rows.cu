// A row in the registers of one warp, of a block, or of a cluster of blocks: memory is touched
// once.
#include "cluster.cuh"

// K: words of a lane. APART: rows begin anywhere. WARPS: of a block, for one row; 1 with ROWS rows
// a block, a warp each. CLUSTER: blocks that share a row. Which elements meet in which sum depends
// on these and on nothing else.
template <typename T, typename Op, int K, int WARPS, int CLUSTER, int ROWS, bool APART>
__global__ void __launch_bounds__(kWarp * WARPS * ROWS)
    frontier_rows(T* __restrict__ out, const T* __restrict__ x, Index out_stride, Index x_stride,
                  Index rows, Index cols) {
  static_assert(ROWS == 1 || (WARPS == 1 && CLUSTER == 1), "rows do not share barriers");
  const int warp = threadIdx.x / kWarp;
  Index row = blockIdx.x;
  int share = warp;
  if constexpr (ROWS > 1) {
    row = row * ROWS + warp, share = 0;
    if (row >= rows) return;
  }
  if constexpr (CLUSTER > 1) {
    cluster_arrive();  // waited for when it has long been over
    row /= CLUSTER, share += static_cast<int>(cluster_rank()) * WARPS;
  }
  Span<T, K, APART> span(x + row * x_stride, share * (K * kWarp), cols);
  __shared__ Part of_warps[WARPS];
  Part part = joined_over_block<WARPS>(span.part(), of_warps);
  if constexpr (CLUSTER > 1) {
    __shared__ Part of_blocks[CLUSTER];
    part = joined_over_cluster<CLUSTER>(part, of_blocks);
  }
  span.store(out + row * out_stride, part.max, Op(part.sum));
}
