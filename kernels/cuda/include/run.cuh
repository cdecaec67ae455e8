// Move a run of contiguous elements through shared memory. Threads load all aligned vectors that
// hold some of the run, which may begin anywhere in the first one, and store results likewise.
#pragma once
#include "unaligned.cuh"

// Load `count` elements from `from` with THREADS threads, at most VECS vectors each. `thread` is
// this thread's number. Returns the offset of the first element in `smem`. The threads must
// synchronise before they read.
template <typename T, int THREADS, int VECS>
__device__ int load_run(uint4* smem, const T* from, int count, int thread) {
  const AlignedRow<const T> run(from);
  const int before = run.elements_off();
  const int vecs = count > 0 ? (before + count + kVecElems<T> - 1) / kVecElems<T> : 0;
  uint4 vec[VECS];
#pragma unroll
  for (int k = 0; k < VECS; ++k) {
    if (k * THREADS + thread < vecs) vec[k] = load_vec(run.at(k * THREADS + thread));
  }
#pragma unroll
  for (int k = 0; k < VECS; ++k) {
    if (k * THREADS + thread < vecs) smem[k * THREADS + thread] = vec[k];
  }
  return before;
}

// Store `count` elements to `to`. The first one's offset in `smem` must equal the offset of `to` in
// its vector. Partial vectors at both ends are stored element by element.
template <typename T, int THREADS>
__device__ void store_run(T* to, const uint4* smem, int count, int thread) {
  const T* const elements = reinterpret_cast<const T*>(smem);
  const AlignedRow<T> run(to);
  const int before = run.elements_off(), end = before + max(0, count);
  const int first = before > 0 ? 1 : 0, last = end / kVecElems<T>;
  for (int at = first + thread; at < last; at += THREADS) {
    store_vec(reinterpret_cast<uint4*>(run.at(at)), smem[at]);
  }
  if (thread >= before && thread < min(first * kVecElems<T>, end))
    run.vecs[thread] = elements[thread];
  const int rest = max(first, last) * kVecElems<T> + thread;
  if (rest < end) run.vecs[rest] = elements[rest];
}
