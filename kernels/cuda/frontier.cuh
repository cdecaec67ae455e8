// What the frontier kernels share: 16-byte words of rows wherever these begin, and (max, sum)
// pairs.
#pragma once
#include "row.cuh"

constexpr float kLog2e = 1.44269504088896341f;
constexpr int kWordBytes = 16;

// Elements of a type in a word.
template <typename T>
constexpr int kWide = kWordBytes / static_cast<int>(sizeof(T));

// 2^x by the special function unit: 2 units in the last place (PTX ISA, ex2.approx), 0 for -inf.
__device__ inline float power_of_two(float x) {
  float y;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
  return y;
}

__device__ inline float exp_of(float x) { return power_of_two(x * kLog2e); }

// The 32-bit parts of words: one element of 32 bits, or two of 16, the first in the lower half.
// Larger ones, element by element; a number where the other is NaN.
template <typename T>
__device__ unsigned larger(unsigned a, unsigned b);
template <>
__device__ inline unsigned larger<float>(unsigned a, unsigned b) {
  return __float_as_uint(fmaxf(__uint_as_float(a), __uint_as_float(b)));
}
template <>
__device__ inline unsigned larger<Half>(unsigned a, unsigned b) {
  unsigned y;
  asm("max.f16x2 %0, %1, %2;" : "=r"(y) : "r"(a), "r"(b));
  return y;
}
template <>
__device__ inline unsigned larger<BFloat16>(unsigned a, unsigned b) {
  unsigned y;
  asm("max.bf16x2 %0, %1, %2;" : "=r"(y) : "r"(a), "r"(b));
  return y;
}
// Rounded to the nearest, both by one instruction.
__device__ inline void from_floats(Half (&y)[2], float first, float second) {
  unsigned both;
  asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(both) : "f"(second), "f"(first));
  y[0].bits = static_cast<unsigned short>(both);
  y[1].bits = static_cast<unsigned short>(both >> 16);
}
__device__ inline void from_floats(BFloat16 (&y)[2], float first, float second) {
  unsigned both;
  asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(both) : "f"(second), "f"(first));
  y[0].bits = static_cast<unsigned short>(both);
  y[1].bits = static_cast<unsigned short>(both >> 16);
}

// What is known of some elements: their maximum, and the sum of exp(x - maximum).
struct alignas(8) Part {  // one access moves both
  float max;
  float sum;
  __device__ static Part none() { return {lowest(), 0.0f}; }
  // From what exps are taken off: where all elements are -inf, -inf - -inf would make them NaN.
  __device__ float base() const { return max == lowest() ? 0.0f : max; }
};

// The same bits whichever comes first: sums and products are rounded one by one, as the compiler's
// fused ones are not.
__device__ inline Part joined(Part a, Part b) {
  Part both{fmaxf(a.max, b.max), 0.0f};
  const float of_a = __fmul_rn(a.sum, exp_of(a.max - both.base()));
  const float of_b = __fmul_rn(b.sum, exp_of(b.max - both.base()));
  both.sum = __fadd_rn(of_a, of_b);
  return both;
}

// Of LANES neighbouring lanes, known to each of them. All lanes of the warp must call it.
template <int LANES = kWarp>
__device__ inline Part joined_over_lanes(Part part) {
  Part all{warp_reduce<Max, LANES>(part.max), 0.0f};
  all.sum = warp_reduce<Sum, LANES>(part.sum * exp_of(part.max - all.base()));
  return all;
}

// 16 of the 32 bytes of two neighbouring words, from byte 4 * QUARTER + rest on, where `rest` is 0,
// or 2 for elements of 16 bits.
template <typename T, int QUARTER>
__device__ inline uint4 middle(uint4 low, uint4 high, int rest) {
  const unsigned r[8] = {low.x, low.y, low.z, low.w, high.x, high.y, high.z, high.w};
  unsigned y[4];
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    y[i] = r[QUARTER + i];
    if constexpr (sizeof(T) < 4) {
      y[i] = __funnelshift_r(y[i], r[QUARTER + i + 1], rest * 8);
    }
  }
  return make_uint4(y[0], y[1], y[2], y[3]);
}

template <int N>
struct Constant {
  static constexpr int value = N;
};

// run(Constant<bytes / 4>), for an even number of bytes below 16 that all threads of the warp have:
// one jump in place of many selections.
template <typename F>
__device__ inline void with_quarter(int bytes, const F& run) {
  switch (bytes / 4) {
    case 0:
      return run(Constant<0>());
    case 1:
      return run(Constant<1>());
    case 2:
      return run(Constant<2>());
    default:
      return run(Constant<3>());
  }
}

// Where a row lies among aligned words. Words of the row are counted from its first element, so
// that which elements meet in a sum does not depend on the row's address: word w is elements w *
// kWide ... The aligned word w begins `off` bytes before it.
template <typename T>
struct Aligned {
  T* words;  // aligned
  int off;   // bytes
  __device__ explicit Aligned(T* row) {
    const unsigned long long address = reinterpret_cast<unsigned long long>(row);
    off = static_cast<int>(address % kWordBytes);
    words = reinterpret_cast<T*>(address - off);
  }
  __device__ T* at(int word) const { return words + word * kWide<T>; }
  __device__ int elements_off() const { return off / static_cast<int>(sizeof(T)); }
};

__device__ inline uint4 load_word(const void* from) {
  return __ldg(reinterpret_cast<const uint4*>(from));
}

template <typename T>
__device__ inline void elements_of(uint4 word, float (&to)[kWide<T>]) {
  Pack<T, kWide<T>> pack;
  pack.word = word;
#pragma unroll
  for (int i = 0; i < kWide<T>; ++i) to[i] = to_float(pack.at[i]);
}

template <typename T>
__device__ inline uint4 word_of(const float (&from)[kWide<T>]) {
  Pack<T, kWide<T>> pack;
  if constexpr (sizeof(T) == sizeof(float)) {
#pragma unroll
    for (int i = 0; i < kWide<T>; ++i) from_float(pack.at[i], from[i]);
  } else {
#pragma unroll
    for (int i = 0; i < kWide<T>; i += 2) {
      T pair[2];
      from_floats(pair, from[i], from[i + 1]);
      pack.at[i] = pair[0], pack.at[i + 1] = pair[1];
    }
  }
  return pack.word;
}

// The first `count` elements of a word, and -inf behind them, which counts in no maximum and in no
// sum.
template <typename T>
__device__ inline uint4 cut(uint4 word, int count) {
  Pack<T, kWide<T>> pack;
  pack.word = word;
#pragma unroll
  for (int i = 0; i < kWide<T>; ++i) {
    if (i >= count) from_float(pack.at[i], lowest());
  }
  return pack.word;
}

// The largest element of N words.
template <typename T, int N>
__device__ inline float largest(const uint4 (&word)[N]) {
  uint4 all = word[0];
#pragma unroll
  for (int k = 1; k < N; ++k) {
    all.x = larger<T>(all.x, word[k].x), all.y = larger<T>(all.y, word[k].y);
    all.z = larger<T>(all.z, word[k].z), all.w = larger<T>(all.w, word[k].w);
  }
  all.x = larger<T>(larger<T>(all.x, all.y), larger<T>(all.z, all.w));
  float value[kWide<T>];
  elements_of<T>(all, value);
  // not that one itself: fmaxf takes no NaN from where there is a number
  return fmaxf(lowest(), sizeof(T) < sizeof(float) ? fmaxf(value[0], value[1]) : value[0]);
}

// Of N values, in pairs, so that no long chain has to be waited for.
template <typename Op, int N>
__device__ inline float over(const float* of) {
  if constexpr (N == 1) {
    return *of;
  } else {
    return Op::of(over<Op, N / 2>(of), over<Op, N - N / 2>(of + N / 2));
  }
}

// A warp's share of a row: words first + lane, first + 32 + lane, ..., K for each lane. APART: rows
// begin anywhere, not at words. KEEP: what part() computes is kept for the result, in float32.
template <typename T, int K, bool APART, bool KEEP>
struct Span {
  static constexpr int kAll = K * kWide<T>;

  uint4 word[K];  // as it came
  float power[KEEP ? kAll : 1];
  float top;  // this lane's largest
  int first;  // word
  int cols;
  unsigned zero;

  __device__ int word_of_lane(int k) const { return first + k * kWarp + threadIdx.x % kWarp; }

  __device__ Span(const T* x_row, int first_word, Index columns)
      : first(first_word),
        cols(static_cast<int>(columns)),
        zero(static_cast<unsigned>(columns >> 32)) {
    const Aligned<const T> row(x_row);
#pragma unroll
    for (int k = 0; k < K; ++k) word[k] = cut<T>(make_uint4(0, 0, 0, 0), 0);
    if constexpr (APART) {
      with_quarter(row.off, [&](auto quarter) { load_between<quarter.value>(row); });
    } else {
#pragma unroll
      for (int k = 0; k < K; ++k) {
        if (word_of_lane(k) * kWide<T> < cols) word[k] = load_word(row.at(word_of_lane(k)));
      }
    }
  }

  // Let the compiler take a word of 16-bit elements for a new one: it adds 0, but only who runs it
  // knows. It would keep the elements in float32 from one pass to the next, in twice the registers.
  __device__ void forget_elements(int k) {
    if constexpr (sizeof(T) < sizeof(float)) {
      word[k].x += zero, word[k].y += zero, word[k].z += zero, word[k].w += zero;
    }
  }

  // Of this lane's elements.
  __device__ Part part() {
    Part found{largest<T>(word), 0.0f};
    top = found.max;
    const float base = found.base();
    float value[kWide<T>];
#pragma unroll
    for (int k = 0; k < K; ++k) {
      elements_of<T>(word[k], value);
#pragma unroll
      for (int i = 0; i < kWide<T>; ++i) {
        value[i] = exp_of(value[i] - base);
        if constexpr (KEEP) power[k * kWide<T> + i] = value[i];
      }
      found.sum += over<Sum, kWide<T>>(value);
    }
    return found;
  }

  // The output of word k, given what is known of the whole row.
  template <typename Op>
  __device__ uint4 result(int k, float max, const Op& finish) {
    float value[kWide<T>];
    if constexpr (KEEP) {
      const float factor = finish.factor(top - max);
#pragma unroll
      for (int i = 0; i < kWide<T>; ++i) value[i] = power[k * kWide<T> + i] * factor;
    } else {
      forget_elements(k);
      elements_of<T>(word[k], value);
#pragma unroll
      for (int i = 0; i < kWide<T>; ++i) value[i] = finish.template of_shifted<T>(value[i] - max);
    }
    return word_of<T>(value);
  }

  template <typename Op>
  __device__ void store(T* out_row, float max, const Op& finish) {
    if constexpr (APART) {
      store_between(out_row, max, finish);
    } else {
      store_aligned(out_row, max, finish);
    }
  }

 private:
  // Nothing is loaded that is not in the same 16 aligned bytes as an element of the row.
  template <int QUARTER>
  __device__ void load_between(const Aligned<const T>& row) {
    uint4 high[K];
#pragma unroll
    for (int k = 0; k < K; ++k) {
      const int at = word_of_lane(k);
      if (at * kWide<T> < cols) word[k] = load_word(row.at(at));
      high[k] = word[k];
      if ((at + 1) * kWide<T> - row.elements_off() < cols) high[k] = load_word(row.at(at + 1));
    }
#pragma unroll
    for (int k = 0; k < K; ++k) {
      const int left = cols - word_of_lane(k) * kWide<T>;
      word[k] = middle<T, QUARTER>(word[k], high[k], row.off % 4);
      if (left < kWide<T>) word[k] = cut<T>(word[k], left);
    }
  }

  template <typename Op>
  __device__ void store_aligned(T* out_row, float max, const Op& finish) {
#pragma unroll
    for (int k = 0; k < K; ++k) {
      const int at = word_of_lane(k) * kWide<T>;
      if (at < cols) store_word(reinterpret_cast<uint4*>(out_row + at), result(k, max, finish));
    }
  }

  template <typename Op>
  __device__ void store_between(T* out_row, float max, const Op& finish) {
    const Aligned<T> out(out_row);
    if (out.off == 0) return store_aligned_but_the_last(out_row, max, finish);
    with_quarter(kWordBytes - out.off,
                 [&](auto quarter) { store_shifted<quarter.value>(out_row, out, max, finish); });
  }

  template <typename Op>
  __device__ void store_aligned_but_the_last(T* out_row, float max, const Op& finish) {
#pragma unroll
    for (int k = 0; k < K; ++k) {
      const int at = word_of_lane(k) * kWide<T>;
      const uint4 made = result(k, max, finish);
      if (at + kWide<T> <= cols) {
        store_word(reinterpret_cast<uint4*>(out_row + at), made);
      } else if (at < cols) {
        store_some(out_row, made, at, at, cols);
      }
    }
  }

  // Each aligned word takes its beginning from the word before, which the lane before has made.
  // What is left at both ends of the span goes element by element.
  template <int QUARTER, typename Op>
  __device__ void store_shifted(T* out_row, const Aligned<T>& out, float max, const Op& finish) {
    const int lane = threadIdx.x % kWarp, back = out.elements_off();
    const int begin = first * kWide<T>;
    uint4 before = make_uint4(0, 0, 0, 0);
#pragma unroll
    for (int k = 0; k < K; ++k) {
      const uint4 made = result(k, max, finish);
      const uint4 neighbour = shuffled(made, (lane + kWarp - 1) % kWarp);
      const uint4 left = lane == 0 ? before : neighbour;
      before = neighbour;  // lane 0 has lane 31's word, which it needs next time
      const int at = word_of_lane(k) * kWide<T> - back;
      const uint4 both = middle<T, QUARTER>(left, made, out.off % 4);
      if (at >= begin && at + kWide<T> <= cols) {
        store_word(reinterpret_cast<uint4*>(out_row + at), both);
      } else {
        store_some(out_row, both, at, begin, cols);
      }
      if (k == K - 1 && lane == kWarp - 1) {
        const uint4 rest = middle<T, QUARTER>(made, made, out.off % 4);
        const int end = at + kWide<T>, last = end + back;
        store_some(out_row, rest, end, end, cols < last ? cols : last);
      }
    }
  }

  // Those elements of a word, which begins at element `at`, that lie in [from, to).
  __device__ static void store_some(T* out_row, uint4 made, int at, int from, int to) {
    Pack<T, kWide<T>> pack;
    pack.word = made;
#pragma unroll
    for (int i = 0; i < kWide<T>; ++i) {
      if (at + i >= from && at + i < to) out_row[at + i] = pack.at[i];
    }
  }

  __device__ static uint4 shuffled(uint4 word, int lane) {
    return make_uint4(__shfl_sync(kWholeWarp, word.x, lane), __shfl_sync(kWholeWarp, word.y, lane),
                      __shfl_sync(kWholeWarp, word.z, lane), __shfl_sync(kWholeWarp, word.w, lane));
  }
};

// How an element of the output follows from x - max and the row's sum. kPowers: from exp(x - top),
// too, by a factor that top - max gives.
struct Normal {
  static constexpr bool kPowers = true;
  float scale, log2_scale;
  __device__ explicit Normal(float sum) : scale(1.0f / sum), log2_scale(-__log2f(sum)) {}
  // In 16 bits the scale may as well be added before the power: what that rounds off is too small.
  template <typename T>
  __device__ float of_shifted(float shifted) const {
    if constexpr (sizeof(T) < sizeof(float)) {
      return power_of_two(fmaf(shifted, kLog2e, log2_scale));
    }
    return exp_of(shifted) * scale;
  }
  __device__ float factor(float lower) const { return exp_of(lower) * scale; }
};
struct Logarithm {
  static constexpr bool kPowers = false;
  float log_sum;
  __device__ explicit Logarithm(float sum) : log_sum(logf(sum)) {}
  template <typename T>
  __device__ float of_shifted(float shifted) const {
    return shifted - log_sum;
  }
};
