// Roofline kernels: copy a matrix, add two, or read one, moving each byte once. *_vecs kernels use
// vector loads and stores; *_bulk kernels use bulk copies (TMA) through shared memory. Matrices are
// contiguous and 16-byte aligned; the first block handles elements beyond the last whole vector.
#include "mbarrier.cuh"
#include "vec.cuh"

// HINT: with 1, loads allocate no line in L1; with 2, stores are moreover evict-first in L2.
template <int HINT>
__device__ inline uint4 load_hinted(const void* from) {
  return HINT > 0 ? load_vec_once(from) : load_vec(from);
}
template <int HINT>
__device__ inline void store_hinted(void* to, uint4 vec) {
  uint4* const vec_to = reinterpret_cast<uint4*>(to);
  HINT > 1 ? __stcs(vec_to, vec) : store_vec(vec_to, vec);
}

constexpr int kLanesOfSM = 2048, kRegistersOfSM = 65536;

template <int N>
struct Constant {
  static constexpr int value = N;
};

// Copy the elements beyond the last whole vector; the first block does this.
template <typename T>
__device__ inline void copy_rest(T* out, const T* x, Index elems) {
  const Index at = elems / kVecElems<T> * kVecElems<T> + threadIdx.x;
  if (blockIdx.x == 0 && at < elems) out[at] = x[at];
}

// Return the bits of a 32-bit or 16-bit element.
template <typename T>
__device__ inline unsigned bits_of(T element) {
  if constexpr (sizeof(T) == 4) {
    return __float_as_uint(element);
  } else {
    return *reinterpret_cast<const unsigned short*>(&element);
  }
}

// Move K vectors per lane: the first at element `at`, the others `step` elements apart. All loads
// are issued before the first store.
template <typename T, int K, int HINT>
__device__ inline void copy_lane(T* out, const T* x, Index at, int step) {
  uint4 vec[K];
#pragma unroll
  for (int k = 0; k < K; ++k) vec[k] = load_hinted<HINT>(x + at + k * step);
#pragma unroll
  for (int k = 0; k < K; ++k) store_hinted<HINT>(out + at + k * step, vec[k]);
}
template <typename T, int K, int HINT>
__device__ inline void add_lane(T* out, const T* g, const T* y, Index at, int step) {
  uint4 g_vec[K], y_vec[K];
#pragma unroll
  for (int k = 0; k < K; ++k) {
    g_vec[k] = load_hinted<HINT>(g + at + k * step);
    y_vec[k] = load_hinted<HINT>(y + at + k * step);
  }
#pragma unroll
  for (int k = 0; k < K; ++k) {
    float sum[kVecElems<T>], more[kVecElems<T>];
    unpack<T>(g_vec[k], sum);
    unpack<T>(y_vec[k], more);
#pragma unroll
    for (int i = 0; i < kVecElems<T>; ++i) sum[i] += more[i];
    store_hinted<HINT>(out + at + k * step, pack<T>(sum));
  }
}

// Grid-stride loop over all whole vectors: call move(count, at, step), where count::value is K in a
// full turn of the block, and 1 for what is left in the last one.
template <typename T, int K, int WARPS, typename Move>
__device__ inline void for_all_vecs(Index elems, Move move) {
  constexpr int kStep = kWarp * WARPS * kVecElems<T>;  // from a lane's vector to its next
  const Index end = elems / kVecElems<T> * kVecElems<T>;
  for (Index first = Index{K * kStep} * blockIdx.x; first < end;
       first += Index{K * kStep} * gridDim.x) {
    const Index at = first + threadIdx.x * kVecElems<T>;
    if (first + K * kStep <= end) {
      move(Constant<K>{}, at, kStep);
    } else {
#pragma unroll 1
      for (Index last = at; last < end; last += kStep) move(Constant<1>{}, last, kStep);
    }
  }
}

// Minimum of resident blocks per multiprocessor. Without it the compiler uses few registers, and
// stores some of the vectors before it has loaded the others.
template <int READS, int K, int WARPS>
constexpr int kResident =
    kLanesOfSM / (kWarp * WARPS) < kRegistersOfSM / (kWarp * WARPS * (4 * K * READS + 16 * READS))
        ? kLanesOfSM / (kWarp * WARPS)
        : kRegistersOfSM / (kWarp * WARPS * (4 * K * READS + 16 * READS));

// Copy x to out.
template <typename T, int K, int WARPS, int HINT>
__global__ void __launch_bounds__(kWarp* WARPS, kResident<1, K, WARPS>)
    copy_vecs(T* __restrict__ out, const T* __restrict__ x, Index, Index, Index rows, Index cols) {
  for_all_vecs<T, K, WARPS>(rows * cols, [=](auto count, Index at, int step) {
    copy_lane<T, count.value, HINT>(out, x, at, step);
  });
  copy_rest(out, x, rows * cols);
}

// Write g + y, computed in float32 and rounded once, to out.
template <typename T, int K, int WARPS, int HINT>
__global__ void __launch_bounds__(kWarp* WARPS, kResident<2, K, WARPS>)
    add_vecs(T* __restrict__ out, const T* __restrict__ g, const T* __restrict__ y, Index, Index,
             Index, Index rows, Index cols) {
  const Index elems = rows * cols, at = elems / kVecElems<T> * kVecElems<T> + threadIdx.x;
  for_all_vecs<T, K, WARPS>(elems, [=](auto count, Index first, int step) {
    add_lane<T, count.value, HINT>(out, g, y, first, step);
  });
  if (blockIdx.x == 0 && at < elems) from_float(out[at], to_float(g[at]) + to_float(y[at]));
}

// Return the exclusive or of all threads' values, to the first thread.
template <int WARPS>
__device__ inline unsigned block_xor(unsigned value) {
  __shared__ unsigned warp_words[WARPS];
#pragma unroll
  for (int lanes = kWarp / 2; lanes > 0; lanes /= 2) {
    value ^= __shfl_xor_sync(~0u, value, lanes);
  }
  if (threadIdx.x % kWarp == 0) warp_words[threadIdx.x / kWarp] = value;
  __syncthreads();
  value = 0;
  for (int warp = 0; warp < WARPS; ++warp) value ^= warp_words[warp];
  return value;
}

// Read x. Each block writes one word: the exclusive or of all that it has read. All K loads of a
// lane are issued before the first is used.
template <typename T, int K, int WARPS, int HINT>
__global__ void __launch_bounds__(kWarp* WARPS, kResident<1, K, WARPS>)
    read_vecs(T* __restrict__ out, const T* __restrict__ x, Index, Index, Index rows, Index cols) {
  unsigned word = 0;
  for_all_vecs<T, K, WARPS>(rows * cols, [&](auto count, Index at, int step) {
    uint4 vec[count.value];
#pragma unroll
    for (int k = 0; k < count.value; ++k) vec[k] = load_hinted<HINT>(x + at + k * step);
#pragma unroll
    for (int k = 0; k < count.value; ++k) word ^= vec[k].x ^ vec[k].y ^ vec[k].z ^ vec[k].w;
  });
  const Index at = rows * cols / kVecElems<T> * kVecElems<T> + threadIdx.x;
  if (blockIdx.x == 0 && at < rows * cols) word ^= bits_of(x[at]);
  word = block_xor<WARPS>(word);
  if (threadIdx.x == 0) reinterpret_cast<unsigned*>(out)[blockIdx.x] = word;
}

// An mbarrier that is reused, as a ring of buffers needs it: its phase alternates between 0 and 1.
struct RingBarrier : Mbarrier {
  __device__ void wait_for(unsigned phase) {
    unsigned done = 0;
    while (!done) {
      asm volatile(
          "{\n .reg .pred p;\n"
          " mbarrier.try_wait.parity.shared::cta.b64 p, [%1], %2;\n"
          " selp.u32 %0, 1, 0, p;\n}"
          : "=r"(done)
          : "r"(shared_address(&barrier)), "r"(phase)
          : "memory");
    }
  }
};

// Bulk copies (TMA), compute capability 9.0. Addresses and sizes are multiples of 16 bytes. PTX
// ISA, "cp.async.bulk" and "createpolicy".
template <bool FIRST>
__device__ inline unsigned long long l2_policy() {
  unsigned long long policy;
  if (FIRST) {
    asm("createpolicy.fractional.L2::evict_first.b64 %0, 1.0;" : "=l"(policy));
  } else {
    asm("createpolicy.fractional.L2::evict_normal.b64 %0, 1.0;" : "=l"(policy));
  }
  return policy;
}
__device__ inline void load_bulk(uint4* to, const char* from, unsigned bytes, RingBarrier* loaded,
                                 unsigned long long policy) {
  asm volatile(
      "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.L2::cache_hint"
      " [%0], [%1], %2, [%3], %4;" ::"r"(shared_address(to)),
      "l"(from), "r"(bytes), "r"(shared_address(&loaded->barrier)), "l"(policy)
      : "memory");
}
__device__ inline void store_bulk(char* to, const uint4* from, unsigned bytes,
                                  unsigned long long policy) {
  asm volatile(
      "cp.async.bulk.global.shared::cta.bulk_group.L2::cache_hint [%0], [%1], %2, %3;\n"
      "cp.async.bulk.commit_group;" ::"l"(to),
      "r"(shared_address(from)), "r"(bytes), "l"(policy)
      : "memory");
}
// Wait until all bulk stores of this thread but the last PENDING have read their shared memory.
template <int PENDING>
__device__ inline void wait_for_reads() {
  asm volatile("cp.async.bulk.wait_group.read %0;" ::"n"(PENDING) : "memory");
}

// Copy x to out by bulk copies. One thread per block passes parts of STAGE_BYTES through a ring of
// STAGES buffers in shared memory: while one part is stored, the next ones are loaded, and no data
// pass through registers. A block takes every gridDim.x-th part. HINT: with 1, loads are
// evict-first in L2; with 2, stores are as well.
template <typename T, int STAGE_BYTES, int STAGES, int HINT>
__global__ void __launch_bounds__(kWarp)
    copy_bulk(T* __restrict__ out, const T* __restrict__ x, Index, Index, Index rows, Index cols) {
  static_assert(STAGES > 1, "a part is stored while another one is loaded");
  extern __shared__ __align__(128) uint4 ring[];
  __shared__ RingBarrier loaded[STAGES];
  copy_rest(out, x, rows * cols);
  if (threadIdx.x != 0) return;
  const Index bytes = rows * cols / kVecElems<T> * kVecBytes;
  const Index parts = (bytes + STAGE_BYTES - 1) / STAGE_BYTES;
  const char* const from = reinterpret_cast<const char*>(x);
  char* const to = reinterpret_cast<char*>(out);
  const unsigned long long load_policy = l2_policy<(HINT > 0)>();
  const unsigned long long store_policy = l2_policy<(HINT > 1)>();
  const auto place = [&](int stage) { return ring + stage * (STAGE_BYTES / kVecBytes); };
  const auto size = [&](Index part) {
    const Index left = bytes - part * STAGE_BYTES;
    return static_cast<unsigned>(left < STAGE_BYTES ? left : STAGE_BYTES);
  };
  const auto load = [&](int stage, Index part) {
    loaded[stage].expect_tx(size(part));
    load_bulk(place(stage), from + part * STAGE_BYTES, size(part), &loaded[stage], load_policy);
  };
  for (int stage = 0; stage < STAGES; ++stage) loaded[stage].init();
  fence_mbarrier_init();
  Index next = blockIdx.x;  // part to load
  for (int stage = 0; stage < STAGES && next < parts; ++stage, next += gridDim.x) load(stage, next);
  int stage = 0, before = STAGES;  // `before`: stage of the previous turn; STAGES in the first
  unsigned phase = 0;
  for (Index part = blockIdx.x; part < parts; part += gridDim.x) {
    loaded[stage].wait_for(phase);
    store_bulk(to + part * STAGE_BYTES, place(stage), size(part), store_policy);
    if (before < STAGES && next < parts) {
      wait_for_reads<1>();
      load(before, next);
      next += gridDim.x;
    }
    before = stage;
    if (++stage == STAGES) stage = 0, phase ^= 1;
  }
  wait_for_reads<0>();
}

// Read x by bulk copies, into a ring as in copy_bulk. A block writes one word: the exclusive or of
// the first words of its parts. HINT: with 1, loads are evict-first in L2.
template <typename T, int STAGE_BYTES, int STAGES, int HINT>
__global__ void __launch_bounds__(kWarp)
    read_bulk(T* __restrict__ out, const T* __restrict__ x, Index, Index, Index rows, Index cols) {
  extern __shared__ __align__(128) uint4 ring[];
  __shared__ RingBarrier loaded[STAGES];
  if (threadIdx.x != 0) return;
  const Index bytes = rows * cols / kVecElems<T> * kVecBytes;
  const Index parts = (bytes + STAGE_BYTES - 1) / STAGE_BYTES;
  const char* const from = reinterpret_cast<const char*>(x);
  const unsigned long long policy = l2_policy<(HINT > 0)>();
  const auto place = [&](int stage) { return ring + stage * (STAGE_BYTES / kVecBytes); };
  const auto load = [&](int stage, Index part) {
    const Index left = bytes - part * STAGE_BYTES;
    const unsigned size = left < STAGE_BYTES ? left : STAGE_BYTES;
    loaded[stage].expect_tx(size);
    load_bulk(place(stage), from + part * STAGE_BYTES, size, &loaded[stage], policy);
  };
  for (int stage = 0; stage < STAGES; ++stage) loaded[stage].init();
  fence_mbarrier_init();
  Index next = blockIdx.x;  // part to load
  for (int stage = 0; stage < STAGES && next < parts; ++stage, next += gridDim.x) load(stage, next);
  unsigned word = 0, phase = 0;
  int stage = 0;
  for (Index part = blockIdx.x; part < parts; part += gridDim.x) {
    loaded[stage].wait_for(phase);
    word ^= place(stage)[0].x;
    if (next < parts) {
      load(stage, next);
      next += gridDim.x;
    }
    if (++stage == STAGES) stage = 0, phase ^= 1;
  }
  if (blockIdx.x == 0) {
    for (Index at = rows * cols / kVecElems<T> * kVecElems<T>; at < rows * cols; ++at) {
      word ^= bits_of(x[at]);
    }
  }
  reinterpret_cast<unsigned*>(out)[blockIdx.x] = word;
}
