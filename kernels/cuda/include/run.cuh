// A run of elements on its way through shared memory as it lies: threads bring all aligned words
// that hold some of it, each by one load, wherever in its first word the run begins, and take
// results away likewise.
#pragma once
#include "frontier.cuh"

// Bring `count` elements from `from`; where in `room` the first is then. By THREADS threads, of
// which this is number `thread`, at most WORDS each; they must wait for each other before they
// look.
template <typename T, int THREADS, int WORDS>
__device__ int bring_run(uint4* room, const T* from, int count, int thread) {
  const Aligned<const T> run(from);
  const int before = run.elements_off();
  const int words = count > 0 ? (before + count + kWide<T> - 1) / kWide<T> : 0;
  uint4 word[WORDS];
#pragma unroll
  for (int k = 0; k < WORDS; ++k) {
    if (k * THREADS + thread < words) word[k] = load_word(run.at(k * THREADS + thread));
  }
#pragma unroll
  for (int k = 0; k < WORDS; ++k) {
    if (k * THREADS + thread < words) room[k * THREADS + thread] = word[k];
  }
  return before;
}

// Take `count` elements to `to`: the first must be as far from the beginning of `room` as `to` is
// from that of its word. Of the words at both ends, which may be in part another run's, elements.
template <typename T, int THREADS>
__device__ void take_run(T* to, const uint4* room, int count, int thread) {
  const T* const held = reinterpret_cast<const T*>(room);
  const Aligned<T> run(to);
  const int before = run.elements_off(), end = before + max(0, count);
  const int first = before > 0 ? 1 : 0, last = end / kWide<T>;
  for (int at = first + thread; at < last; at += THREADS) {
    store_word(reinterpret_cast<uint4*>(run.at(at)), room[at]);
  }
  if (thread >= before && thread < min(first * kWide<T>, end)) run.words[thread] = held[thread];
  const int rest = max(first, last) * kWide<T> + thread;
  if (rest < end) run.words[rest] = held[rest];
}
