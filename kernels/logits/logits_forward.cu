// A row of logits becomes one value, or a few. A row is only read, so no block waits for another:
// of the blocks that share a row, the last to end merges their states and writes the row's values.
#include "grid_workspace.cuh"
#include "logit_tile.cuh"
#include "logit_values.cuh"

template <typename T>
struct Arguments : ValueArguments<T> {
  GridWorkspace* workspace;
  // A row is cut into `segments`; each warp of a segment folds `warp_tiles` tiles. The first
  // `whole_rows` rows have a block each; `split_blocks` share each of the others, with
  // `block_segments` each or fewer, so that all multiprocessors end at the same time.
  Index warp_tiles, segments, whole_rows, split_blocks, block_segments;
};

// Merge the states of a row's segments that several blocks have written; each lane gets the result.
template <typename Sums, typename State>
__device__ State merge_row_states(const Sums& sums, const State* row_states, int segments) {
  constexpr int kParts = kMaxSegments / kWarp;
  State part[kParts];
#pragma unroll
  for (int i = 0; i < kParts; ++i) {
    const int segment = i * kWarp + static_cast<int>(threadIdx.x) % kWarp;
    part[i] = segment < segments ? load_from_l2(row_states + segment) : State::identity();
  }
#pragma unroll
  for (int i = 1; i < kParts; ++i)
    if (i * kWarp < segments) part[0] = sums.merge(part[0], part[i]);
  return sums.merge_lanes(part[0]);
}

// Rows that a warp holds in K vectors a lane, ROWS of them one after another. All loads are on
// their way at once, and as many lanes write the rows' values.
template <typename T, typename Op, int K, int ROWS, int WARPS, bool UNALIGNED>
__global__ void __launch_bounds__(WARPS* kWarp) logits_short(const Arguments<T> arguments) {
  using Sums = LogitSums<kMoment<Op>>;
  using Tile = VecTile<T, K, UNALIGNED, 1, true>;
  const int lane = threadIdx.x % kWarp;
  const Index warp = static_cast<Index>(blockIdx.x) * WARPS + threadIdx.x / kWarp;
  const Index first_row = warp * ROWS, last_row = arguments.rows - 1;
  if (first_row > last_row) return;
  Tile tile[ROWS];
  const auto row_at = [&](int i) { return min(first_row + i, last_row); };
  const auto x_row = [&](int i) { return arguments.x + row_at(i) * arguments.x_stride; };
#pragma unroll
  for (int i = 0; i < ROWS; ++i)
    tile[i] = Tile(0, arguments.cols, lowest()), tile[i].begin_load(x_row(i));
  const Index row = row_at(lane);
  const bool mine = lane < ROWS && first_row + lane <= last_row;
  const Target<T> target = mine ? first_target<Op>(arguments, row) : Target<T>{};
  typename Sums::State state = Sums::State::identity();
#pragma unroll
  for (int i = 0; i < ROWS; ++i) {
    tile[i].end_load(x_row(i));
    const Sums sums(arguments.inverse_of(row_at(i)));
    auto merged = sums.merge_lanes(
        sums.template of_lane<T, K, Tile::kRoundElems>(tile[i].vec, tile[i].elems_left()));
    refine<Op, Tile, K>(merged, sums, arguments, row_at(i));
    if (lane == i) state = merged;
  }
  if (!mine) return;
  if (arguments.template skips<Op>(row)) return write_zeros<Op>(arguments, row);
  write_values<Op>(arguments, row, state, arguments.inverse_of(row), target);
}

// Threads per multiprocessor at 64 registers each; fewer where vectors are shifted and there is a
// second sum, which would spill at 64.
template <typename Op, bool UNALIGNED>
constexpr int kThreadsPerSm = UNALIGNED && kMoment<Op> != Moment::kNone ? 768 : 1024;

// K, UNALIGNED: as in VecTile. WARPS: of a segment. They decide, with warp_tiles and segments, the
// order of sums, and follow from cols alone. TEAMS: segments that a block works on at once; no sum
// depends on it.
template <typename T, typename Op, int K, int WARPS, int TEAMS, bool UNALIGNED>
__global__ void __launch_bounds__(WARPS * TEAMS * kWarp,
                                  kThreadsPerSm<Op, UNALIGNED> / (WARPS * TEAMS * kWarp))
    logits_forward(const Arguments<T> arguments) {
  using Sums = LogitSums<kMoment<Op>>;
  using State = typename Sums::State;
  using Whole = WholeTile<T, K, UNALIGNED>;
  using Tile = typename Whole::Tile;
  constexpr int kTileVecs = K * kWarp;
  __shared__ State warp_states[kMaxSegments][WARPS];
  const int lane = threadIdx.x % kWarp;
  const int warp = __shfl_sync(kWholeWarp, static_cast<int>(threadIdx.x) / kWarp, 0);
  const int team = warp / WARPS, member = warp % WARPS;
  const int segments = static_cast<int>(arguments.segments);
  const int warp_tiles = static_cast<int>(arguments.warp_tiles);
  int split_row = 0, row_blocks = 1, begin = 0, end = segments;
  Index row = blockIdx.x;
  if (const int split = static_cast<int>(blockIdx.x - arguments.whole_rows); split >= 0) {
    row_blocks = static_cast<int>(arguments.split_blocks);
    // exact, as both numbers are small
    split_row = static_cast<int>(__fdividef(split + 0.5f, row_blocks));
    row = arguments.whole_rows + split_row;
    begin = (split - split_row * row_blocks) * static_cast<int>(arguments.block_segments);
    end = min(segments, begin + static_cast<int>(arguments.block_segments));
  }
  const T* const x_row = arguments.x + row * arguments.x_stride;
  const int cols = static_cast<int>(arguments.cols);
  const auto first_vec = [&](int tile) { return (tile * WARPS + member) * kTileVecs; };
  const auto elems_left = [&](int tile) { return cols - first_vec(tile) * kVecElems<T>; };
  const auto exists = [&](int tile) { return elems_left(tile) > 0; };
  const auto is_whole = [&](int tile) { return elems_left(tile) >= Whole::kElems; };
  Tile tile;
  const auto begin_load = [&](int i) {
    if (is_whole(i)) {
      tile.first = first_vec(i), tile.cols = cols;
      Whole::begin_load(tile, x_row);
    } else if (exists(i)) {
      tile = Tile(first_vec(i), cols, lowest());
      tile.begin_load(x_row);
    }
  };
  const auto end_load = [&](int i) {
    is_whole(i) ? Whole::end_load(tile, x_row) : tile.end_load(x_row);
  };

  int i = (begin + team) * warp_tiles;
  if (begin + team < end) begin_load(i);
  // Loads for the row's values are on their way meanwhile.
  if (arguments.template skips<Op>(row)) {
    if (threadIdx.x == 0 && begin == 0) write_zeros<Op>(arguments, row);
    return;
  }
  const Target<T> target = threadIdx.x == 0 ? first_target<Op>(arguments, row) : Target<T>{};
  const Sums sums(arguments.inverse_of(row));

  State state = State::identity();
#pragma unroll 1
  for (int segment = begin + team; segment < end; segment += TEAMS) {
#pragma unroll 1
    for (int left = warp_tiles; left > 0; --left) {
      if (exists(i)) {
        end_load(i);
        const State of_tile =
            sums.template of_lane<T, K, Tile::kRoundElems>(tile.vec, tile.elems_left());
        state = left == warp_tiles ? of_tile : sums.merge(state, of_tile);
      }
      i += left > 1 ? 1 : 1 + (TEAMS - 1) * warp_tiles;
      if (left > 1 || segment + TEAMS < end) begin_load(i);
    }
    state = sums.merge_lanes(state);
    if (lane == 0) warp_states[segment][member] = state;
    state = State::identity();
  }
  __syncthreads();
  if (warp != 0) return;

  if (row_blocks == 1) {
    state = merge_segments<WARPS>(sums, &warp_states[0][0], begin, end);
  } else {
    State* const row_states =
        reinterpret_cast<State*>(arguments.workspace->row_states) + split_row * segments;
#pragma unroll 1
    for (int segment = begin + lane; segment < end; segment += kWarp)
      row_states[segment] = sums.template merge_adjacent<WARPS>(warp_states[segment]);
    if (!is_last_to_arrive(arguments.workspace->arrived + split_row, row_blocks)) return;
    state = merge_row_states(sums, row_states, segments);
  }
  refine<Op, Tile, K>(state, sums, arguments, row);
  if (lane == 0) write_values<Op>(arguments, row, state, arguments.inverse_of(row), target);
}
