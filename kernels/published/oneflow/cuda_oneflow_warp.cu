// OneFlow's softmax for short rows: a row in the registers of a warp, or of several of its lanes.
#include "epilogue.cuh"
#include "reduce.cuh"

// Epilogue: Softmax or LogSoftmax. PACK: elements per load. COLS: elements of a row per lane, a
// multiple of PACK. LANES: lanes that share a row, a power of two up to 32. ROWS: rows that they
// hold at once. FULL: a row is exactly COLS * LANES long, so that no column needs a check. THREADS:
// of a block.
template <typename T, typename Epilogue, int PACK, int COLS, int LANES, int ROWS, bool FULL,
          int THREADS>
__global__ void oneflow_warp(T* __restrict__ out, const T* __restrict__ x, Index out_stride,
                             Index x_stride, Index rows, Index cols) {
  constexpr int kPacks = COLS / PACK;
  constexpr int kRowsPerWarp = kWarp / LANES * ROWS;
  const int lane = threadIdx.x % LANES;
  const int group = threadIdx.x % kWarp / LANES;
  const Index warp = static_cast<Index>(blockIdx.x) * (THREADS / kWarp) + threadIdx.x / kWarp;
  const Index step = static_cast<Index>(gridDim.x) * (THREADS / kWarp) * kRowsPerWarp;

  // All lanes of a warp make the same iterations, for the shuffles; those beyond the last row idle.
  for (Index first = warp * kRowsPerWarp; first < rows; first += step) {
    const Index row = first + group * ROWS;
    const bool inside = row < rows;
    float value[ROWS][kPacks][PACK];
    float row_max[ROWS];
#pragma unroll
    for (int r = 0; r < ROWS; ++r) {
      row_max[r] = lowest();
#pragma unroll
      for (int p = 0; p < kPacks; ++p) {
        const int col = (p * LANES + lane) * PACK;
#pragma unroll
        for (int i = 0; i < PACK; ++i) value[r][p][i] = lowest();
        if (inside && (FULL || col < cols)) load(value[r][p], x + (row + r) * x_stride + col);
#pragma unroll
        for (int i = 0; i < PACK; ++i) row_max[r] = fmaxf(row_max[r], value[r][p][i]);
      }
    }
#pragma unroll
    for (int r = 0; r < ROWS; ++r) {
      row_max[r] = warp_reduce<Max, LANES>(row_max[r]);
      float sum = 0.0f;
#pragma unroll
      for (int p = 0; p < kPacks; ++p) {
#pragma unroll
        for (int i = 0; i < PACK; ++i) {
          const float shifted = value[r][p][i] - row_max[r];
          const float exponential = __expf(shifted);
          sum += exponential;
          value[r][p][i] = Epilogue::first_pass(shifted, exponential);
        }
      }
      const Epilogue epilogue(warp_reduce<Sum, LANES>(sum));
#pragma unroll
      for (int p = 0; p < kPacks; ++p) {
        const int col = (p * LANES + lane) * PACK;
#pragma unroll
        for (int i = 0; i < PACK; ++i) value[r][p][i] = epilogue.from_kept(value[r][p][i]);
        if (inside && (FULL || col < cols)) store(out + (row + r) * out_stride + col, value[r][p]);
      }
    }
  }
}
