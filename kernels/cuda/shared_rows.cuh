// Rows in shared memory, brought there by the copy engine; compute capability 9.0.
#pragma once
#include "frontier.cuh"

__device__ inline unsigned shared_address(const void* at) {
  return static_cast<unsigned>(__cvta_generic_to_shared(at));
}

// One copy into shared memory, and who waits for it: a barrier in shared memory that counts bytes.
struct Arrival {
  unsigned long long barrier;

  // By one thread, before anyone waits.
  __device__ void begin() {
    asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" ::"r"(shared_address(&barrier)));
    asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
    asm volatile("fence.proxy.async.shared::cta;" ::
                     : "memory");  // the copy engine must see it, too
  }

  // By one thread: `bytes`, both addresses multiples of 16.
  __device__ void copy(void* to, const void* from, unsigned bytes) {
    const unsigned here = shared_address(&barrier);
    // what was read from there comes before what the copy engine writes
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(here), "r"(bytes)
                 : "memory");
    asm volatile(
        "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::
            "r"(shared_address(to)),
        "l"(from), "r"(bytes), "r"(here)
        : "memory");
  }

  // By one thread, where there is nothing to copy this time.
  __device__ void nothing() {
    asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(shared_address(&barrier))
                 : "memory");
  }

  // By all who read what came with copy number `turn`, from 0.
  __device__ void wait(unsigned turn) {
    unsigned done = 0;
    while (!done) {
      asm volatile(
          "{\n .reg .pred p;\n"
          " mbarrier.try_wait.parity.shared::cta.b64 p, [%1], %2;\n"
          " selp.u32 %0, 1, 0, p;\n}"
          : "=r"(done)
          : "r"(shared_address(&barrier)), "r"(turn & 1)
          : "memory");
    }
  }
};

// A warp's share of a row in shared memory: `words` words from word `first` on. Like Span, but of
// any length, and with nothing in registers.
template <typename T, bool APART>
struct SharedSpan {
  static constexpr int kUnroll = APART ? 2 : 4;  // words that lie apart take more registers

  uint4* kept;  // room for words + 1
  int first, words, cols;
  int off = 0;  // elements of `kept` that come before the span

  // Start the copy of the span of a row; by the whole warp, when it is done with what lies there.
  __device__ void fetch(const T* x_row, Arrival& arrival) {
    const Aligned<const T> row(x_row);
    if constexpr (APART) off = row.elements_off();
    const int last = (cols + off - 1) / kWide<T>;  // of the row's aligned words
    const int count = min(words + (APART ? 1 : 0), last + 1 - first);
    __syncwarp();
    if (threadIdx.x % kWarp == 0) {
      if (count > 0) {
        arrival.copy(kept, row.at(first), count * kWordBytes);
      } else {
        arrival.nothing();
      }
    }
  }

  // kWide elements from element `at` of the row on; -inf for what is beyond the row.
  __device__ void elements(int at, float (&to)[kWide<T>]) const {
    if constexpr (!APART) {
      elements_of<T>(kept[at / kWide<T> - first], to, at, cols);
    } else {
      const int place = at - first * kWide<T> + off, word = place / kWide<T>;
      const uint4 low = kept[word];
      const int bytes = place % kWide<T> * static_cast<int>(sizeof(T));
      elements_of<T>(bytes ? middle(low, kept[word + 1], bytes) : low, to, at, cols);
    }
  }

  __device__ int end() const { return min((first + words) * kWide<T>, cols); }

  __device__ Part part() const {
    Part found = Part::none();
    float value[kWide<T>];
    const int begin = first * kWide<T> + threadIdx.x % kWarp * kWide<T>;
    constexpr int kStep = kWarp * kWide<T>;
#pragma unroll kUnroll
    for (int at = begin; at < end(); at += kStep) {
      elements(at, value);
#pragma unroll
      for (int i = 0; i < kWide<T>; ++i) found.max = fmaxf(found.max, value[i]);
    }
    const float base = found.base();
#pragma unroll kUnroll
    for (int at = begin; at < end(); at += kStep) {
      elements(at, value);
#pragma unroll
      for (int i = 0; i < kWide<T>; ++i) found.sum += exp_of(value[i] - base);
    }
    return found;
  }

  // The output by its own aligned words; those that are in part another warp's go element by
  // element.
  template <typename Op>
  __device__ void store(T* out_row, float max, const Op& finish) const {
    const int back = APART ? Aligned<T>(out_row).elements_off() : 0;
    const int from = first * kWide<T>, to = end();
    float value[kWide<T>];
#pragma unroll kUnroll
    for (int at = from - back + threadIdx.x % kWarp * kWide<T>; at < to; at += kWarp * kWide<T>) {
      if (at >= from && at + kWide<T> <= to) {
        elements(at, value);
        Pack<T, kWide<T>> pack;
#pragma unroll
        for (int i = 0; i < kWide<T>; ++i)
          from_float(pack.at[i], finish.of_shifted(value[i] - max));
        store_word(reinterpret_cast<uint4*>(out_row + at), pack.word);
      } else {
        store_some(out_row, at, from, to, max, finish);
      }
    }
  }

 private:
  template <typename Op>
  __device__ void store_some(T* out_row, int at, int from, int to, float max,
                             const Op& finish) const {
    const T* const elements = reinterpret_cast<const T*>(kept) + off - first * kWide<T>;
#pragma unroll 1
    for (int j = at < from ? from : at; j < to && j < at + kWide<T>; ++j) {
      from_float(out_row[j], finish.of_shifted(to_float(elements[j]) - max));
    }
  }
};
