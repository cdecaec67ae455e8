// A row in the registers of a warp, a block, or a cluster of blocks, so each element is read once.
#include "cluster.cuh"
#include "epilogue.cuh"
#include "row_tile.cuh"

constexpr int kRegistersPerSm = 64 * 1024;
constexpr int kThreadsPerSm = 2048;

// Return for how many resident blocks the compiler limits registers; 0: the compiler decides. More
// blocks hide the exchange inside a cluster, as long as nothing spills. Found by measuring on
// compute capability 9.0; 10.0 would spill.
template <int BYTES, int K, int THREADS, int CLUSTER, bool UNALIGNED, bool KEEP_EXP>
constexpr int min_blocks_per_sm() {
  constexpr int kRegistersPerThread = KEEP_EXP ? 80 : 72;
  if (K <= 4 && CLUSTER > 1) {
    const bool all_resident = BYTES >= 4 && !UNALIGNED && THREADS * CLUSTER < 8192;
    return all_resident && __CUDA_ARCH__ < 1000 ? kThreadsPerSm / THREADS : 1;
  }
  if (!UNALIGNED || K <= 4) return 0;
  if (CLUSTER == 1 || BYTES >= 4 || __CUDA_ARCH__ >= 1000) return 1;
  return kRegistersPerSm / (kRegistersPerThread * THREADS);
}

// K, UNALIGNED, KEEP_EXP: as in RowTile. WARPS: warps of a block that share a row; 1 where a block
// has ROWS rows, a warp each. CLUSTER: blocks that share a row. The order of every sum depends on
// these parameters alone.
template <typename T, typename Epilogue, int K, int WARPS, int CLUSTER, int ROWS, bool UNALIGNED,
          bool KEEP_EXP>
__global__ void __launch_bounds__(
    kWarp * WARPS * ROWS,
    min_blocks_per_sm<sizeof(T), K, kWarp * WARPS * ROWS, CLUSTER, UNALIGNED, KEEP_EXP>())
    frontier_rows(T* __restrict__ out, const T* __restrict__ x, Index out_stride, Index x_stride,
                  Index rows, Index cols) {
  static_assert(ROWS == 1 || (WARPS == 1 && CLUSTER == 1), "rows do not share barriers");
  // broadcast from lane 0, so the compiler knows that the value is uniform over the warp
  const int warp = __shfl_sync(kWholeWarp, static_cast<int>(threadIdx.x) / kWarp, 0);
  Index row = blockIdx.x;
  int tile_index = warp;
  if constexpr (ROWS > 1) {
    row = row * ROWS + warp, tile_index = 0;
    if (row >= rows) return;
  }
  using Buffer = ClusterReduceBuffer<WARPS * CLUSTER>;
  __shared__ Buffer buffer;
  enter_row<WARPS, CLUSTER>(buffer, row, tile_index);
  RowTile<T, K, UNALIGNED, KEEP_EXP && Epilogue::kScalesExp> tile(x + row * x_stride,
                                                                  tile_index * (K * kWarp), cols);
  const SoftmaxState state = merge_row<WARPS, CLUSTER>(tile.state(), buffer);
  tile.store(out + row * out_stride, state.max, Epilogue(state.sum));
}
