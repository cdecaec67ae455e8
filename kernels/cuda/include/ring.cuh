// Rows, or shares of rows, on their way through shared memory: every warp has a ring of slots,
// which the copy engine fills with the next while the warp works on one.
#pragma once
#include "kept.cuh"

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
__device__ inline int pitch(int words, bool aligned) { return words + (aligned ? 0 : kLineWords); }

// ALIGNED: as in Kept.
template <typename T, bool ALIGNED>
class Ring {
  using InSlot = Kept<T, ALIGNED>;
  static constexpr int kWord = kWide<T>;
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
      found = InSlot(slot(seen_), InSlot::off(x_ + row * x_stride_)).part(count(span), found);
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
    const int before = InSlot::off(x_ + row * x_stride_);
    for (int at = div_.spans - div_.kept(); at < div_.brought(); ++at) {
      if (at >= div_.spans) wait(taken_), ++seen_;
      const int span = div_.span(at), from = first_word(span) * kWord;
      InSlot(slot(taken_), before)
          .put(out_ + row * out_stride_, from, from + count(span), max, finish);
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
};
