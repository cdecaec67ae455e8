// How the warps that share a row merge their states. The order follows from the row's length alone.
#pragma once
#include "logit_state.cuh"

// Segments of a row, at most; each lane of a warp merges two.
constexpr int kMaxSegments = 2 * kWarp;

// Merge the states of the segments from `begin` to `end`, to each of which WARPS warps have
// contributed one. Lane l gets the results of segments l and 32 + l. A whole warp must call it.
template <int WARPS, typename Sums, typename State>
__device__ inline void merge_warps(const Sums& sums, const State* warp_states, int begin, int end,
                                   State (&of_segment)[2]) {
  const int lane = threadIdx.x % kWarp;
#pragma unroll 1
  for (int first_segment = begin; first_segment < end; first_segment += kWarp / WARPS) {
    const int segment = first_segment + lane / WARPS;
    State merged = segment < end ? warp_states[segment * WARPS + lane % WARPS] : State::identity();
    merged = sums.template merge_lanes<WARPS>(merged);
    const Words<State> words(merged);
#pragma unroll
    for (int part = 0; part < 2; ++part) {
      const int mine = part * kWarp + lane - first_segment;
      const State theirs = words.of_lane(mine * WARPS % kWarp);
      if (0 <= mine && mine < kWarp / WARPS && mine + first_segment < end)
        of_segment[part] = theirs;
    }
  }
}
