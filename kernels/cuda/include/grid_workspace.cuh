// Merge the softmax states of a row that many blocks share, in global memory. All blocks of the
// launch are resident at once.
#pragma once
#include "cp_async.cuh"
#include "state.cuh"

constexpr int kMaxStates = 2048;  // of the rows that are in flight at once
// A block may publish row r + 1 while a slower one still reads row r, but never row r + 2. Two
// slots are enough; four leave a margin.
constexpr int kSlots = 4;

// An epoch is one row of a group of blocks. Each launch continues the count, so nothing is ever
// cleared. The count wraps after 2^32 epochs. A place that was not written in all these epochs
// would then have a tag that looks new.
struct GridWorkspace {
  // maximum and sum, each below its epoch: a reader that sees the epoch also has the float
  ulonglong2 states[kSlots][kMaxStates];
  unsigned epochs;   // before this launch
  unsigned started;  // blocks of this launch that have read `epochs`
  unsigned unread;
  // Of rows in flight whose blocks only meet (measure/clock/read_meet_write.cu): [line][word].
  alignas(128) unsigned counters[7][32];
};
static_assert(sizeof(GridWorkspace) == 129 * 1024, "BYTES in kernels/cuda/grid_workspace.py");

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

// Exchange the `count` states of a row, in places from `first` on.
struct GridReducer {
  GridWorkspace* workspace;
  int first, count;
  unsigned* before;  // epochs before the row that comes next, in shared memory

  // All threads call it, and then, before the block's first barrier, ready(). The count of epochs
  // is on its way meanwhile: in a register, it would be waited for before the row's loads.
  __device__ GridReducer(GridWorkspace* where, int first_state, int states)
      : workspace(where), first(first_state), count(states) {
    __shared__ unsigned shared;
    before = &shared;
    if (threadIdx.x == 0) cp_async_word(before, &where->epochs);
  }
  __device__ static void ready() { cp_async_wait(); }

  // opaque: otherwise the compiler keeps the address for all rows, in a tile's registers
  __device__ ulonglong2* states(unsigned epoch) const {
    return workspace->states[epoch % kSlots] + opaque(first);
  }

  __device__ static ulonglong2 tagged(SoftmaxState state, unsigned epoch) {
    const unsigned long long tag = static_cast<unsigned long long>(epoch) << 32;
    return {tag | __float_as_uint(state.max), tag | __float_as_uint(state.sum)};
  }

  // One thread calls it: publish the row's state of this number.
  __device__ void publish(SoftmaxState state, int number) const {
    const unsigned epoch = *before + 1;
    store_relaxed(states(epoch) + number, tagged(state, epoch));
  }
  // One thread of each block calls it after it has published its first state. The tag needed
  // `epochs`, so the block has read it. Nobody waits for the sum.
  __device__ void start() const { atomicAdd(&workspace->started, 1u); }

  // Poll and merge a share of the row's states; each lane of a warp gets that of the warp. A lane
  // polls state i of each of PARTS equal parts, and merges these first. No more warps poll than it
  // takes, as polls delay the states that they wait for.
  template <typename Sums, int PARTS, int WARPS>
  __device__ SoftmaxState collect(int warp) const {
    const unsigned epoch = *before + 1;
    const ulonglong2 absent = tagged(SoftmaxState::identity(), epoch);
    const int of_part = (count + PARTS - 1) / PARTS;
    SoftmaxState merged = SoftmaxState::identity();
    int i = warp * kWarp + static_cast<int>(threadIdx.x) % kWarp;
    for (; i < of_part; i += WARPS * kWarp) {
      ulonglong2 loaded[PARTS];
      unsigned missing = 1;
      while (missing != 0) {
        missing = 0;
#pragma unroll
        for (int part = 0; part < PARTS; ++part) {
          const int number = part * of_part + i;
          loaded[part] = number < count ? load_relaxed(states(epoch) + number) : absent;
        }
#pragma unroll
        for (int part = 0; part < PARTS; ++part)
          missing |= static_cast<unsigned>(loaded[part].x >> 32) ^ epoch |
                     static_cast<unsigned>(loaded[part].y >> 32) ^ epoch;
      }
      SoftmaxState state[PARTS];
#pragma unroll
      for (int part = 0; part < PARTS; ++part)
        state[part] = {__uint_as_float(static_cast<unsigned>(loaded[part].x)),
                       __uint_as_float(static_cast<unsigned>(loaded[part].y))};
      merged = merge<Sums>({merged, merge<Sums>(state)});
    }
    return merge_lanes<Sums>(merged);
  }
  // One thread calls it for each row, between two barriers, when all warps have collected.
  __device__ void next() const { ++*before; }

  // One thread of each block calls it after all rows. The last block ends the launch once all have
  // started. Others may have had one row more, of this epoch.
  __device__ void finish() const {
    if (blockIdx.x != gridDim.x - 1) return;
    while (atomicAdd(&workspace->started, 0u) != gridDim.x) {
    }
    workspace->epochs = *before + 1, workspace->started = 0;
  }
};
