// Rows of a few hundred bytes: several lanes of a warp hold a row, and several rows each.
#include "frontier.cuh"

constexpr int kThreads = 128;

// UNIT: neighbouring elements of a lane, which follow from cols alone, as do K: units of a lane,
// and LANES: of a row, a power of two; so a row's sums do not depend on where it lies. PACK:
// elements moved at once, UNIT or fewer where rows begin in the middle of a unit. ROWS: that a lane
// holds a part of, so that as many loads are under way. WHOLE: K * LANES * UNIT is cols.
template <typename T, typename Op, int UNIT, int PACK, int K, int LANES, int ROWS, bool WHOLE>
__global__ void __launch_bounds__(kThreads)
    frontier_short(T* __restrict__ out, const T* __restrict__ x, Index out_stride, Index x_stride,
                   Index rows, Index cols) {
  constexpr int kGroups = kThreads / LANES;
  const int lane = threadIdx.x % LANES, width = static_cast<int>(cols);
  // Neighbouring groups have neighbouring rows, so that a warp's loads are next to each other.
  const Index first = static_cast<Index>(blockIdx.x) * (kGroups * ROWS) + threadIdx.x / LANES;

  constexpr int kPacks = UNIT / PACK;
  Pack<T, PACK> held[ROWS][K][kPacks];
#pragma unroll
  for (int r = 0; r < ROWS; ++r) {
    const Index row = first + r * kGroups;
#pragma unroll
    for (int k = 0; k < K; ++k) {
      const int at = (k * LANES + lane) * UNIT;
      if (row < rows && (WHOLE || at < width)) {
        const T* const from = x + row * x_stride + at;
#pragma unroll
        for (int p = 0; p < kPacks; ++p) {
          held[r][k][p].word =
              *reinterpret_cast<const typename Pack<T, PACK>::Word*>(from + p * PACK);
        }
      }
    }
  }

#pragma unroll
  for (int r = 0; r < ROWS; ++r) {
    const Index row = first + r * kGroups;
    float value[K][UNIT], top = lowest(), sum = 0.0f;
#pragma unroll
    for (int k = 0; k < K; ++k) {
      const bool inside = WHOLE || (k * LANES + lane) * UNIT < width;
#pragma unroll
      for (int i = 0; i < UNIT; ++i) {
        value[k][i] = inside ? to_float(held[r][k][i / PACK].at[i % PACK]) : lowest();
        top = fmaxf(top, value[k][i]);
      }
    }
    top = warp_reduce<Max, LANES>(top);
#pragma unroll
    for (int k = 0; k < K; ++k) {
#pragma unroll
      for (int i = 0; i < UNIT; ++i) {
        const float shifted = value[k][i] - top;
        // what is beyond the row adds nothing, also where all of it is -inf and shifted is NaN
        const bool inside = WHOLE || (k * LANES + lane) * UNIT < width;
        const float exponential = inside ? exp_of(shifted) : 0.0f;
        sum += exponential;
        value[k][i] = Op::keep(shifted, exponential);
      }
    }
    const Op finish(warp_reduce<Sum, LANES>(sum));
    if (row >= rows) continue;
#pragma unroll
    for (int k = 0; k < K; ++k) {
      const int at = (k * LANES + lane) * UNIT;
      if (!WHOLE && at >= width) continue;
#pragma unroll
      for (int p = 0; p < kPacks; ++p) {
        float made[PACK];
#pragma unroll
        for (int i = 0; i < PACK; ++i) made[i] = finish.of_kept(value[k][p * PACK + i]);
        store(out + row * out_stride + at + p * PACK, made);
      }
    }
  }
}
