// The gradients of logits_forward.cu with respect to the logits, element by element from what the
// forward saved of each row.
#include "logit_gradient.cuh"

// dx and x: (rows, cols); dx may be x. g: (rows, index_count), or (rows,) of operations without an
// index; one number for all rows if g_stride is 0. A null g stands for 1. g_scale: a factor of g,
// or null. h: (rows,), the incoming gradient of the entropies, or null. maxima, log_sums: as in
// logits_forward.cu. A row has `row_blocks` blocks.
template <typename T>
struct Arguments : RowArguments {
  T* dx;
  const T* x;
  const float* g;
  Index dx_stride, x_stride, rows, cols, g_stride;
  const float* g_scale;
  const float* maxima;
  const float* log_sums;
  const float* h;
  const float* entropies;
  Index row_blocks;
};

__device__ const float kOne = 1.0f;

// K: vectors of each of THREADS threads.
template <typename T, typename Op, int K, int THREADS>
__global__ void __launch_bounds__(THREADS) logits_backward(const Arguments<T> arguments) {
  constexpr int kElems = kVecElems<T>;
  const unsigned row_blocks = static_cast<unsigned>(arguments.row_blocks);
  const Index row = blockIdx.x / row_blocks;
  const int first_vec = static_cast<int>(blockIdx.x % row_blocks) * (K * THREADS) + threadIdx.x;
  const T* const x_row = arguments.x + row * arguments.x_stride;
  T* const dx_row = arguments.dx + row * arguments.dx_stride;
  const AlignedRow<const T> from(x_row);
  const AlignedRow<T> to(dx_row);
  const int width = static_cast<int>(arguments.cols);
  // Vectors of x and dx that begin at other elements have no common vector.
  const bool in_vectors = from.off == to.off;
  const bool skipped = arguments.template skips<Op>(row);

  uint4 vec[K];
  const auto columns = [&](int k) {
    return Columns<const T>(from, first_vec + k * THREADS, width);
  };
  const auto is_whole = [&](int k) { return in_vectors && columns(k).fill_vec(); };
#pragma unroll
  for (int k = 0; k < K; ++k) {
    vec[k] = uint4{};
    if (is_whole(k) && !skipped)
      vec[k] = *reinterpret_cast<const uint4*>(from.at(first_vec + k * THREADS));
  }

  const float inverse = arguments.inverse_of(row);
  const float g_scale = arguments.g_scale == nullptr ? 1.0f : *arguments.g_scale;
  const float* const g = arguments.g == nullptr ? &kOne : arguments.g;
  RowGradient<T, true> gradient{arguments.maxima[row], arguments.log_sums[row], inverse};
  if constexpr (Op::kHasIndex) {
    gradient.index_count = arguments.index_count, gradient.per_g = inverse;
    gradient.index = arguments.index + row * gradient.index_count;
    gradient.g = g + row * arguments.g_stride;
    gradient.per_g *= g_scale;
    float total = 0.0f;
    for (Index k = 0; k < gradient.index_count; ++k) total += gradient.g[k];
    gradient.scale = -total * gradient.per_g;
  } else {
    gradient.scale = g[row * arguments.g_stride] * g_scale * inverse;
  }
  if constexpr (Op::kIsLoss) gradient.make_loss(arguments, width);
  if (arguments.h != nullptr) {
    gradient.entropy_scale = -arguments.h[row] * inverse;
    gradient.entropy = arguments.entropies[row];
  }

  unsigned by_elements = 0;  // bits of vectors that are not whole, or that have an index
#pragma unroll
  for (int k = 0; k < K; ++k) by_elements |= is_whole(k) ? 0u : 1u << k;
  for (Index i = 0; i < gradient.index_count; ++i) {
    const Index vecs_on = (gradient.index[i] + from.elements_off()) / kElems - first_vec;
    if (vecs_on >= 0 && vecs_on < K * THREADS && vecs_on % THREADS == 0)
      by_elements |= 1u << (vecs_on / THREADS);
  }
#pragma unroll
  for (int k = 0; k < K; ++k) {
    if (by_elements >> k & 1) continue;
    float value[kElems];
    unpack<T>(vec[k], value);
#pragma unroll
    for (int i = 0; i < kElems; ++i) value[i] = skipped ? 0.0f : gradient.from_x(value[i]);
    store_vec(reinterpret_cast<uint4*>(to.at(first_vec + k * THREADS)), pack<T>(value));
  }
#pragma unroll 1
  for (int k = 0; k < K; ++k) {
    if (!(by_elements >> k & 1)) continue;
#pragma unroll 1
    for (int i = columns(k).begin; i < columns(k).end; ++i)
      from_float(dx_row[i], skipped ? 0.0f : gradient.of(to_float(x_row[i]), i));
  }
}

// Multiply each row by a number, in place. Rows whose number is 1 are skipped: that is a plain
// loss.backward(), and the host cannot know it without waiting for the GPU.
// dx: (rows, cols). g: (rows,), or one number for all rows if g_stride is 0. A row has `row_blocks`
// blocks, whose threads have K vectors each.
template <typename T, int K, int THREADS>
__global__ void __launch_bounds__(THREADS)
    multiply_rows(T* dx, const float* g, Index dx_stride, Index g_stride, Index cols,
                  Index row_blocks) {
  constexpr int kElems = kVecElems<T>;
  const unsigned blocks = static_cast<unsigned>(row_blocks);
  const Index row = blockIdx.x / blocks;
  const float factor = g[row * g_stride];
  if (factor == 1.0f) return;
  T* const dx_row = dx + row * dx_stride;
  const AlignedRow<T> aligned(dx_row);
  const int first_vec = static_cast<int>(blockIdx.x % blocks) * (K * THREADS) + threadIdx.x;
  const int width = static_cast<int>(cols);
#pragma unroll
  for (int k = 0; k < K; ++k) {
    const int vec = first_vec + k * THREADS;
    if (const Columns<T> columns(aligned, vec, width); columns.fill_vec()) {
      uint4* const to = reinterpret_cast<uint4*>(aligned.at(vec));
      float value[kElems];
      unpack<T>(*to, value);
#pragma unroll
      for (int i = 0; i < kElems; ++i) value[i] *= factor;
      store_vec(to, pack<T>(value));
    } else {
      for (int i = columns.begin; i < columns.end; ++i)
        from_float(dx_row[i], to_float(dx_row[i]) * factor);
    }
  }
}
