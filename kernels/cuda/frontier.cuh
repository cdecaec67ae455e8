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

// What is known of some elements: their maximum, and the sum of exp(x - maximum).
struct alignas(8) Part {  // one access moves both
  float max;
  float sum;
  __device__ static Part none() { return {lowest(), 0.0f}; }
  // From what exps are taken off: where all elements are -inf, -inf - -inf would make them NaN.
  __device__ float base() const { return max == lowest() ? 0.0f : max; }
};

// The same bits whichever comes first, so that all lanes of a butterfly agree: sums and products
// are rounded one by one, as the compiler's fused ones are not.
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
#pragma unroll
  for (int distance = LANES / 2; distance > 0; distance /= 2) {
    const Part other{__shfl_xor_sync(kWholeWarp, part.max, distance),
                     __shfl_xor_sync(kWholeWarp, part.sum, distance)};
    part = joined(part, other);
  }
  return part;
}

// 16 of the 32 bytes of two neighbouring words, from byte `first` on: an even number below 16.
__device__ inline uint4 middle(uint4 low, uint4 high, int first) {
  unsigned r[8] = {low.x, low.y, low.z, low.w, high.x, high.y, high.z, high.w};
#pragma unroll
  for (int i = 0; i < 6; ++i) r[i] = first & 8 ? r[i + 2] : r[i];
#pragma unroll
  for (int i = 0; i < 5; ++i) r[i] = first & 4 ? r[i + 1] : r[i];
  const int bits = (first & 2) * 8;
  return make_uint4(__funnelshift_r(r[0], r[1], bits), __funnelshift_r(r[1], r[2], bits),
                    __funnelshift_r(r[2], r[3], bits), __funnelshift_r(r[3], r[4], bits));
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

// Word `word` of a row of `cols` elements. Elements beyond the row are whatever lies there, in the
// same 16 aligned bytes as the row's last element at most.
template <bool APART, typename T>
__device__ inline uint4 load_word_of(const Aligned<const T>& row, int word, int cols) {
  const uint4 low = load_word(row.at(word));
  if constexpr (!APART) return low;
  const bool more = (word + 1) * kWide<T> - row.elements_off() < cols;
  return middle(low, more ? load_word(row.at(word + 1)) : low, row.off);
}

template <typename T>
__device__ inline void elements_of(uint4 word, float (&to)[kWide<T>]) {
  Pack<T, kWide<T>> pack;
  pack.word = word;
#pragma unroll
  for (int i = 0; i < kWide<T>; ++i) to[i] = to_float(pack.at[i]);
}

// The same, with -inf for what is beyond the row: it counts in no maximum and in no sum.
template <typename T>
__device__ inline void elements_of(uint4 word, float (&to)[kWide<T>], int first, int cols) {
  elements_of<T>(word, to);
  if (first + kWide<T> > cols) {
#pragma unroll
    for (int i = 0; i < kWide<T>; ++i) {
      if (first + i >= cols) to[i] = lowest();
    }
  }
}

// A warp's share of a row: words first + lane, first + 32 + lane, ..., K for each lane, held as
// they came, so that 16-bit elements take half the registers. APART: rows begin anywhere, not at
// words.
template <typename T, int K, bool APART>
struct Span {
  uint4 word[K];
  int first;  // word
  int cols;
  unsigned zero;

  __device__ int word_of(int k) const { return first + k * kWarp + threadIdx.x % kWarp; }

  __device__ Span(const T* x_row, int first_word, Index columns)
      : first(first_word),
        cols(static_cast<int>(columns)),
        zero(static_cast<unsigned>(columns >> 32)) {
    const Aligned<const T> row(x_row);
#pragma unroll
    for (int k = 0; k < K; ++k) {
      const int at = word_of(k);
      word[k] = make_uint4(0, 0, 0, 0);
      if (at * kWide<T> < cols) word[k] = load_word_of<APART>(row, at, cols);
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
    Part found = Part::none();
    float value[kWide<T>];
#pragma unroll
    for (int k = 0; k < K; ++k) {
      elements_of<T>(word[k], value, word_of(k) * kWide<T>, cols);
#pragma unroll
      for (int i = 0; i < kWide<T>; ++i) found.max = fmaxf(found.max, value[i]);
    }
    const float base = found.base();
#pragma unroll
    for (int k = 0; k < K; ++k) {
      forget_elements(k);
      elements_of<T>(word[k], value, word_of(k) * kWide<T>, cols);
#pragma unroll
      for (int i = 0; i < kWide<T>; ++i) found.sum += exp_of(value[i] - base);
    }
    return found;
  }

  // The output of word k, given what is known of the whole row.
  template <typename Op>
  __device__ uint4 result(int k, float max, const Op& finish) {
    forget_elements(k);
    float value[kWide<T>];
    elements_of<T>(word[k], value);
    Pack<T, kWide<T>> pack;
#pragma unroll
    for (int i = 0; i < kWide<T>; ++i) {
      from_float(pack.at[i], finish.of_shifted(value[i] - max));
    }
    return pack.word;
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
  template <typename Op>
  __device__ void store_aligned(T* out_row, float max, const Op& finish) {
#pragma unroll
    for (int k = 0; k < K; ++k) {
      const int at = word_of(k) * kWide<T>;
      if (at < cols) store_word(reinterpret_cast<uint4*>(out_row + at), result(k, max, finish));
    }
  }

  // Each aligned word takes its beginning from the word before, which the lane before has made.
  // What is left at both ends of the span goes element by element.
  template <typename Op>
  __device__ void store_between(T* out_row, float max, const Op& finish) {
    const Aligned<T> out(out_row);
    const int lane = threadIdx.x % kWarp, back = out.elements_off();
    const int begin = first * kWide<T>;
    uint4 before = make_uint4(0, 0, 0, 0);
#pragma unroll
    for (int k = 0; k < K; ++k) {
      const uint4 made = result(k, max, finish);
      const uint4 neighbour = shuffled(made, (lane + kWarp - 1) % kWarp);
      const uint4 left = lane == 0 ? before : neighbour;
      before = neighbour;  // lane 0 has lane 31's word, which it needs next time
      const int at = word_of(k) * kWide<T> - back;
      const uint4 both = back ? middle(left, made, kWordBytes - out.off) : made;
      if (at >= begin && at + kWide<T> <= cols) {
        store_word(reinterpret_cast<uint4*>(out_row + at), both);
      } else {
        store_some(out_row, both, at, begin, cols);
      }
      if (k == K - 1 && lane == kWarp - 1) {
        const uint4 rest = middle(made, made, kWordBytes - out.off);
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

// How an element of the output follows from x - max and the row's sum.
struct Normal {
  float scale;
  __device__ explicit Normal(float sum) : scale(1.0f / sum) {}
  __device__ float of_shifted(float shifted) const { return exp_of(shifted) * scale; }
};
struct Logarithm {
  float log_sum;
  __device__ explicit Logarithm(float sum) : log_sum(logf(sum)) {}
  __device__ float of_shifted(float shifted) const { return shifted - log_sum; }
};
