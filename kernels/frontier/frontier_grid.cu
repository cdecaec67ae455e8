// Few rows, too long for a cluster: all blocks of the GPU share them, and meet in global memory.
#include "cluster.cuh"
#include "meeting.cuh"
#include "ring.cuh"

// Slots through which the spans pass that are not kept.
constexpr int kPassing = 2;

// The spans that are not kept; none, at no cost, unless PASSING.
template <typename T, bool ALIGNED, bool PASSING>
struct Passing : Ring<T, ALIGNED> {
  using Ring<T, ALIGNED>::Ring;
};
template <typename T, bool ALIGNED>
struct Passing<T, ALIGNED, false> {
  template <typename... Any>
  __device__ Passing(const Any&...) {}
  __device__ Part part(Index, Part found) { return found; }
  template <typename Op>
  __device__ void write(Index, float, const Op&) {}
};

// WARPS: of a block. RESIDENT: blocks of a multiprocessor. ALIGNED: as in Ring. `shares`:
// blocks of a row, each with so many `spans` of it, of so many `words` for each warp. PASSING: a
// warp has too few `slots` for them; it keeps the first, and the others pass through the last
// kPassing slots, and again but for the last of them. All blocks of the launch, a multiple of
// `shares`, must be resident at once.
template <typename T, typename Op, int WARPS, int RESIDENT, bool ALIGNED, bool PASSING>
__global__ void __launch_bounds__(kWarp* WARPS, RESIDENT)
    frontier_grid(T* __restrict__ out, const T* __restrict__ x, Index out_stride, Index x_stride,
                  Index rows, Index cols, Meeting* meeting, int shares, int spans, int words,
                  int slots) {
  extern __shared__ __align__(128) uint4 room[];
  __shared__ Arrival arrivals[WARPS][kMostSlots];
  __shared__ Part of_warps[2][WARPS];
  __shared__ Part of_row[2][WARPS];
  const int warp = threadIdx.x / kWarp, share = blockIdx.x % shares;
  Division div{shares * WARPS,      share * WARPS + warp, spans, words, slots,
               blockIdx.x / shares, gridDim.x / shares};
  uint4* const own = room + warp * slots * pitch(words, ALIGNED);
  if constexpr (PASSING) div.spans = div.slots = slots - kPassing;
  Ring<T, ALIGNED> ring(div, out, x, out_stride, x_stride, rows, cols, own, arrivals[warp]);
  div.skipped = div.spans, div.spans = spans - div.spans, div.slots = slots - div.slots;
  Passing<T, ALIGNED, PASSING> passing(div, out, x, out_stride, x_stride, rows, cols,
                                       own + (slots - div.slots) * pitch(words, ALIGNED),
                                       arrivals[warp] + (slots - div.slots));
  const int first = static_cast<int>(blockIdx.x) - share;  // of the blocks of this row
  const Table table(meeting, first, shares);
  // While a part is on its way to the other blocks, the next row's is found, if it fits beside.
  unsigned known = 0;
  const bool has_room_for_two = !PASSING && ring.has_room_for_two();
  const auto leave_part = [&](Index row) {
    const Part part = joined_over_block(passing.part(row, ring.part(row)), of_warps[known % 2]);
    if (threadIdx.x == 0) table.leave(part, share, known);
    ++known;
  };
  leave_part(div.first_row);
  unsigned turn = 0;
  for (Index row = div.first_row; row < rows; row += div.row_step, ++turn) {
    const bool more = row + div.row_step < rows;
    if (more && has_room_for_two) leave_part(row + div.row_step);
    const Part part = joined_over_block(table.of_thread<kWarp * WARPS>(turn), of_row[turn % 2]);
    passing.write(row, part.max, Op(part.sum));  // first, as it has been seen last
    ring.write(row, part.max, Op(part.sum));
    if (more && !has_room_for_two) leave_part(row + div.row_step);
  }
  if (threadIdx.x == 0) {
    table.end(static_cast<unsigned>((rows + div.row_step - 1) / div.row_step));
  }
}
