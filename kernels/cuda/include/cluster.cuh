// Merge the states of a row that a block, or a cluster of blocks, shares.
#pragma once
#include "mbarrier.cuh"
#include "state.cuh"

__device__ inline unsigned cluster_rank() {
  unsigned rank;
  asm("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
  return rank;
}
// Relaxed is enough: fence_mbarrier_init() publishes the barriers, st_async() the states.
__device__ inline void cluster_arrive() {
  asm volatile("barrier.cluster.arrive.relaxed.aligned;" ::: "memory");
}
__device__ inline void cluster_wait() {
  asm volatile("barrier.cluster.wait.acquire.aligned;" ::: "memory");
}

// Return the same address in another block's shared memory.
__device__ inline unsigned address_in(unsigned block, const void* dest) {
  unsigned mapped;
  asm("mapa.shared::cluster.u32 %0, %1, %2;"
      : "=r"(mapped)
      : "r"(shared_address(dest)), "r"(block));
  return mapped;
}

// Store a state at the same address in another block's shared memory, without waiting. `mbarrier`
// of that block counts the bytes.
template <typename State>
__device__ inline void st_async(State* dest, Mbarrier* mbarrier, unsigned block, State state) {
  const unsigned to = address_in(block, dest), counter = address_in(block, &mbarrier->barrier);
  const Words<State> words(state);
  if constexpr (sizeof(State) == 4) {
    asm volatile(
        "st.async.shared::cluster.mbarrier::complete_tx::bytes.b32 [%0], %1, [%2];" ::"r"(to),
        "r"(words[0]), "r"(counter)
        : "memory");
  } else if constexpr (sizeof(State) == 8) {
    asm volatile(
        "st.async.shared::cluster.mbarrier::complete_tx::bytes.v2.b32 [%0], {%1, %2}, [%3];" ::"r"(
            to),
        "r"(words[0]), "r"(words[1]), "r"(counter)
        : "memory");
  } else {
    static_assert(sizeof(State) == 16, "states have 4, 8 or 16 bytes");
    asm volatile(
        "st.async.shared::cluster.mbarrier::complete_tx::bytes.v4.b32 [%0], {%1, %2, %3, %4}, "
        "[%5];" ::"r"(to),
        "r"(words[0]), "r"(words[1]), "r"(words[2]), "r"(words[3]), "r"(counter)
        : "memory");
  }
}

// Merge all states; each lane gets the result. A whole warp must call it.
template <typename Merge, int COUNT>
__device__ inline typename Merge::State merge_all(const typename Merge::State (&states)[COUNT]) {
  using State = typename Merge::State;
  // few states merge in fewer steps, with the same bits
  constexpr int kLanes = COUNT <= 4 ? 4 : COUNT <= 8 ? 8 : kWarp;
  constexpr int kEach = (COUNT + kLanes - 1) / kLanes;
  const int lane = threadIdx.x % kLanes;
  State lane_states[kEach];
#pragma unroll
  for (int i = 0; i < kEach; ++i)
    lane_states[i] = i * kLanes + lane < COUNT ? states[i * kLanes + lane] : State::identity();
  return Merge::template merge_lanes<kLanes>(Merge::merge(lane_states));
}

// Merge each of two arrays, and then both, with the bits of two calls and a merge of two.
template <typename Merge, int COUNT>
__device__ inline typename Merge::State merge_all(const typename Merge::State (&states)[2][COUNT]) {
  static_assert(4 < COUNT && COUNT <= 8, "eight lanes merge an array");
  const Words<typename Merge::State> mine(merge_all<Merge>(states[threadIdx.x / 8 % 2]));
  return Merge::merge({mine.of_lane(0), mine.of_lane(8)});
}
template <typename Merge, int COUNT>
__device__ inline typename Merge::State merge_all(const typename Merge::State (&states)[1][COUNT]) {
  return merge_all<Merge>(states[0]);
}

// The buffer in which each block of a cluster receives the states of all warps.
template <typename State, int COUNT>
struct ClusterReduceBuffer {
  State states[COUNT];
  Mbarrier mbarrier;

  // One thread calls it before the cluster's first barrier.
  __device__ void init() {
    mbarrier.init();
    fence_mbarrier_init();
    mbarrier.expect_tx(sizeof(states));
  }
};

// A warp's part of a kernel in which each cluster, block or, with ROWS in a block, warp has one
// row. If blocks share a row, each thread calls listen() and then merge(), once. Merge: of the
// states that they exchange.
template <typename Merge, int WARPS, int CLUSTER, int ROWS = 1>
struct RowPart {
  using State = typename Merge::State;
  using Buffer = ClusterReduceBuffer<State, WARPS * CLUSTER>;
  Buffer* buffer;
  Index row = blockIdx.x;
  // broadcast from lane 0, so the compiler knows that the value is uniform over the warp
  int warp = __shfl_sync(kWholeWarp, static_cast<int>(threadIdx.x) / kWarp, 0);
  int tile = warp;  // tile of the row

  __device__ RowPart() {
    static_assert(ROWS == 1 || (WARPS == 1 && CLUSTER == 1), "rows do not share barriers");
    __shared__ Buffer shared;
    buffer = &shared;
    if constexpr (ROWS > 1) row = row * ROWS + warp, tile = 0;
    if constexpr (CLUSTER > 1) {
      if (threadIdx.x == 0) buffer->init();
      row /= CLUSTER, tile += static_cast<int>(cluster_rank()) * WARPS;
    }
  }

  // Tell the other blocks that this one can receive states; best once the loads are on their way.
  __device__ void listen() const {
    if constexpr (CLUSTER > 1) cluster_arrive();  // merge() waits, long after all have arrived
  }

  // Return the states of all warps of the row, which all of its threads get. Each lane of a warp
  // has the warp's.
  __device__ const State (&exchange(State state) const)[WARPS * CLUSTER] {
    const int lane = threadIdx.x % kWarp;
    if constexpr (CLUSTER == 1) {
      if (lane == 0) buffer->states[threadIdx.x / kWarp] = state;
      __syncthreads();
    } else {
      cluster_wait();
      const int place = static_cast<int>(cluster_rank()) * WARPS + threadIdx.x / kWarp;
      if (lane < CLUSTER) st_async(buffer->states + place, &buffer->mbarrier, lane, state);
      buffer->mbarrier.wait();
    }
    return buffer->states;
  }
  // Merge them.
  __device__ State merge(State state) const {
    if constexpr (WARPS * CLUSTER == 1) return state;
    return merge_all<Merge>(exchange(state));
  }
};
