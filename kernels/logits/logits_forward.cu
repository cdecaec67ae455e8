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

// Rows of at most TILES tiles of K vectors a lane. A warp holds ROWS rows and issues all their
// loads first; ROWS lanes write the values. While later tiles arrive, the warp computes with
// earlier ones.
template <typename T, typename Op, int K, int TILES, int ROWS, int WARPS, Access ACCESS>
__global__ void __launch_bounds__(WARPS* kWarp) logits_short(const Arguments<T> arguments) {
  using Sums = LogitSums<kMoment<Op>>;
  using State = typename Sums::State;
  using Tile = LogitTile<T, K, ACCESS>;
  const int lane = threadIdx.x % kWarp, cols = static_cast<int>(arguments.cols);
  const Index warp = static_cast<Index>(blockIdx.x) * WARPS + threadIdx.x / kWarp;
  const Index first_row = warp * ROWS, last_row = arguments.rows - 1;
  if (first_row > last_row) return;
  Tile tile[ROWS][TILES];
  const auto row_at = [&](int i) { return min(first_row + i, last_row); };
  const auto x_row = [&](int i) { return arguments.x + row_at(i) * arguments.x_stride; };
#pragma unroll
  for (int i = 0; i < ROWS; ++i) {
#pragma unroll
    for (int j = 0; j < TILES; ++j) {
      const int first_vec = j * K * kWarp;
      if (j < TILES - 1)
        tile[i][j].begin_load_whole(first_vec, cols, x_row(i));
      else
        tile[i][j] = Tile(first_vec, cols), tile[i][j].begin_load(x_row(i));
    }
  }
  const Index row = row_at(lane);
  const bool mine = lane < ROWS && first_row + lane <= last_row;
  const Target<T> target = mine ? first_target<Op>(arguments, row) : Target<T>{};
  State state = State::identity();
#pragma unroll
  for (int i = 0; i < ROWS; ++i) {
    const Sums sums(arguments.inverse_of(row_at(i)));
    State of_row;
#pragma unroll
    for (int j = 0; j < TILES; ++j) {
      j < TILES - 1 ? tile[i][j].end_load_whole(x_row(i)) : tile[i][j].end_load(x_row(i));
      const State of_tile = sums.template of_lane<T>(tile[i][j]);
      of_row = j == 0 ? of_tile : sums.merge(of_row, of_tile);
    }
    of_row = sums.merge_lanes(of_row);
    refine<Op, Tile>(of_row, sums, arguments, row_at(i));
    if (lane == i) state = of_row;
  }
  if (!mine) return;
  if (arguments.template skips<Op>(row)) return write_zeros<Op>(arguments, row);
  write_values<Op>(arguments, row, state, arguments.inverse_of(row), target);
}

// Threads per multiprocessor at 64 registers each; fewer where vectors are shifted and there is a
// second sum, or elements of 32 bits, which would spill at 64.
template <typename T, typename Op, Access ACCESS>
constexpr int kThreadsPerSm =
    ACCESS == Access::kShifted && (sizeof(T) == 4 || kMoment<Op> != Moment::kNone) ? 768 : 1024;

// K, ACCESS: as in LogitTile. WARPS: of a segment. They decide, with warp_tiles and segments, the
// order of sums, and follow from cols alone. TEAMS: segments that a block works on at once; no sum
// depends on it.
template <typename T, typename Op, int K, int WARPS, int TEAMS, Access ACCESS>
__global__ void __launch_bounds__(WARPS * TEAMS * kWarp,
                                  kThreadsPerSm<T, Op, ACCESS> / (WARPS * TEAMS * kWarp))
    logits_forward(const Arguments<T> arguments) {
  using Sums = LogitSums<kMoment<Op>>;
  using State = typename Sums::State;
  using Tile = LogitTile<T, K, ACCESS>;
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
  const auto is_whole = [&](int tile) { return elems_left(tile) >= Tile::kElems; };
  Tile tile;
  const auto begin_load = [&](int i) {
    if (is_whole(i)) {
      tile.begin_load_whole(first_vec(i), cols, x_row);
    } else if (exists(i)) {
      tile = Tile(first_vec(i), cols);
      tile.begin_load(x_row);
    }
  };
  const auto end_load = [&](int i) {
    is_whole(i) ? tile.end_load_whole(x_row) : tile.end_load(x_row);
  };

  int i = (begin + team) * warp_tiles;
  if (begin + team < end) begin_load(i);
  // The first tile is in flight while these are read.
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
        const State of_tile = sums.template of_lane<T>(tile);
        state = left == warp_tiles ? of_tile : sums.merge(state, of_tile);
      }
      i += left > 1 ? 1 : 1 + (TEAMS - 1) * warp_tiles;
      if (left > 1 || segment + TEAMS < end) begin_load(i);
    }
    state = sums.merge_lanes(state);
    if (lane == 0) warp_states[segment][member] = state;
    state = State::identity();
  }
  const bool one_each = segments <= TEAMS;  // segments of a team
  if (one_each && team >= segments && lane == 0) warp_states[team][member] = state;
  __syncthreads();
  if (warp != 0) return;

  if (row_blocks == 1 && one_each) {
    state = sums.template merge_adjacent<TEAMS * WARPS>(&warp_states[0][0]);
  } else if (row_blocks == 1) {
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
  refine<Op, Tile>(state, sums, arguments, row);
  if (lane == 0) write_values<Op>(arguments, row, state, arguments.inverse_of(row), target);
}
