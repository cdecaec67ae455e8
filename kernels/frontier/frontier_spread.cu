// Long rows: a row is held in the registers of many thread blocks, which exchange their states
// through global memory (GridReducer). Groups of `row_blocks` blocks stride over the rows.
#include "cluster.cuh"
#include "epilogue.cuh"
#include "grid_workspace.cuh"
#include "row_tile.cuh"

// Prefetch `bytes` bytes at `from` into L2; both are multiples of 16. PTX ISA,
// "cp.async.bulk.prefetch".
__device__ inline void prefetch(const void* from, int bytes) {
  asm volatile("cp.async.bulk.prefetch.L2.global [%0], %1;" ::"l"(from), "r"(bytes) : "memory");
}

// Return how many warps, and how many blocks, are resident on a multiprocessor at this number of
// registers per thread. Each of its four sub-partitions has a quarter of the registers.
constexpr int resident_warps(int registers) { return 16 * 1024 / (registers * kWarp) * 4; }
constexpr int resident_blocks(int registers, int warps) {
  return resident_warps(registers) / warps;
}
// Return the size of the largest block of which as many are resident, for __launch_bounds__, so
// that blocks of fewer warps compile alike. Bounded by its own size, a block of 7 warps would be
// given 72 registers and spill more than with 64.
constexpr int max_threads(int registers, int warps) {
  return kWarp * (resident_warps(registers) / resident_blocks(registers, warps));
}

// A row has `row_blocks` blocks of WARPS warps. All blocks of the launch, a multiple of
// `row_blocks`, must be resident at once, because they wait for each other. PARTS: tiles per block,
// held in registers; half as many blocks with two tiles give the same bits as blocks with one.
// STREAMED: the row exceeds the registers of its blocks, so it is cut into `tiles` tiles, each
// shared by all blocks of the row. The last tile stays in registers and the `saved_tiles` before it
// in shared memory. The others are read again, from the end of the row, which L2 still holds.
// K, UNALIGNED, BYPASS: see RowTile. REGISTERS: limit per thread. In: the element type of x.
template <typename T, typename Epilogue, int K, int PARTS, int WARPS, int REGISTERS, bool UNALIGNED,
          bool STREAMED, int BYPASS, typename In = T>
__global__ void __launch_bounds__(max_threads(REGISTERS, WARPS), resident_blocks(REGISTERS, WARPS))
    frontier_spread(T* __restrict__ out, const In* __restrict__ x, Index out_stride, Index x_stride,
                    Index rows, Index cols, GridWorkspace* workspace, int row_blocks, int tiles,
                    int saved_tiles) {
  static_assert(PARTS == 1 || !STREAMED, "only the last tile of a row stays in registers");
  // Exps are in float32, so in 16 bits they would take twice the registers of the elements.
  constexpr bool kKeepExp = Epilogue::kScalesExp && sizeof(T) == sizeof(float);
  using Sums = typename Epilogue::template SumsOf<T, kKeepExp>;
  using EarlySums = typename Epilogue::template SumsOf<T, false>;
  constexpr int kThreads = kWarp * WARPS;
  constexpr int kBlockVecs = K * kThreads;
  constexpr int kPolled = 2 / PARTS;  // states, of one block or of two, that are merged first
  extern __shared__ __align__(16) uint4 smem[];
  __shared__ SoftmaxState warp_states[PARTS][WARPS];
  __shared__ SoftmaxState polled_states[WARPS];  // one per warp: the states that it polled, merged
  int warp = threadIdx.x / kWarp;
  // The shuffle makes `warp` uniform for the compiler; for aligned rows it would cost registers.
  if constexpr (UNALIGNED) warp = __shfl_sync(kWholeWarp, warp, 0);
  const int row_block = blockIdx.x % row_blocks;
  const int first_row = blockIdx.x / row_blocks, row_step = gridDim.x / row_blocks;
  GridReducer<Sums> reducer(workspace, first_row * row_blocks, row_blocks);
  for (int row = first_row; row < rows; row += row_step) {
    const In* const x_row = x + row * x_stride;
    const auto first_vec = [&](int tile) { return (tile * row_blocks + row_block) * kBlockVecs; };
    // Without opaque() the compiler keeps the offsets for the next row, in a tile's registers.
    const auto tile_vec = [&](int tile) { return opaque(first_vec(tile) + warp * K * kWarp); };
    const auto prefetch_tile = [&](const In* of_row, int tile) {
      const int left = opaque(static_cast<int>(cols)) / kVecElems<T> - first_vec(tile);
      const AlignedRow<const In> aligned(of_row);
      constexpr int kNarrow = sizeof(T) / sizeof(In);  // vectors of T per vector of In
      if (left / kNarrow > 0)
        prefetch(aligned.at(first_vec(tile) / kNarrow),
                 min(kBlockVecs, left) / kNarrow * kVecBytes);
    };
    // Saved tiles: a thread reads back only vectors that it has written, so no barrier is needed.
    const auto slot = [&](int tile) {
      return smem + (tiles - 2 - tile) * kBlockVecs + threadIdx.x;
    };
    SoftmaxState before = SoftmaxState::identity();  // state of the tiles before the last
    // Reduce the tiles before the last, of which the latest stay in shared memory.
    if constexpr (STREAMED) {
#pragma unroll 1
      for (int tile = 0; tile < tiles - 1; ++tile) {
        RowTile<T, K, UNALIGNED, false, BYPASS, In> early(tile_vec(tile), cols);
        early.begin_load(x_row);
        if (threadIdx.x == 0) prefetch_tile(x_row, tile + 1);
        early.end_load(x_row);
        before = Sums::merge({before, early.template state<EarlySums>()});
        if (tile >= tiles - 1 - saved_tiles) early.save(slot(tile), kThreads);
      }
    }
    // Load all tiles that stay in registers before any of them is reduced.
    RowTile<T, K, UNALIGNED, kKeepExp, BYPASS, In> last[PARTS];
#pragma unroll
    for (int part = 0; part < PARTS; ++part) {
      last[part] = {tile_vec(STREAMED ? tiles - 1 : part), cols};
      last[part].begin_load(x_row);
    }
    SoftmaxState state;
#pragma unroll
    for (int part = 0; part < PARTS; ++part) {
      last[part].end_load(x_row);
      state = last[part].template state<Sums>();
      if constexpr (STREAMED) state = Sums::merge({before, state});
      if (threadIdx.x % kWarp == 0) warp_states[part][warp] = state;
    }
    reducer.ready();
    __syncthreads();
    // Warp 0 merges and publishes the block's state, and prefetches the block's next row into L2.
    if (warp == 0) {
      state = merge_all<Sums>(warp_states);
      if (threadIdx.x == 0) {
        reducer.publish(state, row_block);
        if (row == first_row) reducer.start();
        if (row + row_step < rows) {
#pragma unroll
          for (int part = 0; part < PARTS; ++part) prefetch_tile(x_row + row_step * x_stride, part);
        }
      }
    }
    // Each warp polls its share of the states of all the row's blocks; then these are merged.
    state = reducer.template collect<kPolled, WARPS>(warp);
    if (threadIdx.x % kWarp == 0) polled_states[warp] = state;
    __syncthreads();
    state = row_blocks > kPolled * kWarp ? merge_all<Sums>(polled_states) : polled_states[0];
    const typename Epilogue::template Of<T> epilogue(state);
    T* const out_row = out + opaque(row) * out_stride;  // opaque(): computed here, not kept
    // Store the tiles in registers, and then the others, the latest first.
#pragma unroll
    for (int part = 0; part < PARTS; ++part) last[part].store(out_row, epilogue);
    if constexpr (STREAMED) {
#pragma unroll 1
      for (int tile = tiles - 2; tile >= 0; --tile) {
        RowTile<T, K, UNALIGNED, false, BYPASS, In> again(tile_vec(tile), cols);
        if (tile >= tiles - 1 - saved_tiles) {
          again.restore(slot(tile), kThreads);
        } else {
          again.load(x_row);
        }
        again.store(out_row, epilogue);
      }
    }
    if (threadIdx.x == 0) reducer.next();
  }
  if (threadIdx.x == 0) reducer.finish();
}
