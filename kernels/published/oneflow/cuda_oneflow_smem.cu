// OneFlow's softmax for rows that fit in shared memory: a block per row, each element read once.
#include "epilogue.cuh"
#include "reduce.cuh"

// PACK: elements per load; divides cols. THREADS: of the block. Dynamic shared memory: one row in
// float32, with element i of pack p at [i * packs + p]. So the 32 lanes of a warp, which have
// adjacent packs, always access 32 different banks.
template <typename T, typename Epilogue, int PACK, int THREADS>
__global__ void oneflow_smem(T* __restrict__ out, const T* __restrict__ x, Index out_stride,
                             Index x_stride, Index rows, Index cols) {
  extern __shared__ float kept[];
  __shared__ float max_parts[THREADS / kWarp];
  __shared__ float sum_parts[THREADS / kWarp];
  const int packs = static_cast<int>(cols) / PACK;

  for (Index row = blockIdx.x; row < rows; row += gridDim.x) {
    const T* const x_row = x + row * x_stride;
    T* const out_row = out + row * out_stride;
    // A thread reads only its own packs again, so `kept` needs no barrier. Loops are unrolled
    // twice: more is not faster, and its registers would cost resident blocks.
    float row_max = lowest();
#pragma unroll 2
    for (int p = threadIdx.x; p < packs; p += THREADS) {
      float value[PACK];
      load(value, x_row + p * PACK);
#pragma unroll
      for (int i = 0; i < PACK; ++i) {
        kept[i * packs + p] = value[i];
        row_max = fmaxf(row_max, value[i]);
      }
    }
    row_max = block_reduce<Max, THREADS>(row_max, max_parts);

    float sum = 0.0f;
#pragma unroll 2
    for (int p = threadIdx.x; p < packs; p += THREADS) {
#pragma unroll
      for (int i = 0; i < PACK; ++i) {
        const float shifted = kept[i * packs + p] - row_max;
        const float exponential = __expf(shifted);
        sum += exponential;
        kept[i * packs + p] = Epilogue::first_pass(shifted, exponential);
      }
    }
    const Epilogue epilogue(block_reduce<Sum, THREADS>(sum, sum_parts));

#pragma unroll 2
    for (int p = threadIdx.x; p < packs; p += THREADS) {
      float value[PACK];
#pragma unroll
      for (int i = 0; i < PACK; ++i) value[i] = epilogue.from_kept(kept[i * packs + p]);
      store(out_row + p * PACK, value);
    }
  }
}
