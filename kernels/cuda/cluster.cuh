// Blocks of a cluster: who they are, how they meet, and how one writes into another's memory.
#pragma once
#include "frontier.cuh"

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

// Write a part into the same place of another block's shared memory.
__device__ inline void put(Part* place, unsigned block, Part part) {
  const unsigned here = static_cast<unsigned>(__cvta_generic_to_shared(place));
  unsigned there;
  asm("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(there) : "r"(here), "r"(block));
  asm volatile("st.shared::cluster.v2.f32 [%0], {%1, %2};" ::"r"(there), "f"(part.max),
               "f"(part.sum)
               : "memory");
}

// Of all threads of a block; every thread calls it, and all get the same.
template <int WARPS>
__device__ inline Part joined_over_block(Part part, Part (&parts)[WARPS]) {
  const int warp = threadIdx.x / kWarp, lane = threadIdx.x % kWarp;
  part = joined_over_lanes(part);
  if constexpr (WARPS > 1) {
    if (lane == 0) parts[warp] = part;
    __syncthreads();
    part = joined_over_lanes(lane < WARPS ? parts[lane] : Part::none());
  }
  return part;
}

// Of all blocks of a cluster, each of which has its own part. Every thread calls it, after a
// cluster_arrive() at the kernel's beginning: only then may the others be written to.
template <int CLUSTER>
__device__ inline Part joined_over_cluster(Part part, Part (&parts)[CLUSTER]) {
  const int warp = threadIdx.x / kWarp, lane = threadIdx.x % kWarp;
  cluster_wait();
  if (warp == 0 && lane < CLUSTER) put(parts + cluster_rank(), lane, part);
  cluster_arrive();
  cluster_wait();
  return joined_over_lanes(lane < CLUSTER ? parts[lane] : Part::none());
}
