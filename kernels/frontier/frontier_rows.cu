// One row per warp, thread block or cluster, held in registers, so each element is read only once.
// RowTile loads and reduces the vectors of a warp; RowPart merges the states of a row's warps.
#include "cluster.cuh"
#include "epilogue.cuh"
#include "row_tile.cuh"

constexpr int kThreadsPerSm = 1536;  // as many as have 40 registers each

// Return the second argument of __launch_bounds__: the resident blocks per multiprocessor for which
// the compiler must limit registers; 0 leaves that to the compiler. Several resident blocks hide
// the exchange within a cluster, as long as no register spills. The values were measured on compute
// capability 9.0; on 10.0 the kernel would spill.
template <int BYTES, int K, int THREADS, int CLUSTER, bool UNALIGNED, bool KEEP_EXP>
constexpr int min_blocks_per_sm() {
  if (K <= 4 && CLUSTER > 1) {
    const bool all_resident = BYTES >= 4 && !UNALIGNED && THREADS * CLUSTER < 8192;
    return all_resident && __CUDA_ARCH__ < 1000 ? kThreadsPerSm / THREADS : 1;
  }
  // without the 1 these spill
  return K > 4 && (UNALIGNED || (KEEP_EXP && BYTES < 4 && CLUSTER == 16)) ? 1 : 0;
}

// Thread layout: with ROWS > 1, each of a block's ROWS warps has its own row. Otherwise a row
// belongs to the WARPS warps of a block, times CLUSTER blocks. Each warp has a tile of K * 32
// adjacent vectors. These parameters alone fix the order of every sum. K, UNALIGNED, KEEP_EXP: see
// RowTile. In: the element type of x, if it differs from that of the output.
template <typename T, typename Epilogue, int K, int WARPS, int CLUSTER, int ROWS, bool UNALIGNED,
          bool KEEP_EXP, typename In = T>
__global__ void __launch_bounds__(
    kWarp * WARPS * ROWS,
    min_blocks_per_sm<sizeof(T), K, kWarp * WARPS * ROWS, CLUSTER, UNALIGNED, KEEP_EXP>())
    frontier_rows(T* __restrict__ out, const In* __restrict__ x, Index out_stride, Index x_stride,
                  Index rows, Index cols) {
  using Sums = typename Epilogue::template SumsOf<T, KEEP_EXP>;
  const RowPart<Sums, WARPS, CLUSTER, ROWS> part;
  if (ROWS > 1 && part.row >= rows) return;
  const In* const x_row = x + part.row * x_stride;
  using Tile = RowTile<T, K, UNALIGNED, KEEP_EXP && Epilogue::kScalesExp, 0, In>;
  Tile tile(part.tile * (K * kWarp), cols);
  tile.begin_load(x_row);
  part.listen();  // arrive at the cluster barrier while the loads are in flight
  tile.end_load(x_row);
  const SoftmaxState state = part.merge(tile.template state<Sums>());
  tile.store(out + part.row * out_stride, typename Epilogue::template Of<T>(state));
}
