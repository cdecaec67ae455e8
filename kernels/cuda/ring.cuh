// Rows, or shares of rows, on their way through shared memory: every warp has a ring of slots,
// which the copy engine fills with the next while the warp works on one.
#pragma once
#include "copy_engine.cuh"

constexpr int kMostSlots = 16;

// How warps divide rows. A row has `shares`, one for each warp of its team, `spans` of them one
// after the other; all are of `words` words, but for the end of the row.
struct Division {
  int shares, share;  // of this row's, which is this warp's
  int spans, words, slots;
  Index first_row, row_step;
  int skipped = 0;  // spans of the row before the first that is this ring's

  // Spans that are still there at the end: the last.
  __device__ int kept() const { return min(spans, slots); }
  // Spans that are brought for a row: those that were not kept come twice, the second time from the
  // last of them to the first, which has been longest in L2.
  __device__ int brought() const { return 2 * spans - kept(); }
  // Which span comes as number `at` of a row's.
  __device__ int span(int at) const { return at < spans ? at : brought() - 1 - at; }
};

// Words from one slot to the next: a span that begins anywhere touches one word more than its own,
// but slots begin at lines of 128 bytes, as the copy engine likes it. slot_bytes() in _frontier.py.
__device__ inline int pitch(int words, bool aligned) { return words + (aligned ? 0 : 8); }

// ALIGNED: rows begin at words, in x and in out. Words of a row are counted from its first element,
// so that which elements meet in which sum depends on the row's length alone.
template <typename T, bool ALIGNED>
class Ring {
  static constexpr int kWord = kWide<T>;
  static constexpr int kAtOnce = 2;  // words of a lane in a step
  static constexpr int kStep = kAtOnce * kWarp;
  // Spans, and words of them, that may be on their way at once, of this ring. The copy engine has a
  // queue, and who adds to a full one waits, though the first of his spans may have come.
  static constexpr int kAhead = 3, kWordsAhead = 768;

  const Division div_;
  const unsigned ahead_;
  const T* const x_;
  T* const out_;
  const Index x_stride_, out_stride_, rows_;
  const int cols_, lane_;
  uint4* const room_;
  Arrival* const arrivals_;
  // spans: whose copy has begun, whose part is known, that are done with
  unsigned begun_ = 0, seen_ = 0, taken_ = 0;
  Index next_row_;  // of the next span to bring, and which of the row
  int next_ = 0;

 public:
  // `room`: of this warp, slots * pitch() words; `arrivals`: of this warp, one for each slot.
  __device__ Ring(const Division& div, T* out, const T* x, Index out_stride, Index x_stride,
                  Index rows, Index cols, uint4* room, Arrival* arrivals)
      : div_(div),
        ahead_(max(kAhead, kWordsAhead / max(1, div.words))),
        x_(x),
        out_(out),
        x_stride_(x_stride),
        out_stride_(out_stride),
        rows_(rows),
        cols_(static_cast<int>(cols)),
        lane_(threadIdx.x % kWarp),
        room_(room),
        arrivals_(arrivals),
        next_row_(div.first_row) {
    if (lane_ == 0) {
      for (int slot = 0; slot < div_.slots; ++slot) arrivals_[slot].begin();
      show_barriers();
    }
    __syncwarp();
    bring_ahead();
  }

  // Whether part() of the next row may come before write() of this one.
  __device__ bool has_room_for_two() const { return 2 * div_.spans <= div_.slots; }

  // This lane's part of the warp's share of a row, and of what was `found` before; the rows must
  // come in the order of the Division.
  __device__ Part part(Index row, Part found = Part::none()) {
    for (int span = 0; span < div_.spans; ++span) {
      wait(seen_);
      found = part_of(off(x_ + row * x_stride_), count(span), found);
      ++seen_;
      if (span < div_.spans - div_.kept()) {
        done();
      } else {
        bring_ahead();
      }
    }
    return found;
  }

  // The row's output, of which part() has been called.
  template <typename Op>
  __device__ void write(Index row, float max, const Op& finish) {
    const int before = off(x_ + row * x_stride_);
    for (int at = div_.spans - div_.kept(); at < div_.brought(); ++at) {
      if (at >= div_.spans) wait(taken_), ++seen_;
      put(out_ + row * out_stride_, before, div_.span(at), max, finish);
      done();
    }
  }

 private:
  __device__ int first_word(int span) const {
    return ((div_.skipped + span) * div_.shares + div_.share) * div_.words;
  }
  // Elements of a span: 0 and less where the row has none.
  __device__ int count(int span) const {
    const int first = first_word(span);
    return min(div_.words * kWord, cols_ - first * kWord);
  }
  __device__ uint4* slot(unsigned number) const {
    return room_ + number % div_.slots * pitch(div_.words, ALIGNED);
  }
  __device__ static int off(const T* row) {  // elements
    if constexpr (ALIGNED) return 0;
    return Aligned<const T>(row).elements_off();
  }

  __device__ void wait(unsigned number) {
    arrivals_[number % div_.slots].wait(number / div_.slots);
  }

  // Begin to copy the next spans, if there are such and room for them, by the whole warp.
  __device__ void bring_ahead() {
    while (next_row_ < rows_ && begun_ - seen_ < ahead_ &&
           begun_ - taken_ < static_cast<unsigned>(div_.slots)) {
      bring();
    }
  }
  __device__ void bring() {
    const int span = div_.span(next_);
    if (lane_ == 0) {
      const Aligned<const T> row(x_ + next_row_ * x_stride_);
      const int first = first_word(span), before = ALIGNED ? 0 : row.elements_off();
      const int last = (cols_ + before - 1) / kWord;  // of the row's aligned words
      const int words = min(div_.words + (before ? 1 : 0), last + 1 - first);
      Arrival& arrival = arrivals_[begun_ % div_.slots];
      if (words > 0) {
        arrival.copy(slot(begun_), row.at(first), words * kWordBytes);
      } else {
        arrival.nothing();
      }
    }
    ++begun_;
    if (++next_ == div_.brought()) next_ = 0, next_row_ += div_.row_step;
  }

  // Done with the current span: its slot is for the next one.
  __device__ void done() {
    ++taken_;
    __syncwarp();
    bring_ahead();
  }

  // run(Constant<>) for words that begin at the slot's element `at`, or whole words from it.
  template <typename F>
  __device__ static void for_words_at(int at, const F& run) {
    if constexpr (ALIGNED) {
      run(Constant<0>());
    } else {
      with_quarter(at % kWord * static_cast<int>(sizeof(T)), run);
    }
  }

  // The word whose first element is the slot's element `at`.
  template <int QUARTER>
  __device__ static uint4 word_at(const uint4* kept, int at) {
    const uint4* const low = kept + at / kWord;
    const int bytes = at % kWord * static_cast<int>(sizeof(T));
    if (ALIGNED || (QUARTER == 0 && bytes == 0)) return *low;
    return middle<T, QUARTER>(*low, low[1], bytes % 4);
  }

  // `found`, and this lane's elements of the span to be seen next, which begins at element
  // `before`.
  __device__ Part part_of(int before, int count, Part found) const {
    const int words = count > 0 ? count / kWord : 0;
    for_words_at(before, [&](auto quarter) {
      int at = 0;
      for (; at + kStep <= words; at += kStep) {
        found = step<quarter.value, false>(before, at, count, found);
      }
      if (at * kWord < count) found = step<quarter.value, true>(before, at, count, found);
    });
    return found;
  }

  template <int QUARTER, bool CHECKED>
  __device__ Part step(int before, int at, int count, Part found) const {
    const uint4* const kept = slot(seen_);
    uint4 word[kAtOnce];
    float sum[kAtOnce][kWord];
#pragma unroll
    for (int k = 0; k < kAtOnce; ++k) {
      const int from = (at + k * kWarp + lane_) * kWord;
      if (!CHECKED || from + kWord <= count) {
        word[k] = word_at<QUARTER>(kept, before + from);
      } else {
        word[k] = cut<T>(make_uint4(0, 0, 0, 0), 0);
        if (from < count)
          word[k] = cut<T>(last_word(kept, before + from, count - from), count - from);
      }
    }
    Part both{fmaxf(found.max, largest<T>(word)), 0.0f};
    const float base = both.base();
#pragma unroll
    for (int k = 0; k < kAtOnce; ++k) {
      elements_of<T>(word[k], sum[k]);
#pragma unroll
      for (int i = 0; i < kWord; ++i) sum[k][i] = exp_of(sum[k][i] - base);
    }
    both.sum = found.sum * exp_of(found.max - base) + over<Sum, kAtOnce * kWord>(sum[0]);
    return both;
  }

  // A word of which only `count` elements are the row's: what lies behind may not have been
  // brought.
  __device__ static uint4 last_word(const uint4* kept, int at, int count) {
    Pack<T, kWord> pack;
    pack.word = make_uint4(0, 0, 0, 0);
#pragma unroll
    for (int i = 0; i < kWord; ++i) {
      if (i < count) pack.at[i] = reinterpret_cast<const T*>(kept)[at + i];
    }
    return pack.word;
  }

  // The output by its own aligned words; those that are in part another warp's, or another row's,
  // go element by element.
  template <typename Op>
  __device__ void put(T* out_row, int before, int span, float max, const Op& finish) const {
    const int from = first_word(span) * kWord, back = off(out_row);
    for_words_at(before + kWord - back, [&](auto quarter) {
      put_words<quarter.value>(out_row, before, from, from + count(span), back, max, finish);
    });
  }

  template <int QUARTER, typename Op>
  __device__ void put_words(T* out_row, int before, int from, int to, int back, float max,
                            const Op& finish) const {
    const uint4* const kept = slot(taken_);
#pragma unroll 2
    for (int at = from - back + lane_ * kWord; at < to; at += kWarp * kWord) {
      if (at >= from && at + kWord <= to) {
        float value[kWord];
        elements_of<T>(word_at<QUARTER>(kept, before + at - from), value);
#pragma unroll
        for (int i = 0; i < kWord; ++i) value[i] = finish.template of_shifted<T>(value[i] - max);
        store_word(reinterpret_cast<uint4*>(out_row + at), word_of<T>(value));
      } else {
        const T* const elements = reinterpret_cast<const T*>(kept) + before - from;
#pragma unroll 1
        for (int j = at < from ? from : at; j < to && j < at + kWord; ++j) {
          from_float(out_row[j], finish.template of_shifted<T>(to_float(elements[j]) - max));
        }
      }
    }
  }
};
