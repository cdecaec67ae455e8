// As much of CUDA as the kernels use, on one thread of a CPU: every CUDA thread is a fiber that
// runs until it has to wait for another. What is not checked on a GPU is checked here: that each
// 16-byte load touches the matrix, that each store lies inside it, that no thread waits for ever.
#pragma once
#include <ucontext.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

using std::max;
using std::min;

#define __CUDA_ARCH__ 900
#define __device__
#define __global__
#define __restrict__
#define __launch_bounds__(...)
#define __maxnreg__(...)

struct alignas(8) uint2 {
  unsigned x, y;
};
struct alignas(16) uint4 {
  unsigned x, y, z, w;
};
struct ulonglong2 {
  unsigned long long x, y;
};
inline uint2 make_uint2(unsigned x, unsigned y) { return {x, y}; }
inline uint4 make_uint4(unsigned x, unsigned y, unsigned z, unsigned w) { return {x, y, z, w}; }

constexpr int kLanes = 32;
constexpr size_t kStackBytes = 24 * 1024;
constexpr long kMaxRounds = 1000000;  // of all fibers; far more than any kernel needs

struct Block;
struct Waiting {  // for each other, all of them
  int count = 0;
  unsigned generation = 0;
};
struct Exchange {  // of a warp
  Waiting waiting;
  uint32_t value[kLanes];
};
struct Cluster {
  Waiting waiting;
  int threads = 0;
  std::vector<Block*> blocks;
};
struct Block {
  unsigned index = 0, rank = 0;
  int threads = 0;
  Waiting waiting;
  std::vector<Exchange> warps;
  std::map<int, std::vector<uint4>> statics;  // shared variables, in their order in the source
  std::vector<uint4> dynamic;
  Cluster* cluster = nullptr;
};
struct Fiber {
  ucontext_t context;
  Block* block = nullptr;
  unsigned thread = 0, arrived_in = 0;
  bool done = false;
  std::vector<char> stack;
  std::vector<std::function<void()>> in_flight;  // copies that arrive when it waits
};

inline Fiber* current = nullptr;
inline ucontext_t scheduler;
inline unsigned blocks_of_grid = 0;
inline std::string problem;                      // the first that was found
using Extent = std::pair<uintptr_t, uintptr_t>;  // first byte, and the one after the last
inline std::vector<Extent> readable;
inline Extent writable;

inline void yield() { swapcontext(&current->context, &scheduler); }
[[noreturn]] inline void stop(const std::string& what) {
  if (problem.empty()) {
    problem = what + " in thread " + std::to_string(current->thread) + " of block " +
              std::to_string(current->block->index);
  }
  while (true) yield();
}

struct Place {
  unsigned x;
};
#define threadIdx (Place{current->thread})
#define blockIdx (Place{current->block->index})
#define gridDim (Place{blocks_of_grid})

inline void meet(Waiting& all, int count) {
  const unsigned generation = all.generation;
  if (++all.count == count) {
    all.count = 0, ++all.generation;
  } else {
    while (all.generation == generation) yield();
  }
}
inline void __syncthreads() { meet(current->block->waiting, current->block->threads); }
inline Exchange& own_warp() { return current->block->warps[current->thread / kLanes]; }
inline void __threadfence() {}
inline int __ffs(unsigned bits) { return __builtin_ffs(bits); }
inline void __syncwarp() { meet(own_warp().waiting, kLanes); }

template <typename V>
V __shfl_sync(unsigned, V value, int lane) {
  Exchange& warp = own_warp();
  std::memcpy(&warp.value[current->thread % kLanes], &value, 4);
  __syncwarp();
  std::memcpy(&value, &warp.value[lane % kLanes], 4);
  __syncwarp();
  return value;
}
template <typename V>
V __shfl_xor_sync(unsigned mask, V value, int distance) {
  return __shfl_sync(mask, value, static_cast<int>(current->thread % kLanes) ^ distance);
}

inline unsigned __ballot_sync(unsigned mask, bool mine) {
  unsigned ballot = mine ? 1u << current->thread % kLanes : 0;
  for (int distance = kLanes / 2; distance > 0; distance /= 2)
    ballot |= __shfl_xor_sync(mask, ballot, distance);
  return ballot;
}
inline int __reduce_max_sync(unsigned mask, int value) {
  for (int distance = kLanes / 2; distance > 0; distance /= 2)
    value = max(value, __shfl_xor_sync(mask, value, distance));
  return value;
}

inline unsigned __funnelshift_r(unsigned low, unsigned high, int bits) {
  return bits % 32 ? low >> bits % 32 | high << (32 - bits % 32) : low;
}
inline unsigned __byte_perm(unsigned low, unsigned high, unsigned which) {
  const uint64_t both = low | static_cast<uint64_t>(high) << 32;
  unsigned made = 0;
  for (int i = 0; i < 4; ++i) made |= (both >> (which >> 4 * i & 7) * 8 & 0xff) << 8 * i;
  return made;
}
inline float __int_as_float(int bits) {
  float value;
  std::memcpy(&value, &bits, 4);
  return value;
}
inline unsigned __float_as_uint(float value) {
  unsigned bits;
  std::memcpy(&bits, &value, 4);
  return bits;
}
inline float __uint_as_float(unsigned bits) { return __int_as_float(static_cast<int>(bits)); }
inline float __fmul_rn(float a, float b) { return a * b; }
inline float __fadd_rn(float a, float b) { return a + b; }
inline float __fsub_rn(float a, float b) { return a - b; }
inline float __log2f(float x) { return std::log2(x); }
inline float __fdividef(float a, float b) { return a / b; }
inline float __expf(float x) { return std::exp(x); }
inline unsigned atomicAdd(unsigned* to, unsigned value) {
  yield();
  return (*to += value) - value;
}

template <typename Vec>
void check_load(const Vec* from) {
  const auto at = reinterpret_cast<uintptr_t>(from);
  if (at % sizeof(Vec)) stop("a load that is not aligned");
  for (const auto& [begin, end] : readable)
    if (at + sizeof(Vec) > begin && at < end) return;
  stop("a load that touches nothing of what is read");
}
template <typename Vec>
Vec __ldg(const Vec* from) {
  check_load(from);
  return *from;
}
template <typename Vec>
void checked_store(Vec* to, Vec vec) {
  const auto at = reinterpret_cast<uintptr_t>(to);
  if (at % sizeof(Vec)) stop("a store that is not aligned");
  if (at < writable.first || at + sizeof(Vec) > writable.second) stop("a store outside out");
  *to = vec;
}

template <typename Vec>
void __stcs(Vec* to, Vec vec) {
  checked_store(to, vec);
}

// A shared variable of this block, as undefined as on a GPU before it is written.
template <typename V>
V& shared_variable(int number) {
  std::vector<uint4>& buffer = current->block->statics[number];
  if (buffer.empty()) buffer.assign((sizeof(V) + 15) / 16, {~0u, ~0u, ~0u, ~0u});
  return *reinterpret_cast<V*>(buffer.data());
}
// The same place in the shared memory of another block of the cluster.
template <typename V>
V* in_block(V* place, unsigned rank) {
  const auto at = reinterpret_cast<uintptr_t>(place);
  for (auto& [number, buffer] : current->block->statics) {
    const auto begin = reinterpret_cast<uintptr_t>(buffer.data());
    if (at < begin || at >= begin + 16 * buffer.size()) continue;
    std::vector<uint4>& there = current->block->cluster->blocks[rank]->statics[number];
    if (there.empty()) there.assign(buffer.size(), {~0u, ~0u, ~0u, ~0u});
    return reinterpret_cast<V*>(reinterpret_cast<char*>(there.data()) + (at - begin));
  }
  stop("an address that is not in shared memory");
}

inline void begin_copy_of_vec(uint4* to, const uint4* from) {
  const std::vector<uint4>& buffer = current->block->dynamic;
  check_load(from);
  if (to < buffer.data() || to >= buffer.data() + buffer.size())
    stop("a copy outside of shared memory");
  current->in_flight.push_back([=] { *to = *from; });
}
inline void begin_copy_of_word(unsigned* to, const unsigned* from) {
  unsigned* const place = in_block(to, current->block->rank);  // stops outside of shared memory
  current->in_flight.push_back([=] { *place = *from; });
}
inline void end_copies() {
  for (const auto& arrive : current->in_flight) arrive();
  current->in_flight.clear();
}
// Bytes that other blocks write: a barrier opens when all that it expects have arrived.
inline std::map<void*, long> expected;
template <typename M>
void arrive(M* mbarrier, long bytes) {
  if (mbarrier->barrier) stop("bytes for a barrier that is open");
  if ((expected[mbarrier] -= bytes) == 0) mbarrier->barrier = 1;
}

// Bulk copies happen as late as they may: loads when a barrier is waited for, stores when what they
// read must be free again. So a part of a ring that is used too early has wrong values.
inline std::map<void*, unsigned> phases;  // that have ended, of a barrier
inline std::vector<std::function<void()>> bulk_stores;
template <typename M>
void begin_bulk_load(uint4* to, const char* from, unsigned bytes, M* mbarrier) {
  for (unsigned at = 0; at < bytes; at += 16) check_load(from + at);
  const std::vector<uint4>& buffer = current->block->dynamic;
  if (bytes % 16 || to < buffer.data() || to + bytes / 16 > buffer.data() + buffer.size())
    stop("a bulk copy outside of shared memory, or of a part of a vector");
  current->in_flight.push_back([=] { std::memcpy(to, from, bytes), arrive(mbarrier, bytes); });
}
template <typename M>
void wait_for_phase(M* mbarrier, unsigned phase) {
  end_copies();
  if (!mbarrier->barrier) stop("a wait for bytes that nobody sends");
  if (phases[mbarrier]++ % 2 != phase) stop("a wait for another phase");
  mbarrier->barrier = 0;
}
inline void begin_bulk_store(char* to, const uint4* from, unsigned bytes) {
  bulk_stores.push_back([=] {
    for (unsigned i = 0; i < bytes / 16; ++i) checked_store((uint4*)to + i, from[i]);
  });
}
inline void end_bulk_stores(size_t pending) {
  while (bulk_stores.size() > pending) {
    bulk_stores.front()();
    bulk_stores.erase(bulk_stores.begin());
  }
}

inline std::function<void()> kernel_call;
inline void run_fiber() {
  kernel_call();
  current->done = true;
  yield();
}

// Blocks `first` to `last` - 1 of a launch, all of them at once.
inline void run_blocks(unsigned first, unsigned last, int threads, int cluster, size_t dynamic) {
  std::vector<std::unique_ptr<Block>> blocks;
  std::vector<std::unique_ptr<Cluster>> clusters;
  std::vector<std::unique_ptr<Fiber>> fibers;
  for (unsigned index = first; index < last; ++index) {
    if (index % cluster == 0) {
      clusters.push_back(std::make_unique<Cluster>());
      clusters.back()->threads = threads * cluster;
    }
    blocks.push_back(std::make_unique<Block>());
    Block& block = *blocks.back();
    block.index = index, block.rank = index % cluster, block.threads = threads;
    block.warps.resize((threads + kLanes - 1) / kLanes);
    block.dynamic.assign((dynamic + 15) / 16, {~0u, ~0u, ~0u, ~0u});
    block.cluster = clusters.back().get();
    block.cluster->blocks.push_back(&block);
    for (int thread = 0; thread < threads; ++thread) {
      fibers.push_back(std::make_unique<Fiber>());
      Fiber& fiber = *fibers.back();
      fiber.block = &block, fiber.thread = thread, fiber.stack.resize(kStackBytes);
      getcontext(&fiber.context);
      fiber.context.uc_stack.ss_sp = fiber.stack.data();
      fiber.context.uc_stack.ss_size = fiber.stack.size();
      makecontext(&fiber.context, run_fiber, 0);
    }
  }
  for (long round = 0, left = fibers.size(); left && problem.empty(); ++round) {
    if (round == kMaxRounds) problem = "threads wait for ever";
    for (auto& fiber : fibers) {
      if (fiber->done) continue;
      current = fiber.get();
      swapcontext(&scheduler, &fiber->context);
      left -= fiber->done;
    }
  }
  expected.clear(), phases.clear();
}

inline void launch(unsigned blocks, int threads, int cluster, size_t dynamic, bool all_at_once,
                   std::function<void()> call) {
  kernel_call = std::move(call), blocks_of_grid = blocks;
  const unsigned step = all_at_once ? blocks : cluster;
  for (unsigned first = 0; first < blocks && problem.empty(); first += step) {
    run_blocks(first, min(blocks, first + step), threads, cluster, dynamic);
  }
}
