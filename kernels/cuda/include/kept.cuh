// A part of a row in shared memory, as the copy engine has brought it, and what is done with it.
#pragma once
#include "copy_engine.cuh"

// `words` begins with the aligned word in which the first element lies, as element `before` of it;
// all of the part is one warp's. ALIGNED: rows begin at words, in x and in out. Words of a row are
// counted from its first element, so that which elements meet in which sum depends on the row's
// length alone.
template <typename T, bool ALIGNED>
class Kept {
  static constexpr int kWord = kWide<T>;
  static constexpr int kAtOnce = 2;  // words of a lane in a step
  static constexpr int kStep = kAtOnce * kWarp;

  const uint4* const words_;
  const int before_;

 public:
  __device__ Kept(const uint4* words, int before) : words_(words), before_(before) {}

  // Elements from the aligned word in which a row begins to the row.
  __device__ static int off(const T* row) {
    if constexpr (ALIGNED) return 0;
    return Aligned<const T>(row).elements_off();
  }

  // `found`, and this lane's elements of `count`: 0 and less where the row has none.
  __device__ Part part(int count, Part found) const {
    const int words = count > 0 ? count / kWord : 0;
    for_words_at(before_, [&](auto quarter) {
      int at = 0;
      for (; at + kStep <= words; at += kStep) {
        found = step<quarter.value, false>(at, count, found);
      }
      if (at * kWord < count) found = step<quarter.value, true>(at, count, found);
    });
    return found;
  }

  // The row's output from element `from` up to `to`, by its own aligned words; of those that are in
  // part another's, or another row's, a lane writes one element.
  template <typename Op>
  __device__ void put(T* out_row, int from, int to, float max, const Op& finish) const {
    const int back = off(out_row);
    for_words_at(before_ + kWord - back, [&](auto quarter) {
      put_words<quarter.value>(out_row, from, to, back, max, finish);
    });
  }

 private:
  __device__ static int lane() { return threadIdx.x % kWarp; }

  // run(Constant<>) for words that begin at element `at`, or whole words from it.
  template <typename F>
  __device__ static void for_words_at(int at, const F& run) {
    if constexpr (ALIGNED) {
      run(Constant<0>());
    } else {
      with_quarter(at % kWord * static_cast<int>(sizeof(T)), run);
    }
  }

  // The word whose first element is element `at`.
  template <int QUARTER>
  __device__ uint4 word_at(int at) const {
    const uint4* const low = words_ + at / kWord;
    const int bytes = at % kWord * static_cast<int>(sizeof(T));
    if (ALIGNED || (QUARTER == 0 && bytes == 0)) return *low;
    return middle<T, QUARTER>(*low, low[1], bytes % 4);
  }

  template <int QUARTER, bool CHECKED>
  __device__ Part step(int at, int count, Part found) const {
    uint4 word[kAtOnce];
    float sum[kAtOnce][kWord];
#pragma unroll
    for (int k = 0; k < kAtOnce; ++k) {
      const int from = (at + k * kWarp + lane()) * kWord;
      if (!CHECKED || from + kWord <= count) {
        word[k] = word_at<QUARTER>(before_ + from);
      } else {
        word[k] = cut<T>(make_uint4(0, 0, 0, 0), 0);
        if constexpr (!ALIGNED) {
          if (from < count) word[k] = cut<T>(last_word(before_ + from, count - from), count - from);
        }
      }
    }
    Part both{fmaxf(found.max, largest<T>(word)), 0.0f};
    const float base = both.base();
#pragma unroll
    for (int k = 0; k < kAtOnce; ++k) powers_of<T>(word[k], base, sum[k]);
    both.sum = found.sum * exp_of(found.max - base) + over<Sum, kAtOnce * kWord>(sum[0]);
    return both;
  }

  // A word of which only `count` elements are the row's: what lies behind may not have been
  // brought.
  __device__ uint4 last_word(int at, int count) const {
    Pack<T, kWord> pack;
    pack.word = make_uint4(0, 0, 0, 0);
#pragma unroll
    for (int i = 0; i < kWord; ++i) {
      if (i < count) pack.at[i] = reinterpret_cast<const T*>(words_)[at + i];
    }
    return pack.word;
  }

  template <int QUARTER, typename Op>
  __device__ void put_words(T* out_row, int from, int to, int back, float max,
                            const Op& finish) const {
    const int first = back > 0 ? from - back + kWord : from;  // of the first whole word
#pragma unroll(ALIGNED ? 2 : 1)  // two words that are cut out take too many registers
    for (int at = first + lane() * kWord; at + kWord <= to; at += kWarp * kWord) {
      const uint4 word = word_at<QUARTER>(before_ + at - from);
      store_word(reinterpret_cast<uint4*>(out_row + at), finished<T>(word, max, finish));
    }
    if constexpr (!ALIGNED) {
      put_one(out_row, from, from + lane(), min(first, to), max, finish);
      const int whole = to > first ? (to - first) / kWord : 0;
      put_one(out_row, from, first + whole * kWord + lane(), to, max, finish);
    }
  }

  // Element `at` of the row, where the part begins with element `from`, if it comes before `end`.
  template <typename Op>
  __device__ void put_one(T* out_row, int from, int at, int end, float max,
                          const Op& finish) const {
    if (at >= end) return;
    const float value = to_float(reinterpret_cast<const T*>(words_)[before_ + at - from]);
    from_float(out_row[at], finish.template of_shifted<T>(value - max));
  }
};
