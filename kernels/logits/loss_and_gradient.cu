// Each row's loss, and its gradient with respect to the logits, of a row that stays in the
// registers of a warp, a block or a cluster of blocks: each logit is read once.
#include "cluster.cuh"
#include "logit_gradient.cuh"
#include "logit_tile.cuh"
#include "logit_values.cuh"

// dx: (rows, cols), which may be x. g_scale: a factor of all gradients, or null.
template <typename T>
struct Arguments : ValueArguments<T> {
  T* dx;
  Index dx_stride;
  const float* g_scale;
  Index segments;
};

// Threads per multiprocessor. A thread keeps its VECS vectors in registers. Shifted vectors and the
// sums of a mean need more of them.
template <typename Op, int VECS, Access ACCESS>
constexpr int kThreadsPerSm = VECS > 8                                                     ? 512
                              : ACCESS == Access::kShifted || kMoment<Op> == Moment::kMean ? 768
                                                                                           : 1024;

// K, ACCESS: as in LogitTile. A warp has TILES tiles of a segment, and SEGMENT_WARPS warps share
// the segment; 0: a warp has the row. So the states are those of logits_forward.cu, and merge in
// its order. WARPS, CLUSTER, ROWS: as in RowPart.
template <typename T, typename Op, int K, int TILES, int SEGMENT_WARPS, int WARPS, int CLUSTER,
          int ROWS, Access ACCESS>
__global__ void __launch_bounds__(kWarp * WARPS * ROWS,
                                  kThreadsPerSm<Op, K * TILES, ACCESS> / (kWarp * WARPS * ROWS))
    loss_and_gradient(const Arguments<T> arguments) {
  using Sums = LogitSums<kMoment<Op>>;
  using State = typename Sums::State;
  using Tile = LogitTile<T, K, ACCESS>;
  constexpr int kTileVecs = K * kWarp, kApart = SEGMENT_WARPS == 0 ? 1 : SEGMENT_WARPS;
  const RowPart<Sums, WARPS, CLUSTER, ROWS> part;
  const Index row = part.row;
  if (ROWS > 1 && row >= arguments.rows) return;
  const int cols = static_cast<int>(arguments.cols);
  const int first_tile = part.tile / kApart * (kApart * TILES) + part.tile % kApart;
  const T* const x_row = arguments.x + row * arguments.x_stride;
  T* const dx_row = arguments.dx + row * arguments.dx_stride;
  Tile tile[TILES];
#pragma unroll
  for (int i = 0; i < TILES; ++i) {
    tile[i] = Tile((first_tile + i * kApart) * kTileVecs, cols);
    tile[i].begin_load(x_row);
  }
  const Index column = arguments.index[row];
  if (arguments.template skips<Op>(row)) {  // all warps of the row do
    if (part.tile == 0 && threadIdx.x % kWarp == 0) write_zeros<Op>(arguments, row);
    // Not Tile::store(): with zeros it was wrong where a row begins inside a vector. Of constant
    // zeros, ptxas 13.0 kept a word of 16-bit ones in a register that it had not set. Of zeros that
    // only the run time knew, float32 rows of 255 columns, then read by vectors, went wrong; why is
    // not known.
    const AlignedRow<T> to(dx_row);
#pragma unroll 1
    for (int vec = part.tile * kWarp + static_cast<int>(threadIdx.x) % kWarp;
         vec * kVecElems<T> < cols + to.elements_off(); vec += kWarp * WARPS * CLUSTER) {
      const Columns<T> columns(to, vec, cols);
      if (columns.fill_vec()) {
        store_vec(reinterpret_cast<uint4*>(to.at(vec)), uint4{});
      } else {
#pragma unroll 1
        for (int i = columns.begin; i < columns.end; ++i) from_float(dx_row[i], 0.0f);
      }
    }
    return;
  }
  part.listen();
  // The warp that has the target writes the row's values: it finds all of the target's digits.
  const bool has_column = arguments.has_column(column, arguments.cols);
  const int target = has_column ? static_cast<int>(column) : 0;
  const int target_tile = target / Tile::kElems;
  // Number of the target's tile among this warp's, if it is one of them.
  const int tile_of_target = (target_tile - first_tile) / kApart;
  const bool has_target = target_tile >= first_tile && tile_of_target < TILES &&
                          target_tile == first_tile + tile_of_target * kApart;
  const T target_logit = has_target ? x_row[target] : T{};
  const float x_target = to_float(target_logit);
  const float g = arguments.g_scale == nullptr ? 1.0f : *arguments.g_scale;

  const Sums sums(1.0f);
  State state = State::identity();
#pragma unroll
  for (int i = 0; i < TILES; ++i) {
    tile[i].end_load(x_row);
    if (tile[i].first * kVecElems<T> >= cols) continue;
    const State of_tile = sums.template of_lane<T>(tile[i]);
    state = i == 0 ? of_tile : sums.merge(state, of_tile);
  }
  state = sums.merge_lanes(state);
  if constexpr (SEGMENT_WARPS > 0) {
    const int segments = static_cast<int>(arguments.segments);
    state = merge_segments<kApart>(sums, part.exchange(state), 0, segments);
  }
  if (has_target && has_column && state.rest < 1.0f && x_target == state.max) {
    float lost = 0.0f;  // as in refine()
#pragma unroll
    for (int i = 0; i < TILES; ++i)
      if (i == tile_of_target) lost = sums.template lost_of_lane<T>(tile[i].vec, state.max);
    state.rest += __shfl_sync(kWholeWarp, lost, Tile::lane_of(target));
  }

  float lost;
  const float log_high = log1p_of(state.rest, lost);
  RowGradient<T, false> gradient{state.max, log_high + lost, 1.0f};
  gradient.per_g = g, gradient.scale = -g;
  gradient.make_loss(arguments, cols);
  // as in RowTile::store()
  constexpr bool kBefore = ACCESS == Access::kShifted && sizeof(T) < sizeof(float);
  const auto result = [&](uint4& vec) {
    opaque(vec);
    return apply_epilogue<T>(vec, gradient);
  };
#pragma unroll
  for (int i = 0; i < TILES; ++i) {
    if constexpr (kBefore) {
#pragma unroll
      for (int k = 0; k < K; ++k) tile[i].vec[k] = result(tile[i].vec[k]);
    }
    tile[i].store(dx_row, [&](int k) { return kBefore ? tile[i].vec[k] : result(tile[i].vec[k]); });
  }
  if (!has_target) return;
  __syncwarp();  // the target's gradient takes the place of what another lane has stored
  if (threadIdx.x % kWarp > 0) return;
  write_values<Op>(arguments, row, state, 1.0f, Target<T>{column, target_logit});
  if (has_column) from_float(dx_row[target], gradient.of_index(x_target, gradient.per_g));
}
