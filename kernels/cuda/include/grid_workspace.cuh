// Merge the states of a row that many blocks share, in global memory. Either all blocks of the
// launch are resident at once, and each gets the result from a GridReducer; or the last to arrive
// gets it.
#pragma once
#include "cp_async.cuh"
#include "state.cuh"

constexpr int kMaxStates = 2048;  // states of the rows in flight at once
// A block may publish row r + 1 while a slower one still reads row r, but never row r + 2. Two
// slots are enough; four leave a margin.
constexpr int kSlots = 4;

// Limits of a launch whose last blocks merge.
constexpr int kMaxMeetingRows = 1024, kMaxRowStates = 16384;

// An epoch is one row of a group of blocks. Each launch continues the count, so nothing is ever
// cleared. The count wraps after 2^32 epochs. A place that was not written in all these epochs
// would then have a tag that looks new.
struct GridWorkspace {
  // two words of a state, each below its epoch: a reader that sees the epoch also has the word
  ulonglong2 states[kSlots][kMaxStates];
  unsigned epochs;   // before this launch
  unsigned started;  // blocks of this launch that have read `epochs`
  unsigned unread;
  // Words of rows in flight whose blocks only meet (measure/clock/read_meet_write.cu):
  // [line][word].
  alignas(128) unsigned counters[7][32];
  // Counters of rows whose last block merges: how many blocks have written states, 0 between
  // launches; and the states, of at most 16 bytes.
  unsigned arrived[kMaxMeetingRows];
  uint4 row_states[kMaxRowStates];
};
static_assert(sizeof(GridWorkspace) == 389 * 1024, "BYTES in kernels/cuda/grid_workspace.py");

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

// Load what another block has stored and announced; not from L1.
template <typename State>
__device__ inline State load_from_l2(const State* from) {
  Words<State> words;
#pragma unroll
  for (int i = 0; i < Words<State>::kCount; ++i)
    words[i] = reinterpret_cast<const volatile unsigned*>(from)[i];
  return words.value;
}

// Return whether a block is the last of those that share a row, and so finds all their states. One
// whole warp of each block calls it, after it has stored the block's states. `arrived`: the row's
// count, which is 0 again when all have called.
__device__ inline bool is_last_to_arrive(unsigned* arrived, unsigned blocks) {
  const bool is_first_lane = threadIdx.x % kWarp == 0;
  __threadfence();
  __syncwarp();
  unsigned before = 0;
  if (is_first_lane) before = atomicAdd(arrived, 1u);
  if (__shfl_sync(kWholeWarp, before, 0) != blocks - 1) return false;
  __threadfence();
  if (is_first_lane) *arrived = 0;
  return true;
}

// Exchange the `count` states of a row, in places from `first` on. Merge: of states of 4 or 8
// bytes, or of 16 bytes, which take two places each.
template <typename Merge>
struct GridReducer {
  using State = typename Merge::State;
  using StateWords = Words<State>;
  static constexpr int kPlaces = (StateWords::kCount + 1) / 2;
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

  // opaque: otherwise the compiler keeps the address for all rows, in a tile's registers. A state's
  // number is added to the result: added before, it spilled 40 bytes of a frontier_spread thread.
  __device__ ulonglong2* places(unsigned epoch) const {
    return workspace->states[epoch % kSlots] + opaque(first) * kPlaces;
  }

  struct Tagged {
    ulonglong2 pair[kPlaces];

    // Return bits that are all 0 if every word has this tag.
    __device__ unsigned missing(unsigned epoch) const {
      unsigned bits = 0;
#pragma unroll
      for (int i = 0; i < kPlaces; ++i)
        bits |= static_cast<unsigned>(pair[i].x >> 32) ^ epoch |
                static_cast<unsigned>(pair[i].y >> 32) ^ epoch;
      return bits;
    }
    __device__ State state() const {
      StateWords words;
#pragma unroll
      for (int i = 0; i < StateWords::kCount; ++i)
        words[i] = static_cast<unsigned>(i % 2 == 0 ? pair[i / 2].x : pair[i / 2].y);
      return words.value;
    }
  };
  __device__ static Tagged tagged(State state, unsigned epoch) {
    const unsigned long long tag = static_cast<unsigned long long>(epoch) << 32;
    const StateWords words(state);
    Tagged result;
#pragma unroll
    for (int i = 0; i < kPlaces; ++i) {
      const int second = min(2 * i + 1, StateWords::kCount - 1);
      result.pair[i] = {tag | words[2 * i], tag | words[second]};
    }
    return result;
  }

  // One thread calls it: publish the row's state of this number.
  __device__ void publish(State state, int number) const {
    const unsigned epoch = *before + 1;
    const Tagged published = tagged(state, epoch);
#pragma unroll
    for (int i = 0; i < kPlaces; ++i)
      store_relaxed(places(epoch) + number * kPlaces + i, published.pair[i]);
  }
  // One thread of each block calls it after it has published its first state. The tag needed
  // `epochs`, so the block has read it. Nobody waits for the sum.
  __device__ void start() const { atomicAdd(&workspace->started, 1u); }

  // Poll and merge a share of the row's states; each lane of a warp gets that of the warp. A lane
  // polls state i of each of PARTS equal parts, and merges these first. No more warps poll than it
  // takes, as polls delay the states that they wait for.
  template <int PARTS, int WARPS>
  __device__ State collect(int warp) const {
    const unsigned epoch = *before + 1;
    const Tagged absent = tagged(State::identity(), epoch);
    const int of_part = (count + PARTS - 1) / PARTS;
    State merged = State::identity();
    int i = warp * kWarp + static_cast<int>(threadIdx.x) % kWarp;
    for (; i < of_part; i += WARPS * kWarp) {
      Tagged loaded[PARTS];
      unsigned missing = 1;
      while (missing != 0) {
        missing = 0;
#pragma unroll
        for (int part = 0; part < PARTS; ++part) {
          const int number = part * of_part + i;
          loaded[part] = absent;
          if (number >= count) continue;
#pragma unroll
          for (int place = 0; place < kPlaces; ++place)
            loaded[part].pair[place] = load_relaxed(places(epoch) + number * kPlaces + place);
        }
#pragma unroll
        for (int part = 0; part < PARTS; ++part) missing |= loaded[part].missing(epoch);
      }
      State state[PARTS];
#pragma unroll
      for (int part = 0; part < PARTS; ++part) state[part] = loaded[part].state();
      merged = Merge::merge({merged, Merge::merge(state)});
    }
    return Merge::merge_lanes(merged);
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
