// Blocks of a cluster: who they are, how they meet, and how one writes into another's memory.
#pragma once
#include "copy_engine.cuh"

__device__ inline unsigned cluster_rank() {
  unsigned rank;
  asm("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
  return rank;
}
// Makes nothing known but what show_barriers() has: parts are sent, not written.
__device__ inline void cluster_arrive() {
  asm volatile("barrier.cluster.arrive.relaxed.aligned;" ::: "memory");
}
__device__ inline void cluster_wait() {
  asm volatile("barrier.cluster.wait.acquire.aligned;" ::: "memory");
}

// The same place in another block's shared memory.
__device__ inline unsigned address_in(unsigned block, const void* place) {
  unsigned there;
  asm("mapa.shared::cluster.u32 %0, %1, %2;"
      : "=r"(there)
      : "r"(shared_address(place)), "r"(block));
  return there;
}

// Write a part into the same place of another block's shared memory, without waiting: it counts as
// bytes that `arrival`, there, expects.
__device__ inline void send(Part* place, Arrival* arrival, unsigned block, Part part) {
  asm volatile(
      "st.async.shared::cluster.mbarrier::complete_tx::bytes.v2.f32 [%0], {%1, %2}, [%3];" ::"r"(
          address_in(block, place)),
      "f"(part.max), "f"(part.sum), "r"(address_in(block, &arrival->barrier))
      : "memory");
}

// Of all parts, known to each lane of a warp; by the whole warp.
template <int PARTS>
__device__ inline Part joined_of(const Part (&parts)[PARTS]) {
  constexpr int kEach = (PARTS + kWarp - 1) / kWarp;
  const int lane = threadIdx.x % kWarp;
  Part own[kEach], all = Part::none();
#pragma unroll
  for (int i = 0; i < kEach; ++i) {
    own[i] = i * kWarp + lane < PARTS ? parts[i * kWarp + lane] : Part::none();
    all.max = fmaxf(all.max, own[i].max);
  }
  if constexpr (kEach == 1) return joined_over_lanes(own[0]);
  const float base = all.base();
#pragma unroll
  for (int i = 0; i < kEach; ++i) all.sum += own[i].sum * exp_of(own[i].max - base);
  return joined_over_lanes(all);
}

// Where the parts of all warps of a cluster come together, in every block.
template <int PARTS>
struct Inbox {
  Part parts[PARTS];
  Arrival arrival;

  // By one thread, before the cluster's first barrier.
  __device__ void begin() {
    arrival.begin();
    show_barriers();
    expect();
  }
  // By one thread, when all parts have come: those of the inbox's next use.
  __device__ void expect() { arrival.expect(sizeof(parts)); }
};

// Of all threads of a cluster, WARPS warps of each block; every thread calls it, after the
// cluster's first barrier, and all get the same. `use`: of this inbox, from 0. Calls one after the
// other need two inboxes in turn: a fast block may send its next part while this one still waits
// for the last of another, but not the one after that, for which it needs this block's next.
template <int WARPS, int CLUSTER>
__device__ inline Part joined_over_cluster(Part part, Inbox<WARPS * CLUSTER>& inbox, unsigned use) {
  const int warp = threadIdx.x / kWarp, lane = threadIdx.x % kWarp;
  part = joined_over_lanes(part);
  const int place = static_cast<int>(cluster_rank()) * WARPS + warp;
  if (lane < CLUSTER) send(inbox.parts + place, &inbox.arrival, lane, part);
  inbox.arrival.wait(use);
  return joined_of(inbox.parts);
}

// Of all threads of a block of WARPS warps; every thread calls it, and all get the same. Calls one
// after the other need two `parts` in turn: while a slow warp still reads one, a fast one may
// already write the other, and the barrier of that one keeps it from coming back to the first too
// early.
template <int WARPS>
__device__ inline Part joined_over_block(Part part, Part (&parts)[WARPS]) {
  part = joined_over_lanes(part);
  if constexpr (WARPS == 1) return part;
  if (threadIdx.x % kWarp == 0) parts[threadIdx.x / kWarp] = part;
  __syncthreads();
  return joined_of(parts);
}

// For kernels in which each block, or cluster, has one row: from the block's number which, and from
// the warp's which share of it. Where blocks share rows, joined_over_row() must follow.
template <int WARPS, int CLUSTER>
__device__ inline void enter_row(Inbox<WARPS * CLUSTER>& inbox, Index& row, int& share) {
  if constexpr (CLUSTER > 1) {
    if (threadIdx.x == 0) inbox.begin();
    cluster_arrive();  // waited for when it has long been over
    row /= CLUSTER, share += static_cast<int>(cluster_rank()) * WARPS;
  }
}

// Of all threads that share such a row; every thread calls it, and all get the same.
template <int WARPS, int CLUSTER>
__device__ inline Part joined_over_row(Part part, Inbox<WARPS * CLUSTER>& inbox) {
  if constexpr (CLUSTER > 1) {
    cluster_wait();
    return joined_over_cluster<WARPS, CLUSTER>(part, inbox, 0);
  } else {
    return joined_over_block(part, inbox.parts);
  }
}
