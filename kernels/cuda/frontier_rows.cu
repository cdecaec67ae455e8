// A row in the registers of one warp, of a block, or of a cluster of blocks: memory is touched
// once.
#include "cluster.cuh"

// K: words of a lane. KEEP: their powers are kept, too. APART: rows begin anywhere. WARPS: of a
// block, for one row; 1 with ROWS rows a block, a warp each. CLUSTER: blocks that share a row.
// Which elements meet in which sum depends on these and on nothing else.
// The compiler is told to let at least one block start where it would otherwise spill registers for
// the sake of more.
template <typename T, typename Op, int K, int WARPS, int CLUSTER, int ROWS, bool APART, bool KEEP>
__global__ void __launch_bounds__(kWarp * WARPS * ROWS,
                                  (CLUSTER > 1 && K <= 4) || (APART && K > 4) ? 1 : 0)
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
  using Parts = Inbox<WARPS * CLUSTER>;
  __shared__ Parts inbox;
  if constexpr (CLUSTER > 1) {
    if (threadIdx.x == 0) inbox.begin();
    cluster_arrive();  // waited for when it has long been over
    row /= CLUSTER, share += static_cast<int>(cluster_rank()) * WARPS;
  }
  Span<T, K, APART, KEEP && Op::kPowers> span(x + row * x_stride, share * (K * kWarp), cols);
  Part part = span.part();
  if constexpr (CLUSTER > 1) {
    cluster_wait();
    part = joined_over_cluster<WARPS, CLUSTER>(part, inbox);
  } else {
    part = joined_over_team<WARPS, 1>(part, inbox.parts);
  }
  span.store(out + row * out_stride, part.max, Op(part.sum));
}
