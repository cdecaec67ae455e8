// How the warps that share a row merge their states. The order follows from the row's length alone.
#pragma once
#include "logit_state.cuh"

// Segments of a row, at most; each lane of a warp merges two.
constexpr int kMaxSegments = 2 * kWarp;

// Merge the states of the segments from `begin` to `end`, to each of which WARPS warps have
// contributed one. Lane l gets the results of segments l and 32 + l, identities where there is
// none.
template <int WARPS, typename Sums, typename State>
__device__ inline void merge_warps(const Sums& sums, const State* warp_states, int begin, int end,
                                   State (&of_segment)[2]) {
#pragma unroll
  for (int part = 0; part < 2; ++part) {
    const int segment = part * kWarp + static_cast<int>(threadIdx.x) % kWarp;
    of_segment[part] = State::identity();
    if (begin <= segment && segment < end)
      of_segment[part] = sums.template merge_adjacent<WARPS>(warp_states + segment * WARPS);
  }
}
