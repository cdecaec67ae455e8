// Long rows: a row in the registers of many blocks, which merge their states in global memory.
#include "cluster.cuh"
#include "epilogue.cuh"
#include "grid_workspace.cuh"
#include "row_tile.cuh"

// Prefetch `bytes` from `from`, both multiples of 16, into L2. PTX ISA, "cp.async.bulk.prefetch".
__device__ inline void prefetch(const void* from, int bytes) {
  asm volatile("cp.async.bulk.prefetch.L2.global [%0], %1;" ::"l"(from), "r"(bytes) : "memory");
}

// Return the warps, and the blocks, of threads with so many registers that are resident: each of a
// multiprocessor's four sub-partitions has a quarter of its registers.
constexpr int resident_warps(int registers) { return 16 * 1024 / (registers * kWarp) * 4; }
constexpr int resident_blocks(int registers, int warps) {
  return resident_warps(registers) / warps;
}
// Return the largest block of which as many are resident. Declared for it, all blocks compile
// alike; for those of 7 warps, the compiler would take 72 registers and spill more than from 64.
constexpr int max_threads(int registers, int warps) {
  return kWarp * (resident_warps(registers) / resident_blocks(registers, warps));
}

// K, UNALIGNED, BYPASS: as in RowTile. WARPS: warps of a block. REGISTERS: most of a thread. A row
// has `row_blocks` blocks. All blocks of the launch, a multiple of `row_blocks`, must be resident
// at once. PARTS: tiles in the registers of a block. Half as many blocks with two tiles each give
// the same bits as blocks with one. STREAMED: a row exceeds the registers of its blocks, so it has
// `tiles` tiles, each shared by all blocks of the row. The last tile stays in registers, and
// `saved_tiles` tiles before it stay in shared memory. The others are read again, from the end of
// the row, which L2 still holds. In: the type of x.
template <typename T, typename Epilogue, int K, int PARTS, int WARPS, int REGISTERS, bool UNALIGNED,
          bool STREAMED, int BYPASS, typename In = T>
__global__ void __launch_bounds__(max_threads(REGISTERS, WARPS), resident_blocks(REGISTERS, WARPS))
    frontier_spread(T* __restrict__ out, const In* __restrict__ x, Index out_stride, Index x_stride,
                    Index rows, Index cols, GridWorkspace* workspace, int row_blocks, int tiles,
                    int saved_tiles) {
  static_assert(PARTS == 1 || !STREAMED, "only the last tile of a row stays in registers");
  // in 16 bits, exps take twice the registers of the elements
  constexpr bool kKeepExp = Epilogue::kScalesExp && sizeof(T) == sizeof(float);
  using Sums = typename Epilogue::template SumsOf<T, kKeepExp>;
  using EarlySums = typename Epilogue::template SumsOf<T, false>;
  constexpr int kThreads = kWarp * WARPS;
  constexpr int kBlockVecs = K * kThreads;
  constexpr int kPolled = 2 / PARTS;  // states that merge first, which are of one block or of two
  extern __shared__ __align__(16) uint4 smem[];
  __shared__ SoftmaxState warp_states[PARTS][WARPS];
  __shared__ SoftmaxState polled_states[WARPS];  // merged by the warp that polled them
  int warp = threadIdx.x / kWarp;
  // so that the compiler knows that it is uniform; of aligned rows it would cost registers
  if constexpr (UNALIGNED) warp = __shfl_sync(kWholeWarp, warp, 0);
  const int row_block = blockIdx.x % row_blocks;
  const int first_row = blockIdx.x / row_blocks, row_step = gridDim.x / row_blocks;
  GridReducer<Sums> reducer(workspace, first_row * row_blocks, row_blocks);
  for (int row = first_row; row < rows; row += row_step) {
    const In* const x_row = x + row * x_stride;
    const auto first_vec = [&](int tile) { return (tile * row_blocks + row_block) * kBlockVecs; };
    // opaque: otherwise the compiler keeps offsets for the next row, in a tile's registers
    const auto tile_vec = [&](int tile) { return opaque(first_vec(tile) + warp * K * kWarp); };
    const auto prefetch_tile = [&](const In* of_row, int tile) {
      const int left = opaque(static_cast<int>(cols)) / kVecElems<T> - first_vec(tile);
      const AlignedRow<const In> aligned(of_row);
      constexpr int kNarrow = sizeof(T) / sizeof(In);  // vectors that take the bytes of one
      if (left / kNarrow > 0)
        prefetch(aligned.at(first_vec(tile) / kNarrow),
                 min(kBlockVecs, left) / kNarrow * kVecBytes);
    };
    // Each thread reads back only its own vectors, so no barrier is needed.
    const auto slot = [&](int tile) {
      return smem + (tiles - 2 - tile) * kBlockVecs + threadIdx.x;
    };
    SoftmaxState before = SoftmaxState::identity();  // state of the tiles before the last
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
    state = reducer.template collect<kPolled, WARPS>(warp);
    if (threadIdx.x % kWarp == 0) polled_states[warp] = state;
    __syncthreads();
    state = row_blocks > kPolled * kWarp ? merge_all<Sums>(polled_states) : polled_states[0];
    const typename Epilogue::template Of<T> epilogue(state);
    T* const out_row = out + opaque(row) * out_stride;  // opaque: computed here, not kept
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
