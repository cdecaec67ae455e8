// Blocks of a cluster: who they are, how they meet, and how one writes into another's memory.
#pragma once
#include "copy_engine.cuh"

__device__ inline unsigned cluster_rank() {
  unsigned rank;
  asm("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
  return rank;
}
__device__ inline void cluster_arrive() {
  asm volatile("barrier.cluster.arrive.release.aligned;" ::: "memory");
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

// Write a part into the same place of another block's shared memory.
__device__ inline void put(Part* place, unsigned block, Part part) {
  asm volatile("st.shared::cluster.v2.f32 [%0], {%1, %2};" ::"r"(address_in(block, place)),
               "f"(part.max), "f"(part.sum)
               : "memory");
}

// The same, without waiting: it counts as bytes that `arrival`, there, has expected.
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
  Part all = Part::none();
  for (int i = threadIdx.x % kWarp; i < PARTS; i += kWarp) all = joined(all, parts[i]);
  return joined_over_lanes(all);
}

// Where the parts of all warps of a cluster come together, once, in every block.
template <int PARTS>
struct Inbox {
  Part parts[PARTS];
  Arrival arrival;

  // By one thread, before the cluster's first barrier.
  __device__ void begin() {
    arrival.begin();
    arrival.expect(sizeof(parts));
  }
};

// Of all threads of a cluster, WARPS warps of each block; every thread calls it, once, after the
// cluster's first barrier, and all get the same.
template <int WARPS, int CLUSTER>
__device__ inline Part joined_over_cluster(Part part, Inbox<WARPS * CLUSTER>& inbox) {
  const int warp = threadIdx.x / kWarp, lane = threadIdx.x % kWarp;
  part = joined_over_lanes(part);
  const int place = static_cast<int>(cluster_rank()) * WARPS + warp;
  if (lane < CLUSTER) send(inbox.parts + place, &inbox.arrival, lane, part);
  inbox.arrival.wait(0);
  return joined_of(inbox.parts);
}

// Of all threads of a team, WARPS warps of each of CLUSTER blocks; every thread calls it, and all
// get the same. For a cluster, after a barrier of it at the kernel's beginning: only then may the
// others be written to. Calls one after the other need two `parts` in turn: while a slow warp still
// reads one, a fast one may already write the other, and the barrier of that one keeps it from
// coming back to the first too early.
template <int WARPS, int CLUSTER>
__device__ inline Part joined_over_team(Part part, Part (&parts)[WARPS * CLUSTER]) {
  const int warp = threadIdx.x / kWarp, lane = threadIdx.x % kWarp;
  part = joined_over_lanes(part);
  if constexpr (WARPS * CLUSTER == 1) return part;
  if constexpr (CLUSTER > 1) {
    // every warp tells every block, so that one barrier is all
    const int place = static_cast<int>(cluster_rank()) * WARPS + warp;
    if (lane < CLUSTER) put(parts + place, lane, part);
    cluster_arrive();
    cluster_wait();
  } else {
    if (lane == 0) parts[warp] = part;
    __syncthreads();
  }
  return joined_of(parts);
}
