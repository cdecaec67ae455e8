// Merge the softmax states of a row that many blocks share, in global memory. All blocks of the
// launch are resident at once.
#pragma once
#include "state.cuh"

constexpr int kMaxStates = 2048;  // of the rows that are in flight at once
// A block may publish row r + 1 while a slower one still reads row r, but never row r + 2. Two
// slots are enough; four leave a margin.
constexpr int kSlots = 4;

// A float and its epoch, moved by one access: a reader that sees the epoch also has the value.
union TaggedFloat {
  struct {
    float value;
    unsigned epoch;
  };
  unsigned long long bits;
  __device__ TaggedFloat() {}
};

// An epoch is one row of a group of blocks. Each launch continues the count, so nothing is ever
// cleared. The count wraps after 2^32 epochs. A place that was not written in all these epochs
// would then have a tag that looks new.
struct GridWorkspace {
  ulonglong2 states[kSlots][kMaxStates];  // maximum and sum
  unsigned epochs;                        // before this launch
  unsigned finished;                      // blocks of this launch
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

// Exchange the states of the `count` blocks that share a row, in places from `first` on.
struct GridReducer {
  static constexpr int kInFlight = 2;  // loads that a thread issues before it looks at the first

  GridWorkspace* workspace;
  int first, count;
  unsigned epochs;  // before this launch

  __device__ GridReducer(GridWorkspace* where, int first_state, int states)
      : workspace(where), first(first_state), count(states), epochs(where->epochs) {}

  // One thread calls it: publish the state of block number `block` of the row.
  __device__ void publish(SoftmaxState state, int block, unsigned epoch) const {
    TaggedFloat max, sum;
    max.value = state.max, sum.value = state.sum;
    max.epoch = sum.epoch = epochs + epoch + 1;
    store_relaxed(workspace->states[epoch % kSlots] + first + block, {max.bits, sum.bits});
  }

  // All THREADS threads of every block call it after the block has published its own state. Each
  // thread polls and merges a strided subset; together they cover every state.
  template <int THREADS>
  __device__ SoftmaxState collect(unsigned epoch) const {
    const ulonglong2* const states = workspace->states[epoch % kSlots] + first;
    const unsigned wanted = epochs + epoch + 1;
    TaggedFloat max, sum;
    SoftmaxState merged = SoftmaxState::identity();
    for (int begin = threadIdx.x; begin < count; begin += kInFlight * THREADS) {
      SoftmaxState state[kInFlight];
      bool missing = true;
      while (missing) {
        missing = false;
        ulonglong2 loaded[kInFlight];
#pragma unroll
        for (int i = 0; i < kInFlight; ++i) {
          const int index = begin + i * THREADS;
          if (index < count) loaded[i] = load_relaxed(states + index);
        }
#pragma unroll
        for (int i = 0; i < kInFlight; ++i) {
          state[i] = SoftmaxState::identity();
          if (begin + i * THREADS >= count) continue;
          max.bits = loaded[i].x, sum.bits = loaded[i].y;
          missing |= max.epoch != wanted || sum.epoch != wanted;
          state[i] = SoftmaxState{max.value, sum.value};
        }
      }
#pragma unroll
      for (int i = 0; i < kInFlight; ++i) merged = merge(merged, state[i]);
    }
    return merged;
  }

  // One thread of every block calls it after all reads. No block has more than `max_rows` rows.
  __device__ void finish(unsigned max_rows) const {
    if (atomicAdd(&workspace->finished, 1u) != gridDim.x - 1u) return;
    workspace->epochs = epochs + max_rows;
    workspace->finished = 0;
  }
};
