// A row in the registers of a warp, a block, or a cluster of blocks, so each element is read once.
#include "cluster.cuh"
#include "row_tile.cuh"

// Resident blocks for which the compiler limits registers, found by measuring. More blocks hide the
// exchange inside a cluster, as long as nothing spills. 0: the compiler decides.
template <int BYTES, int K, int THREADS, int CLUSTER, bool UNALIGNED, bool KEEP_EXP>
constexpr int kMinBlocks = !UNALIGNED || K <= 4       ? (CLUSTER > 1 && K <= 4 ? 1 : 0)
                           : CLUSTER > 1 && BYTES < 4 ? 65536 / ((KEEP_EXP ? 80 : 72) * THREADS)
                                                      : 1;

// K, UNALIGNED, KEEP_EXP: as in RowTile. WARPS: warps of a block that share a row; 1 where a block
// has ROWS rows, a warp each. CLUSTER: blocks that share a row. The order of every sum depends on
// these parameters alone.
template <typename T, typename Op, int K, int WARPS, int CLUSTER, int ROWS, bool UNALIGNED,
          bool KEEP_EXP>
__global__ void __launch_bounds__(
    kWarp * WARPS * ROWS,
    kMinBlocks<sizeof(T), K, kWarp * WARPS * ROWS, CLUSTER, UNALIGNED, KEEP_EXP>)
    frontier_rows(T* __restrict__ out, const T* __restrict__ x, Index out_stride, Index x_stride,
                  Index rows, Index cols) {
  static_assert(ROWS == 1 || (WARPS == 1 && CLUSTER == 1), "rows do not share barriers");
  // broadcast from lane 0, so the compiler knows that the value is uniform over the warp
  const int warp = __shfl_sync(kWholeWarp, static_cast<int>(threadIdx.x) / kWarp, 0);
  Index row = blockIdx.x;
  int number = warp;  // of the tile
  if constexpr (ROWS > 1) {
    row = row * ROWS + warp, number = 0;
    if (row >= rows) return;
  }
  using Buffer = ClusterReduceBuffer<WARPS * CLUSTER>;
  __shared__ Buffer buffer;
  enter_row<WARPS, CLUSTER>(buffer, row, number);
  RowTile<T, K, UNALIGNED, KEEP_EXP && Op::kScalesExp> tile(x + row * x_stride,
                                                            number * (K * kWarp), cols);
  const SoftmaxState state = merge_row<WARPS, CLUSTER>(tile.state(), buffer);
  tile.store(out + row * out_stride, state.max, Op(state.sum));
}
