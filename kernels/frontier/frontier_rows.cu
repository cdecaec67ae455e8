// A row in the registers of one warp, of a block, or of a cluster of blocks: memory is touched
// once.
#include "cluster.cuh"

// Blocks of a multiprocessor that the compiler leaves registers for, found by trying: more hide the
// exchange of a cluster, if nothing is spilled for their sake. 0: as it likes.
template <int BYTES, int K, int THREADS, int CLUSTER, bool APART, bool KEEP>
constexpr int kLeastBlocks = !APART || K <= 4           ? (CLUSTER > 1 && K <= 4 ? 1 : 0)
                             : CLUSTER > 1 && BYTES < 4 ? 65536 / ((KEEP ? 80 : 72) * THREADS)
                                                        : 1;

// K: words of a lane. KEEP: their powers are kept, too. APART: rows begin anywhere. WARPS: of a
// block, for one row; 1 with ROWS rows a block, a warp each. CLUSTER: blocks that share a row.
// Which elements meet in which sum depends on these and on nothing else.
template <typename T, typename Op, int K, int WARPS, int CLUSTER, int ROWS, bool APART, bool KEEP>
__global__ void __launch_bounds__(
    kWarp * WARPS * ROWS, kLeastBlocks<sizeof(T), K, kWarp * WARPS * ROWS, CLUSTER, APART, KEEP>)
    frontier_rows(T* __restrict__ out, const T* __restrict__ x, Index out_stride, Index x_stride,
                  Index rows, Index cols) {
  static_assert(ROWS == 1 || (WARPS == 1 && CLUSTER == 1), "rows do not share barriers");
  // what all lanes have from lane 0 is, to the compiler, the same in all
  const int warp = __shfl_sync(kWholeWarp, static_cast<int>(threadIdx.x) / kWarp, 0);
  Index row = blockIdx.x;
  int share = warp;
  if constexpr (ROWS > 1) {
    row = row * ROWS + warp, share = 0;
    if (row >= rows) return;
  }
  using Parts = Inbox<WARPS * CLUSTER>;
  __shared__ Parts inbox;
  enter_row<WARPS, CLUSTER>(inbox, row, share);
  Span<T, K, APART, KEEP && Op::kPowers> span(x + row * x_stride, share * (K * kWarp), cols);
  const Part part = joined_over_row<WARPS, CLUSTER>(span.part(), inbox);
  span.store(out + row * out_stride, part.max, Op(part.sum));
}
