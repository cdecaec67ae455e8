// The mean or the sum of the losses of rows, and what their gradients are multiplied by.
#include "reduce.cuh"

// One block. losses, targets: (rows,). result: their mean, or their sum if IS_SUM. scale: 1 / the
// number of targets that are not `ignore_index`, or 1. The order of the sum follows from `rows`
// alone.
template <int THREADS, bool IS_SUM>
__global__ void __launch_bounds__(THREADS)
    loss_mean(float* __restrict__ result, const float* __restrict__ losses,
              float* __restrict__ scale, const Index* __restrict__ targets, Index rows,
              Index ignore_index) {
  __shared__ float parts[2][THREADS / kWarp];
  float sum = 0.0f, count = 0.0f;
  for (Index row = threadIdx.x; row < rows; row += THREADS) {
    sum += losses[row];
    count += targets[row] == ignore_index ? 0.0f : 1.0f;
  }
  sum = block_reduce<Sum, THREADS>(sum, parts[0]);
  count = block_reduce<Sum, THREADS>(count, parts[1]);
  if (threadIdx.x != 0) return;
  *result = IS_SUM ? sum : sum / count;
  *scale = IS_SUM ? 1.0f : 1.0f / count;
}
