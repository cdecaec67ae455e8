// A row in the registers of a warp, a block, or a cluster of blocks, so each element is read once.
#include "cluster.cuh"
#include "epilogue.cuh"
#include "row_tile.cuh"

constexpr int kThreadsPerSm = 1536;  // threads of 40 registers

// Return for how many resident blocks the compiler limits registers; 0: the compiler decides. More
// blocks hide the exchange inside a cluster, as long as nothing spills. Found by measuring on
// compute capability 9.0; 10.0 would spill.
template <int BYTES, int K, int THREADS, int CLUSTER, bool UNALIGNED, bool KEEP_EXP>
constexpr int min_blocks_per_sm() {
  if (K <= 4 && CLUSTER > 1) {
    const bool all_resident = BYTES >= 4 && !UNALIGNED && THREADS * CLUSTER < 8192;
    return all_resident && __CUDA_ARCH__ < 1000 ? kThreadsPerSm / THREADS : 1;
  }
  // else it spills
  return K > 4 && (UNALIGNED || (KEEP_EXP && BYTES < 4 && CLUSTER == 16)) ? 1 : 0;
}

// K, UNALIGNED, KEEP_EXP: as in RowTile. WARPS: warps of a block that share a row; 1 where a block
// has ROWS rows, a warp each. CLUSTER: blocks that share a row. The order of every sum depends on
// these parameters alone. In: the type of x.
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
  part.listen();
  tile.end_load(x_row);
  const SoftmaxState state = part.merge(tile.template state<Sums>());
  tile.store(out + part.row * out_stride, typename Epilogue::template Of<T>(state));
}
