// Short rows, up to a few KiB: LANES lanes of a warp share a row, so a warp serves 32 / LANES rows.
#include "epilogue.cuh"

// A lane holds K units of UNIT adjacent elements; consecutive lanes hold consecutive units. UNIT, K
// and LANES (a power of two) follow from cols alone, so sums do not depend on the address. PACK:
// elements per load or store, fewer than UNIT if rows are unaligned. FULL: cols is exactly
// K * LANES * UNIT, so no bounds are checked. THREADS: per block. In: the element type of x.
template <typename T, typename Epilogue, int UNIT, int PACK, int K, int LANES, bool FULL,
          int THREADS, typename In = T>
__global__ void __launch_bounds__(THREADS)
    frontier_short(T* __restrict__ out, const In* __restrict__ x, Index out_stride, Index x_stride,
                   Index rows, Index cols) {
  constexpr int kPacks = UNIT / PACK;
  const int lane = threadIdx.x % LANES, width = static_cast<int>(cols);
  // Adjacent groups of lanes take adjacent rows, so that a warp's loads are coalesced.
  const Index row = static_cast<Index>(blockIdx.x) * (THREADS / LANES) + threadIdx.x / LANES;

  Pack<In, PACK> loaded[K][kPacks];
#pragma unroll
  for (int k = 0; k < K; ++k) {
    const int col = (k * LANES + lane) * UNIT;
    if (row < rows && (FULL || col < width)) {
      const In* const from = x + row * x_stride + col;
#pragma unroll
      for (int p = 0; p < kPacks; ++p) {
        loaded[k][p].vec = *reinterpret_cast<const typename Pack<In, PACK>::Vec*>(from + p * PACK);
      }
    }
  }

  // Maximum, then sum of exp, over the LANES lanes of the row; other rows' lanes are not involved.
  float value[K * UNIT], row_max = lowest(), sum = 0.0f;
#pragma unroll
  for (int i = 0; i < K * UNIT; ++i) {
    const int k = i / UNIT, in_unit = i % UNIT;
    const bool inside = FULL || (k * LANES + lane) * UNIT < width;
    value[i] = inside ? to_float(loaded[k][in_unit / PACK].elems[in_unit % PACK]) : lowest();
    row_max = fmaxf(row_max, value[i]);
  }
  row_max = warp_reduce<Max, LANES>(row_max);
  Summation<typename Epilogue::template SumsOf<T, Epilogue::kScalesExp, (K * LANES * UNIT <= 16)>>
      summation(row_max);
  summation.shift(value);
#pragma unroll
  for (int i = 0; i < K * UNIT; ++i) {
    const float term = summation.term(value[i]);
    sum += term;
    if constexpr (Epilogue::kScalesExp) value[i] = term;
  }
  const typename Epilogue::template Of<T> epilogue(summation.template state<LANES>(sum));
  float factor = 1.0f;
  if constexpr (Epilogue::kScalesExp) factor = epilogue.scale;
  if (row >= rows) return;
#pragma unroll
  for (int k = 0; k < K; ++k) {
    const int col = (k * LANES + lane) * UNIT;
    if (!FULL && col >= width) continue;
#pragma unroll
    for (int p = 0; p < kPacks; ++p) {
      float result[PACK];
#pragma unroll
      for (int i = 0; i < PACK; ++i) {
        const float kept = value[k * UNIT + p * PACK + i];
        if constexpr (Epilogue::kScalesExp) {
          result[i] = epilogue.scaled(kept, factor);
        } else {
          result[i] = epilogue.from_x(kept);
        }
      }
      store(out + row * out_stride + col + p * PACK, result);
    }
  }
}
