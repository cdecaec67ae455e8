// OneFlow's softmax for rows of any length: a block per row, three passes over global memory.
#include "epilogue.cuh"
#include "reduce.cuh"

// PACK: elements per load; divides cols. The second and third pass are cheaper only by what L1 and
// L2 still hold. The compiler may unroll the loops without a limit, so one block is resident on a
// multiprocessor. At N = 65536 on an H200, which the dispatch sends here, one block was a fifth
// faster than two, whose rows no longer fit in L2 together.
template <typename T, typename Epilogue, int PACK, int THREADS>
__global__ void oneflow_uncached(T* __restrict__ out, const T* __restrict__ x, Index out_stride,
                                 Index x_stride, Index rows, Index cols) {
  __shared__ float max_parts[THREADS / kWarp];
  __shared__ float sum_parts[THREADS / kWarp];
  const Index packs = cols / PACK;

  for (Index row = blockIdx.x; row < rows; row += gridDim.x) {
    const T* const x_row = x + row * x_stride;
    T* const out_row = out + row * out_stride;
    float row_max = lowest();
    for (Index p = threadIdx.x; p < packs; p += THREADS) {
      float value[PACK];
      load(value, x_row + p * PACK);
#pragma unroll
      for (int i = 0; i < PACK; ++i) row_max = fmaxf(row_max, value[i]);
    }
    row_max = block_reduce<Max, THREADS>(row_max, max_parts);

    float sum = 0.0f;
    for (Index p = threadIdx.x; p < packs; p += THREADS) {
      float value[PACK];
      load(value, x_row + p * PACK);
#pragma unroll
      for (int i = 0; i < PACK; ++i) sum += __expf(value[i] - row_max);
    }
    const Epilogue epilogue(block_reduce<Sum, THREADS>(sum, sum_parts));

    for (Index p = threadIdx.x; p < packs; p += THREADS) {
      float value[PACK];
      load(value, x_row + p * PACK);
#pragma unroll
      for (int i = 0; i < PACK; ++i) {
        const float shifted = value[i] - row_max;
        value[i] = epilogue.from_kept(Epilogue::first_pass(shifted, __expf(shifted)));
      }
      store(out_row + p * PACK, value);
    }
  }
}
