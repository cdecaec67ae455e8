// Few rows, too long for a cluster: all blocks of the GPU share them, and meet in global memory.
#include "cluster.cuh"
#include "ring.cuh"

constexpr int kMostBlocks = 640;  // of a launch
// Parts of so many rows may be under way: of the row that is written and the next, and those that
// a slower block has not read yet, of as many rows.
constexpr int kTurns = 4;
// Slots through which the spans pass that are not kept.
constexpr int kPassing = 2;

// Half of a part, and of which turn it is: one access moves both, so that who finds the turn that
// he waits for has found the number, too.
union Note {
  struct {
    float number;
    unsigned turn;
  };
  unsigned long long bits;
  __device__ Note() {}
};

// Where blocks leave their parts. Turns are counted on from launch to launch, so that nothing has
// to be cleared.
struct Meeting {
  ulonglong2 parts[kTurns][kMostBlocks];  // maximum and sum
  unsigned turns;                         // before this launch
  unsigned left;                          // blocks of this launch
};

__device__ inline ulonglong2 load_relaxed(const ulonglong2* from) {
  ulonglong2 value;
  asm volatile("ld.relaxed.gpu.global.v2.u64 {%0, %1}, [%2];"
               : "=l"(value.x), "=l"(value.y)
               : "l"(from)
               : "memory");
  return value;
}
__device__ inline void store_relaxed(ulonglong2* to, ulonglong2 value) {
  asm volatile("st.relaxed.gpu.global.v2.u64 [%0], {%1, %2};" ::"l"(to), "l"(value.x), "l"(value.y)
               : "memory");
}

// The blocks of a row: `begin` is the first, `shares` how many.
struct Table {
  static constexpr int kAtOnce = 5;  // parts that a lane asks for before it looks at the first

  Meeting* meeting;
  int begin, shares;
  unsigned turns;  // before this launch

  __device__ Table(Meeting* where, int first, int count)
      : meeting(where), begin(first), shares(count), turns(where->turns) {}

  // By one thread of every block: its part of a row.
  __device__ void leave(Part own, unsigned turn) const {
    Note max, sum;
    max.number = own.max, sum.number = own.sum;
    max.turn = sum.turn = turns + turn + 1;
    store_relaxed(meeting->parts[turn % kTurns] + blockIdx.x, {max.bits, sum.bits});
  }

  // By one warp of every block, when it has left its own: the part of the whole row.
  __device__ Part joined_with_others(unsigned turn) const {
    const ulonglong2* const parts = meeting->parts[turn % kTurns];
    const unsigned wanted = turns + turn + 1;
    const int lane = threadIdx.x % kWarp;
    Note max, sum;
    Part all = Part::none();
    for (int first = lane; first < shares; first += kAtOnce * kWarp) {
      Part found[kAtOnce];
      bool missing = true;
      while (missing) {
        missing = false;
        ulonglong2 seen[kAtOnce];
#pragma unroll
        for (int i = 0; i < kAtOnce; ++i) {
          const int at = first + i * kWarp;
          if (at < shares) seen[i] = load_relaxed(parts + begin + at);
        }
#pragma unroll
        for (int i = 0; i < kAtOnce; ++i) {
          found[i] = Part::none();
          if (first + i * kWarp >= shares) continue;
          max.bits = seen[i].x, sum.bits = seen[i].y;
          missing |= max.turn != wanted || sum.turn != wanted;
          found[i] = Part{max.number, sum.number};
        }
      }
#pragma unroll
      for (int i = 0; i < kAtOnce; ++i) all = joined(all, found[i]);
    }
    return joined_over_lanes(all);
  }

  // By one thread of every block, when it has read all parts; `most`: rows of any block.
  __device__ void end(unsigned most) const {
    if (atomicAdd(&meeting->left, 1u) != gridDim.x - 1u) return;
    meeting->turns = turns + most;
    meeting->left = 0;
  }
};

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
  extern __shared__ uint4 room[];
  __shared__ Arrival arrivals[WARPS][kMostSlots];
  __shared__ Part of_warps[2][WARPS];
  __shared__ Part of_row[2];
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
  const Table table(meeting, static_cast<int>(blockIdx.x) - share, shares);
  // While a part is on its way to the other blocks, the next row's is found, if it fits beside.
  unsigned known = 0;
  const bool has_room_for_two = !PASSING && ring.has_room_for_two();
  const auto leave_part = [&](Index row) {
    const Part part = joined_over_block(passing.part(row, ring.part(row)), of_warps[known % 2]);
    if (threadIdx.x == 0) table.leave(part, known);
    ++known;
  };
  leave_part(div.first_row);
  unsigned turn = 0;
  for (Index row = div.first_row; row < rows; row += div.row_step, ++turn) {
    const bool more = row + div.row_step < rows;
    if (more && has_room_for_two) leave_part(row + div.row_step);
    if (warp == 0) {
      const Part found = table.joined_with_others(turn);
      if (threadIdx.x == 0) of_row[turn % 2] = found;
    }
    __syncthreads();
    const Part part = of_row[turn % 2];
    passing.write(row, part.max, Op(part.sum));  // first, as it has been seen last
    ring.write(row, part.max, Op(part.sum));
    if (more && !has_room_for_two) leave_part(row + div.row_step);
  }
  if (threadIdx.x == 0) {
    table.end(static_cast<unsigned>((rows + div.row_step - 1) / div.row_step));
  }
}
