// Merge, through global memory, the states of a row that many blocks share. There are two ways.
// Either all blocks of the launch are resident at once, and each of them gets the result from a
// GridReducer; or only the last block to arrive gets it (is_last_to_arrive).
#pragma once
#include "cp_async.cuh"
#include "state.cuh"

constexpr int kMaxStates = 2048;  // states of all rows in flight at once
// A block may publish row r + 1 while a slower one still reads row r, but never row r + 2. So two
// slots would do; four leave a margin.
constexpr int kSlots = 4;

// Limits of a launch in which the last block merges: its rows, and the states of all of them.
constexpr int kMaxMeetingRows = 1024, kMaxRowStates = 16384;

// Blocks recognise fresh states by their epoch, which numbers the rows that a group of blocks works
// through. Each launch continues the count, so nothing is ever cleared. The count wraps after 2^32
// epochs; only a place that was not written during all of them would then look fresh by mistake.
struct GridWorkspace {
  // Two words of a state, each in the lower half of 64 bits below its epoch. 64 bits are written at
  // once, so a reader that sees the epoch has the word, too.
  ulonglong2 states[kSlots][kMaxStates];
  unsigned epochs;   // count before this launch
  unsigned started;  // blocks of this launch that have read `epochs`
  unsigned unread;
  // Counters of rows whose blocks meet without exchanging a state
  // (measure/clock/read_meet_write.cu): [cache line][word].
  alignas(128) unsigned counters[7][32];
  // For rows whose last block merges: how many blocks have stored their states, which is 0 between
  // launches, and the states, of at most 16 bytes each.
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

// Load what another block has stored and announced, bypassing L1, which may hold an old copy.
template <typename State>
__device__ inline State load_from_l2(const State* from) {
  Words<State> words;
#pragma unroll
  for (int i = 0; i < Words<State>::kCount; ++i)
    words[i] = reinterpret_cast<const volatile unsigned*>(from)[i];
  return words.value;
}

// Return whether this block is the last of the `blocks` that share a row, and so can read the
// states of all. One whole warp of each block calls it, after storing the block's states. `arrived`
// is the row's counter; the last block resets it to 0.
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

// Exchange the `count` states of a row, which lie in the workspace from state `first` on. States of
// 4 or 8 bytes take one place of GridWorkspace::states, those of 16 bytes two.
template <typename Merge>
struct GridReducer {
  using State = typename Merge::State;
  using StateWords = Words<State>;
  static constexpr int kPlaces = (StateWords::kCount + 1) / 2;
  GridWorkspace* workspace;
  int first, count;
  unsigned* before;  // the epoch before that of the current row, in shared memory

  // All threads call this and then, before the block's first barrier, ready(). In between the epoch
  // is copied asynchronously: a load to a register would be waited for before the row's loads.
  __device__ GridReducer(GridWorkspace* where, int first_state, int states)
      : workspace(where), first(first_state), count(states) {
    __shared__ unsigned shared;
    before = &shared;
    if (threadIdx.x == 0) cp_async_word(before, &where->epochs);
  }
  __device__ static void ready() { cp_async_wait(); }

  // Return the first place of the row. Without opaque() the compiler keeps the address for all rows
  // in registers, which a tile needs. Callers add a state's number to the result; adding it in here
  // spilled 40 bytes per thread of frontier_spread.
  __device__ ulonglong2* places(unsigned epoch) const {
    return workspace->states[epoch % kSlots] + opaque(first) * kPlaces;
  }

  // A state as it lies in the workspace: each word with the epoch as its tag.
  struct Tagged {
    ulonglong2 pair[kPlaces];

    // Return 0 if every word has this epoch's tag.
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

  // Publish state `number` of the row. One thread calls this.
  __device__ void publish(State state, int number) const {
    const unsigned epoch = *before + 1;
    const Tagged published = tagged(state, epoch);
#pragma unroll
    for (int i = 0; i < kPlaces; ++i)
      store_relaxed(places(epoch) + number * kPlaces + i, published.pair[i]);
  }
  // Count this block as one that has read `epochs`, which the tag of its first state needed. One
  // thread of each block calls this after it has published that state. Nothing waits for the sum.
  __device__ void start() const { atomicAdd(&workspace->started, 1u); }

  // Poll a share of the row's states until they have this epoch, and merge them; each lane gets its
  // warp's result. The states form PARTS equal parts; a lane polls state i of each part and merges
  // these first. No more warps poll than needed, because polls delay the states they wait for.
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
  // Go on to the next epoch. One thread calls this per row, between barriers, after collect().
  __device__ void next() const { ++*before; }

  // One thread of each block calls this after all rows. The last block stores the count of epochs
  // for the next launch, when all blocks have read the old one. Other groups of blocks may have had
  // one row more, in this epoch.
  __device__ void finish() const {
    if (blockIdx.x != gridDim.x - 1) return;
    while (atomicAdd(&workspace->started, 0u) != gridDim.x) {
    }
    workspace->epochs = *before + 1, workspace->started = 0;
  }
};
