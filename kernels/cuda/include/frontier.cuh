// What the frontier kernels share: 16-byte words of rows wherever these begin, and (max, sum)
// pairs.
#pragma once
#include "row.cuh"

constexpr float kLog2e = 1.44269504088896341f;
constexpr int kWordBytes = 16;
constexpr int kLineWords = 8;  // of a line of the cache, 128 bytes

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
template <typename T>
__device__ inline uint4 larger(uint4 a, uint4 b) {
  return make_uint4(larger<T>(a.x, b.x), larger<T>(a.y, b.y), larger<T>(a.z, b.z),
                    larger<T>(a.w, b.w));
}
// Rounded to the nearest, both by one instruction.
template <typename T>
__device__ unsigned from_floats(float first, float second);
template <>
__device__ inline unsigned from_floats<Half>(float first, float second) {
  unsigned both;
  asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(both) : "f"(second), "f"(first));
  return both;
}
template <>
__device__ inline unsigned from_floats<BFloat16>(float first, float second) {
  unsigned both;
  asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(both) : "f"(second), "f"(first));
  return both;
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

// Both elements of 32 bits, by one instruction each. AGAIN: for those that did not keep what they
// got the first time. The compiler would, in twice the registers, where it sees that it is the
// same.
template <typename T, bool AGAIN>
__device__ void to_floats(unsigned both, float& first, float& second);
template <>
__device__ inline void to_floats<BFloat16, false>(unsigned both, float& first, float& second) {
  first = __uint_as_float(both << 16), second = __uint_as_float(both & 0xffff0000u);
}
template <>
__device__ inline void to_floats<BFloat16, true>(unsigned both, float& first, float& second) {
  first = __uint_as_float(__byte_perm(both, 0, 0x1044));
  second = __uint_as_float(__byte_perm(both, 0, 0x3244));
}
template <>
__device__ inline void to_floats<Half, false>(unsigned both, float& first, float& second) {
  first = to_float(Half{static_cast<unsigned short>(both)});
  second = to_float(Half{static_cast<unsigned short>(both >> 16)});
}
template <>
__device__ inline void to_floats<Half, true>(unsigned both, float& first, float& second) {
  to_floats<Half, false>(both, first, second);  // forget() must have been called
}

// Let the compiler take words for new ones: it adds 0, but only who runs it knows.
template <typename T>
__device__ inline void forget(uint4&, unsigned) {}
template <>
__device__ inline void forget<Half>(uint4& word, unsigned zero) {
  word.x += zero, word.y += zero, word.z += zero, word.w += zero;
}

template <typename T, bool AGAIN = false>
__device__ inline void elements_of(uint4 word, float (&to)[kWide<T>]) {
  const unsigned part[4] = {word.x, word.y, word.z, word.w};
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    if constexpr (sizeof(T) == sizeof(float)) {
      to[i] = __uint_as_float(part[i]);
    } else {
      to_floats<T, AGAIN>(part[i], to[2 * i], to[2 * i + 1]);
    }
  }
}

template <typename T>
__device__ inline uint4 word_of(const float (&from)[kWide<T>]) {
  unsigned part[4];
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    if constexpr (sizeof(T) == sizeof(float)) {
      part[i] = __float_as_uint(from[i]);
    } else {
      part[i] = from_floats<T>(from[2 * i], from[2 * i + 1]);
    }
  }
  return make_uint4(part[0], part[1], part[2], part[3]);
}

// exp(x - base) of a word's elements.
template <typename T>
__device__ inline void powers_of(uint4 word, float base, float (&to)[kWide<T>]) {
  elements_of<T>(word, to);
#pragma unroll
  for (int i = 0; i < kWide<T>; ++i) to[i] = exp_of(to[i] - base);
}

// The result of a word, given what is known of the whole row. AGAIN: as in to_floats().
template <typename T, bool AGAIN = false, typename Op>
__device__ inline uint4 finished(uint4 word, float max, const Op& finish) {
  float value[kWide<T>];
  elements_of<T, AGAIN>(word, value);
#pragma unroll
  for (int i = 0; i < kWide<T>; ++i) value[i] = finish.template of_shifted<T>(value[i] - max);
  return word_of<T>(value);
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

// The largest element of a word.
template <typename T>
__device__ inline float largest(uint4 all) {
  all.x = larger<T>(larger<T>(all.x, all.y), larger<T>(all.z, all.w));
  float value[kWide<T>];
  elements_of<T>(all, value);
  // not that one itself: fmaxf takes no NaN from where there is a number
  return fmaxf(lowest(), sizeof(T) < sizeof(float) ? fmaxf(value[0], value[1]) : value[0]);
}
template <typename T, int N>
__device__ inline float largest(const uint4 (&word)[N]) {
  uint4 all = word[0];
#pragma unroll
  for (int k = 1; k < N; ++k) all = larger<T>(all, word[k]);
  return largest<T>(all);
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

// Some elements of an aligned word of the output.
template <typename T>
struct Piece {
  uint4 word;
  T* to;  // where the word is to be
  int count = 0;

  __device__ void store_beginning() const {
    uint4 rest = word;
    unsigned* at = reinterpret_cast<unsigned*>(to);
    const int bytes = count * static_cast<int>(sizeof(T));
    if (bytes & 8) {
      store_word(reinterpret_cast<uint2*>(at), make_uint2(rest.x, rest.y));
      rest.x = rest.z, rest.y = rest.w, at += 2;
    }
    if (bytes & 4) store_word(at++, rest.x), rest.x = rest.y;
    if constexpr (sizeof(T) < 4) {
      if (bytes & 2) {
        store_word(reinterpret_cast<unsigned short*>(at), static_cast<unsigned short>(rest.x));
      }
    }
  }

  __device__ void store_end() const {
    uint4 rest = word;
    unsigned* at = reinterpret_cast<unsigned*>(to) + 4;
    const int bytes = count * static_cast<int>(sizeof(T));
    if (bytes & 8) {
      store_word(reinterpret_cast<uint2*>(at -= 2), make_uint2(rest.z, rest.w));
      rest.z = rest.x, rest.w = rest.y;
    }
    if (bytes & 4) store_word(--at, rest.w), rest.w = rest.z;
    if constexpr (sizeof(T) < 4) {
      if (bytes & 2) {
        store_word(reinterpret_cast<unsigned short*>(at) - 1,
                   static_cast<unsigned short>(rest.w >> 16));
      }
    }
  }

  // Elements [from, end), whatever `count` is: of rows that are shorter than a word.
  __device__ void store_middle(int from, int end) const {
    Pack<T, kWide<T>> pack;
    pack.word = word;
#pragma unroll
    for (int i = 0; i < kWide<T>; ++i) {
      if (i >= from && i < end) to[i] = pack.at[i];
    }
  }
};

// A warp's share of a row: words first + lane, first + 32 + lane, ..., K for each lane. APART: rows
// begin anywhere, not at words. KEEP: what part() computes is kept for the result, in float32.
template <typename T, int K, bool APART, bool KEEP>
struct Span {
  static constexpr int kAll = K * kWide<T>;
  static constexpr int kRound = kWarp * kWide<T>;  // elements from a lane's word to its next
  static constexpr int kLast = (K - 1) * kRound + kWide<T>;  // from its first past its last

  uint4 word[K];  // as it came
  float power[KEEP ? kAll : 1];
  float top;  // this lane's largest
  int first;  // word
  int cols;
  unsigned zero;

  // This lane's first element, and how many the row has from there on: 0 and less where none.
  __device__ int first_of_lane() const {
    return (first + static_cast<int>(threadIdx.x) % kWarp) * kWide<T>;
  }
  __device__ int left() const { return cols - first_of_lane(); }

  // From x_row, or from what save() has left at `saved` by the same thread, every `step` words.
  __device__ Span(const T* x_row, int first_word, Index columns, const uint4* saved = nullptr,
                  int step = 0)
      : first(first_word),
        cols(static_cast<int>(columns)),
        zero(static_cast<unsigned>(columns >> 32)) {
    if (saved != nullptr) {
#pragma unroll
      for (int k = 0; k < K; ++k) word[k] = saved[k * step];
      return;
    }
    const Aligned<const T> row(x_row);
#pragma unroll
    for (int k = 0; k < K; ++k) word[k] = cut<T>(make_uint4(0, 0, 0, 0), 0);
    if constexpr (APART) {
      with_quarter(row.off, [&](auto quarter) { load_between<quarter.value>(row); });
    } else {
      const T* const from = x_row + first_of_lane();
#pragma unroll
      for (int k = 0; k < K; ++k) {
        if (k * kRound < left()) word[k] = load_word(from + k * kRound);
      }
    }
  }

  __device__ void save(uint4* to, int step) const {
#pragma unroll
    for (int k = 0; k < K; ++k) to[k * step] = word[k];
  }

  // Of this lane's elements.
  __device__ Part part() {
    Part found{largest<T>(word), 0.0f};
    top = found.max;
    const float base = found.base();
    float value[kWide<T>];
#pragma unroll
    for (int k = 0; k < K; ++k) {
      powers_of<T>(word[k], base, value);
      if constexpr (KEEP) {
#pragma unroll
        for (int i = 0; i < kWide<T>; ++i) power[k * kWide<T> + i] = value[i];
      }
      found.sum += over<Sum, kWide<T>>(value);
    }
    return found;
  }

  // The output of word k, given what is known of the whole row.
  template <typename Op>
  __device__ uint4 result(int k, float max, const Op& finish) {
    if constexpr (KEEP) {
      const float factor = finish.factor(top - max);
      float value[kWide<T>];
#pragma unroll
      for (int i = 0; i < kWide<T>; ++i) value[i] = power[k * kWide<T> + i] * factor;
      return word_of<T>(value);
    } else {
      forget<T>(word[k], zero);
      return finished<T, true>(word[k], max, finish);
    }
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
  // Nothing is loaded that is not in the same 16 aligned bytes as an element of the row. A word of
  // the row ends in the aligned word that follows: in 16 bits it comes from the next lane, as there
  // registers are short; in 32 bits from the cache, which is faster.
  template <int QUARTER>
  __device__ void load_between(const Aligned<const T>& row) {
    constexpr bool kFromLane = sizeof(T) < sizeof(float);
    const T* const from = row.words + first_of_lane();
    const int lane = threadIdx.x % kWarp;
    const int in_first =
        kWide<T> - row.elements_off();  // of a word of the row, in that aligned one
    uint4 following[kFromLane ? 1 : K];
#pragma unroll
    for (int k = 0; k < K; ++k) {
      const int elements = left() - k * kRound;
      if (elements > (kFromLane ? in_first - kWide<T> : 0)) word[k] = load_word(from + k * kRound);
      if constexpr (!kFromLane) {
        following[k] = word[k];
        if (elements > in_first) following[k] = load_word(from + k * kRound + kWide<T>);
      }
    }
    if constexpr (kFromLane) {
      following[0] = word[K - 1];
      const T* const last = from + (K - 1) * kRound + kWide<T>;
      if (lane == kWarp - 1 && left() - (K - 1) * kRound > in_first) following[0] = load_word(last);
    }
#pragma unroll
    for (int k = 0; k < K; ++k) {
      const int elements = left() - k * kRound;
      uint4 next = following[kFromLane ? 0 : k];
      if constexpr (kFromLane) {
        // lane 31 goes on with lane 0's next word
        const uint4 given = lane == 0 && k + 1 < K ? word[(k + 1) % K] : word[k];
        const uint4 got = shuffled(given, (lane + 1) % kWarp);
        if (k + 1 < K || lane < kWarp - 1) next = got;
      }
      word[k] = middle<T, QUARTER>(word[k], next, row.off % 4);
      if (elements < kWide<T>) word[k] = cut<T>(word[k], elements);
    }
  }

  template <typename Op>
  __device__ void store_aligned(T* out_row, float max, const Op& finish) {
    T* const to = out_row + first_of_lane();
#pragma unroll
    for (int k = 0; k < K; ++k) {
      if (k * kRound < left()) {
        store_word(reinterpret_cast<uint4*>(to + k * kRound), result(k, max, finish));
      }
    }
  }

  template <typename Op>
  __device__ void store_between(T* out_row, float max, const Op& finish) {
    // Before the branches, of which the compiler would take parts of it out into more registers;
    // in 32 bits, where it would do so with the shuffles, in them.
    constexpr bool kBefore = sizeof(T) < sizeof(float);
    if constexpr (kBefore) {
#pragma unroll
      for (int k = 0; k < K; ++k) word[k] = result(k, max, finish);
    }
    const auto made = [&](int k) { return kBefore ? word[k] : result(k, max, finish); };
    const Aligned<T> out(out_row);
    if (out.off == 0) return store_aligned_but_the_last(out_row, made);
    with_quarter(kWordBytes - out.off,
                 [&](auto quarter) { store_shifted<quarter.value>(out_row, out, made); });
  }

  template <typename Made>
  __device__ void store_aligned_but_the_last(T* out_row, const Made& made) const {
    T* const to = out_row + first_of_lane();
    Piece<T> last;
#pragma unroll
    for (int k = 0; k < K; ++k) {
      const int elements = left() - k * kRound;
      if (elements >= kWide<T>) {
        store_word(reinterpret_cast<uint4*>(to + k * kRound), made(k));
      } else if (elements > 0) {
        last = {made(k), to + k * kRound, elements};
      }
    }
    last.store_beginning();
  }

  // Each aligned word takes its beginning from the word before, which the lane before has made.
  // The two words that are not the span's alone, at its ends, are stored in pieces.
  template <int QUARTER, typename Made>
  __device__ void store_shifted(T* out_row, const Aligned<T>& out, const Made& made) const {
    const int lane = threadIdx.x % kWarp, back = out.elements_off();
    T* const to = out_row + first_of_lane() - back;
    const int all = left() + back;  // elements from there on
    uint4 before = make_uint4(0, 0, 0, 0), begin = before, own;
    Piece<T> last;
#pragma unroll
    for (int k = 0; k < K; ++k) {
      own = made(k);
      const uint4 neighbour = shuffled(own, (lane + kWarp - 1) % kWarp);
      const uint4 both = middle<T, QUARTER>(lane == 0 ? before : neighbour, own, out.off % 4);
      before = neighbour;  // lane 0 has lane 31's word, which it needs next time
      const int elements = all - k * kRound;
      if (k == 0 && lane == 0) {
        begin = both;
      } else if (elements >= kWide<T>) {
        store_word(reinterpret_cast<uint4*>(to + k * kRound), both);
      } else if (elements > 0) {
        last = {both, to + k * kRound, elements};
      }
    }
    if (lane == kWarp - 1 && all > kLast) {
      last = {middle<T, QUARTER>(own, own, out.off % 4), to + kLast, min(back, all - kLast)};
    }
    last.store_beginning();
    if (lane == 0 && all > back) {
      const Piece<T> piece{begin, to, kWide<T> - back};
      all < kWide<T> ? piece.store_middle(back, all) : piece.store_end();
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
