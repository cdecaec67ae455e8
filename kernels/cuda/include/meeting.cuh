// Where the blocks of a launch, all of them resident at once, meet: in global memory.
#pragma once
#include "frontier.cuh"

constexpr int kMostParts = 2048;  // of the rows that are worked on at once
// Parts of so many rows may be under way: of the row that is written and the next, and those that
// a slower block has not read yet, of as many rows.
constexpr int kTurns = 4;

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

// Where the blocks of a launch leave their parts. Turns are counted on from launch to launch, so
// that nothing has to be cleared.
struct Meeting {
  ulonglong2 parts[kTurns][kMostParts];  // maximum and sum
  unsigned turns;                        // before this launch
  unsigned left;                         // blocks of this launch
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

// The parts of a row: `begin` is the first, `shares` how many.
struct Table {
  static constexpr int kAtOnce = 2;  // parts that a thread asks for before it looks at the first

  Meeting* meeting;
  int begin, shares;
  unsigned turns;  // before this launch

  __device__ Table(Meeting* where, int first, int count)
      : meeting(where), begin(first), shares(count), turns(where->turns) {}

  // By one thread: a part of a row, the one with number `share`.
  __device__ void leave(Part own, int share, unsigned turn) const {
    Note max, sum;
    max.number = own.max, sum.number = own.sum;
    max.turn = sum.turn = turns + turn + 1;
    store_relaxed(meeting->parts[turn % kTurns] + begin + share, {max.bits, sum.bits});
  }

  // By each of the THREADS threads of every block: its own of the parts of the row, joined. Those
  // of a block's threads are all of them. The block leaves its own before it waits for any.
  template <int THREADS>
  __device__ Part of_thread(unsigned turn) const {
    const ulonglong2* const parts = meeting->parts[turn % kTurns] + begin;
    const unsigned wanted = turns + turn + 1;
    Note max, sum;
    Part all = Part::none();
    for (int first = threadIdx.x; first < shares; first += kAtOnce * THREADS) {
      Part found[kAtOnce];
      bool missing = true;
      while (missing) {
        missing = false;
        ulonglong2 seen[kAtOnce];
#pragma unroll
        for (int i = 0; i < kAtOnce; ++i) {
          const int at = first + i * THREADS;
          if (at < shares) seen[i] = load_relaxed(parts + at);
        }
#pragma unroll
        for (int i = 0; i < kAtOnce; ++i) {
          found[i] = Part::none();
          if (first + i * THREADS >= shares) continue;
          max.bits = seen[i].x, sum.bits = seen[i].y;
          missing |= max.turn != wanted || sum.turn != wanted;
          found[i] = Part{max.number, sum.number};
        }
      }
#pragma unroll
      for (int i = 0; i < kAtOnce; ++i) all = joined(all, found[i]);
    }
    return all;
  }

  // By one thread of every block, when it has read all parts; `most`: rows of any block.
  __device__ void end(unsigned most) const {
    if (atomicAdd(&meeting->left, 1u) != gridDim.x - 1u) return;
    meeting->turns = turns + most;
    meeting->left = 0;
  }
};
