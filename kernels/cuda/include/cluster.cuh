// Merge the states of a row that the warps of a block or of a thread-block cluster share. In a
// cluster each warp sends its state to the shared memory of every block (st.async), and an mbarrier
// there opens when the bytes of all the warps have arrived.
#pragma once
#include "mbarrier.cuh"
#include "state.cuh"

__device__ inline unsigned cluster_rank() {
  unsigned rank;
  asm("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
  return rank;
}
// The two halves of the cluster's barrier. Relaxed order is enough, because fence_mbarrier_init()
// publishes the mbarriers and st_async() the states.
__device__ inline void cluster_arrive() {
  asm volatile("barrier.cluster.arrive.relaxed.aligned;" ::: "memory");
}
__device__ inline void cluster_wait() {
  asm volatile("barrier.cluster.wait.acquire.aligned;" ::: "memory");
}

// Return the address, in another block's shared memory, of the variable at `dest` in this block's.
__device__ inline unsigned address_in(unsigned block, const void* dest) {
  unsigned mapped;
  asm("mapa.shared::cluster.u32 %0, %1, %2;"
      : "=r"(mapped)
      : "r"(shared_address(dest)), "r"(block));
  return mapped;
}

// Store a state to `dest` in another block's shared memory, asynchronously, and count at
// `mbarrier`.
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

// Merge an array of states; every lane gets the result. The whole warp must call it.
template <typename Merge, int COUNT>
__device__ inline typename Merge::State merge_all(const typename Merge::State (&states)[COUNT]) {
  using State = typename Merge::State;
  // Fewer lanes merge few states in fewer steps, with the same bits.
  constexpr int kLanes = COUNT <= 4 ? 4 : COUNT <= 8 ? 8 : kWarp;
  constexpr int kEach = (COUNT + kLanes - 1) / kLanes;
  const int lane = threadIdx.x % kLanes;
  State lane_states[kEach];
#pragma unroll
  for (int i = 0; i < kEach; ++i)
    lane_states[i] = i * kLanes + lane < COUNT ? states[i * kLanes + lane] : State::identity();
  return Merge::template merge_lanes<kLanes>(Merge::merge(lane_states));
}

// Merge two arrays at once, and then their results: the same bits as two calls and a merge of both.
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

// The shared memory in which a block receives the states of all warps of the row.
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

// A warp's row and its tile of it, and the merge of the row's states. A row belongs to a
// cluster of CLUSTER blocks with WARPS warps each or, with ROWS > 1, to one of a block's ROWS
// warps. Every thread calls listen() and then merge(), once each. Merge: see state.cuh.
template <typename Merge, int WARPS, int CLUSTER, int ROWS = 1>
struct RowPart {
  using State = typename Merge::State;
  using Buffer = ClusterReduceBuffer<State, WARPS * CLUSTER>;
  Buffer* buffer;
  Index row = blockIdx.x;
  // broadcast from lane 0, so that the compiler knows that the value is uniform over the warp
  int warp = __shfl_sync(kWholeWarp, static_cast<int>(threadIdx.x) / kWarp, 0);
  int tile = warp;  // this warp's tile of the row

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

  // Tell the cluster that this block can receive states; best called while loads are in flight.
  __device__ void listen() const {
    if constexpr (CLUSTER > 1) cluster_arrive();  // merge() waits, long after all arrived
  }

  // Return the states of all warps of the row. Every lane of a warp passes the warp's state.
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
  // Return the state of the whole row, to all of its threads.
  __device__ State merge(State state) const {
    if constexpr (WARPS * CLUSTER == 1) return state;
    return merge_all<Merge>(exchange(state));
  }
};
