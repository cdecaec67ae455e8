// A row of logits becomes one value, or a few. A row is only read, so no block waits for another:
// of the blocks that share a row, the last to end merges their states and writes the row's values.
#include "grid_workspace.cuh"
#include "logit_arguments.cuh"
#include "logit_state.cuh"
#include "vec_tile.cuh"

constexpr int kMaxSegments = 2 * kWarp;  // segments of a row; each lane of a warp merges two

// Sums of a row's state beside the exps.
template <typename Op>
constexpr Moment kMoment = Moment::kNone;
template <>
constexpr Moment kMoment<TokenLogProbEntropy> = Moment::kEntropy;
template <>
constexpr Moment kMoment<SmoothedCrossEntropy> = Moment::kMean;

// first: (rows, index_count) log-probabilities, or (rows,) log-sum-exps or losses. second: (rows,)
// entropies. maxima, log_sums: (rows,), of log(sum of exp((x - max) / temperature)), or null; the
// entropies stand once more behind log_sums.
template <typename T>
struct Arguments : RowArguments {
  float* first;
  const T* x;
  Index x_stride, rows, cols;
  float* second;
  float* maxima;
  float* log_sums;
  GridWorkspace* workspace;
  // A row has `segments`, in each of which every warp of a block has `warp_tiles` tiles. The first
  // `whole_rows` rows have a block each; `split_blocks` share each of the others, so that all
  // multiprocessors end at the same time.
  Index warp_tiles, segments, whole_rows, split_blocks;
};

__device__ inline float not_a_number() { return __int_as_float(0x7fffffff); }

// Write the values of a row that is not used.
template <typename Op, typename T>
__device__ void write_zeros(const Arguments<T>& to, Index row) {
  for (Index k = 0; k < to.index_count; ++k) to.first[row * to.index_count + k] = 0.0f;
  if (to.second != nullptr) {
    to.second[row] = 0.0f;
    if (to.log_sums != nullptr) to.log_sums[to.rows + row] = 0.0f;
  }
  if (to.maxima != nullptr) to.maxima[row] = to.log_sums[row] = 0.0f;
}

// Write a row's values from its state. `target`: the element in the first of the row's columns.
template <typename Op, typename T, typename State>
__device__ void write_values(const Arguments<T>& to, Index row, State state, float inverse,
                             T target) {
  const T* const x_row = to.x + row * to.x_stride;
  float lost;
  const float log_high = log1p_of(state.rest, lost), log_sum = log_high + lost;
  if (to.maxima != nullptr) to.maxima[row] = state.max, to.log_sums[row] = log_sum;
  float logsumexp = fmaf(state.max, inverse, log_sum);
  if constexpr (kMoment<Op> == Moment::kEntropy) {
    float entropy = log_sum - state.moment * inverse / (1.0f + state.rest);
    if (entropy < 0.0f) entropy = 0.0f;
    if (state.max == lowest()) entropy = not_a_number();  // a row of -inf alone has none
    to.second[row] = entropy;
    if (to.log_sums != nullptr) to.log_sums[to.rows + row] = entropy;
  }
  if constexpr (!Op::kHasIndex) {
    if (state.max == -lowest()) {  // the sum is NaN, even if no element is
      logsumexp = state.max;
      for (Index i = 0; i < to.cols; ++i)
        if (const float x = to_float(x_row[i]); x != x) logsumexp = x;
    }
    to.first[row] = logsumexp;
    return;
  }
  // An element whose share is nearly 1 is the maximum, and log_sum is all that is left.
  const auto log_prob = [&](Index column, T x) {
    if (!to.has_column(column, to.cols)) return not_a_number();
    return (to_float(x) - state.max) * inverse - log_high - lost;
  };
  if constexpr (Op::kIsLoss) {
    float loss = -log_prob(to.index[row], target);
    if constexpr (kMoment<Op> == Moment::kMean) {
      const float mean = state.moment / static_cast<float>(to.cols) * inverse;
      loss = (1.0f - to.smoothing.value) * loss + to.smoothing.value * (log_sum - mean);
    }
    to.first[row] = fmaf(to.z_loss.value * logsumexp, logsumexp, loss);
  } else {
    for (Index k = 0; k < to.index_count; ++k) {
      const Index column = to.index[row * to.index_count + k];
      if (k > 0 && to.has_column(column, to.cols)) target = x_row[column];
      to.first[row * to.index_count + k] = log_prob(column, target);
    }
  }
}

// Return the element in the first of a row's columns, or zero if there is none.
template <typename Op, typename T>
__device__ T first_target(const Arguments<T>& from, Index row) {
  if constexpr (Op::kHasIndex) {
    const Index column = from.index[row * from.index_count];
    if (from.has_column(column, from.cols)) return from.x[row * from.x_stride + column];
  }
  return T{};
}

// Return the column of a row's maximum if it has most of the sum and an index says where it is;
// else -1. Then log(softmax) of this element is all that the other elements' sum says. A whole warp
// must call it; `state` is that of the row.
template <typename Op, typename T, typename State>
__device__ int column_of_most(const Arguments<T>& arguments, Index row, State state) {
  if constexpr (!Op::kHasIndex) return -1;
  if (!(state.rest < 1.0f)) return -1;
  int found = -1;
  for (Index k = threadIdx.x % kWarp; k < arguments.index_count; k += kWarp) {
    const Index column = arguments.index[row * arguments.index_count + k];
    if (arguments.has_column(column, arguments.cols) &&
        to_float(arguments.x[row * arguments.x_stride + column]) == state.max)
      found = static_cast<int>(column);
  }
  const unsigned lanes = __ballot_sync(kWholeWarp, found >= 0);
  return lanes == 0 ? -1 : __shfl_sync(kWholeWarp, found, __ffs(lanes) - 1);
}

// Correct the state of such a row: the lane that met the maximum added small exps to a large one.
template <typename Op, typename Tile, int K, typename T, typename Sums, typename State>
__device__ void refine(State& state, const Sums& sums, const Arguments<T>& arguments, Index row) {
  const int column = column_of_most<Op>(arguments, row, state);
  if (column < 0) return;
  const int vec = column / kVecElems<T>;
  Tile tile(vec / (K * kWarp) * (K * kWarp), arguments.cols, lowest());
  tile.load(arguments.x + row * arguments.x_stride);
  const int elements = tile.elems_left();
  const float inexact = sums.template of_lane<T, K, Tile::kRoundElems>(tile.vec, elements).rest;
  const float exact = sums.template of_lane<T, K, Tile::kRoundElems, true>(tile.vec, elements).rest;
  state.rest += __shfl_sync(kWholeWarp, exact - inexact, vec % kWarp);
}

// Rows that a warp holds in K vectors a lane, ROWS of them one after another. All loads are on
// their way at once, and as many lanes write the rows' values.
template <typename T, typename Op, int K, int ROWS, int WARPS, bool UNALIGNED>
__global__ void __launch_bounds__(WARPS* kWarp) logits_short(const Arguments<T> arguments) {
  using Sums = LogitSums<kMoment<Op>>;
  using Tile = VecTile<T, K, UNALIGNED, 1, (sizeof(T) < sizeof(float))>;
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
  const T target = mine ? first_target<Op>(arguments, row) : T{};
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

constexpr int kThreadsPerSm = 1024;  // threads of 64 registers

// K, UNALIGNED: as in VecTile. WARPS: of a block. They decide, with warp_tiles and segments, the
// order of sums, and follow from cols alone.
template <typename T, typename Op, int K, int WARPS, bool UNALIGNED>
__global__ void __launch_bounds__(WARPS* kWarp, kThreadsPerSm / (WARPS * kWarp))
    logits_forward(const Arguments<T> arguments) {
  using Sums = LogitSums<kMoment<Op>>;
  using State = typename Sums::State;
  using Tile = VecTile<T, K, UNALIGNED, 1, (sizeof(T) < sizeof(float))>;
  constexpr int kTileVecs = K * kWarp;
  __shared__ State warp_states[kMaxSegments][WARPS];
  const int lane = threadIdx.x % kWarp;
  const int warp = __shfl_sync(kWholeWarp, static_cast<int>(threadIdx.x) / kWarp, 0);
  const int split_block = static_cast<int>(blockIdx.x - arguments.whole_rows);
  const bool is_split = split_block >= 0;
  const int row_blocks = is_split ? static_cast<int>(arguments.split_blocks) : 1;
  const int split_row = is_split ? split_block / row_blocks : 0;
  const int row_block = is_split ? split_block % row_blocks : 0;
  const Index row = is_split ? arguments.whole_rows + split_row : blockIdx.x;
  const int segments = static_cast<int>(arguments.segments);
  const int warp_tiles = static_cast<int>(arguments.warp_tiles);
  const int begin = segments * row_block / row_blocks;
  const int end = segments * (row_block + 1) / row_blocks;
  const T* const x_row = arguments.x + row * arguments.x_stride;
  const int cols = static_cast<int>(arguments.cols);
  const auto first_vec = [&](int tile) { return (tile * WARPS + warp) * kTileVecs; };
  const auto exists = [&](int tile) { return first_vec(tile) * kVecElems<T> < cols; };

  Tile tile(first_vec(begin * warp_tiles), cols, lowest());
  if (exists(begin * warp_tiles)) tile.begin_load(x_row);
  // Loads for the row's values are on their way meanwhile.
  if (arguments.template skips<Op>(row)) {
    if (threadIdx.x == 0 && row_block == 0) write_zeros<Op>(arguments, row);
    return;
  }
  const T target = threadIdx.x == 0 ? first_target<Op>(arguments, row) : T{};
  const Sums sums(arguments.inverse_of(row));

  State state = State::identity();
#pragma unroll 1
  for (int i = begin * warp_tiles; i < end * warp_tiles; ++i) {
    if (exists(i)) {
      tile.end_load(x_row);
      const State of_tile =
          sums.template of_lane<T, K, Tile::kRoundElems>(tile.vec, tile.elems_left());
      state = i % warp_tiles == 0 ? of_tile : sums.merge(state, of_tile);
    }
    if ((i + 1) % warp_tiles == 0) {
      state = sums.merge_lanes(state);
      if (lane == 0) warp_states[i / warp_tiles][warp] = state;
      state = State::identity();
    }
    if (i + 1 < end * warp_tiles && exists(i + 1)) {
      tile = Tile(first_vec(i + 1), cols, lowest());
      tile.begin_load(x_row);
    }
  }
  __syncthreads();
  if (warp != 0) return;

  // Adjacent lanes merge a segment's states; then each lane has whole segments, two at most.
  State of_segment[2] = {State::identity(), State::identity()};
#pragma unroll 1
  for (int first_segment = begin; first_segment < end; first_segment += kWarp / WARPS) {
    const int segment = first_segment + lane / WARPS;
    State merged = segment < end ? warp_states[segment][lane % WARPS] : State::identity();
    merged = sums.template merge_lanes<WARPS>(merged);
    const Words<State> words(merged);
#pragma unroll
    for (int part = 0; part < 2; ++part) {
      const int mine = part * kWarp + lane - first_segment;
      const State theirs = words.of_lane(mine * WARPS % kWarp);
      if (0 <= mine && mine < kWarp / WARPS && mine + first_segment < end)
        of_segment[part] = theirs;
    }
  }
  if (row_blocks > 1) {
    State* const row_states =
        reinterpret_cast<State*>(arguments.workspace->row_states) + split_row * segments;
#pragma unroll
    for (int part = 0; part < 2; ++part) {
      const int segment = part * kWarp + lane;
      if (begin <= segment && segment < end) row_states[segment] = of_segment[part];
    }
    if (!is_last_to_arrive(arguments.workspace->arrived + split_row, row_blocks)) return;
#pragma unroll
    for (int part = 0; part < 2; ++part) {
      const int segment = part * kWarp + lane;
      if (segment < segments) of_segment[part] = load_from_l2(row_states + segment);
    }
  }
  state = sums.merge_lanes(sums.merge(of_segment[0], of_segment[1]));
  refine<Op, Tile, K>(state, sums, arguments, row);
  if (lane == 0) write_values<Op>(arguments, row, state, arguments.inverse_of(row), target);
}
