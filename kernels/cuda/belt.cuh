// Tiles of rows on their way through slots of a block's shared memory, which one warp has filled
// and all others empty.
#pragma once
#include "kept.cuh"

// Tiles that a block has of each of its rows, one behind the other from tile `first` of the row on,
// and the slots that they pass through. All tiles are of `words` words, but for the end of the row.
struct Load {
  int first, tiles, words, slots;

  __device__ Passage passage() const { return {tiles, slots}; }
  // Of the row, which comes as number `at` of the block's.
  __device__ int tile(int at) const { return first + passage().part(at); }
};

// What has come into a slot, and who has left it.
struct Slot {
  Arrival full;
  Vacancy empty;
};

// Which slot is next, and how often all have been gone through.
struct Cursor {
  int slot = 0;
  unsigned round = 0;
  __device__ void step(int slots) {
    if (++slot == slots) slot = 0, ++round;
  }
};

// WARPS: that empty the slots. ALIGNED: as in Kept.
template <typename T, bool ALIGNED, int WARPS>
class Belt {
  static constexpr int kWord = kWide<T>;
  using InSlot = Kept<T, ALIGNED, WARPS>;

  const Load load_;
  uint4* const room_;
  Slot* const slots_;
  const int cols_;
  Cursor begun_, seen_, taken_;  // tiles that are brought, whose part is known, that are done with

 public:
  // `room`: slots * pitch() words.
  __device__ Belt(const Load& load, uint4* room, Slot* slots, Index cols)
      : load_(load), room_(room), slots_(slots), cols_(static_cast<int>(cols)) {}

  // By the thread that is to fill the slots, before it calls show_barriers().
  __device__ void begin() const {
    for (int slot = 0; slot < load_.slots; ++slot) {
      slots_[slot].full.begin();
      slots_[slot].empty.begin_for(WARPS);
    }
  }

  // By that thread: bring a row's tiles.
  __device__ void bring(const T* x_row) {
    const Aligned<const T> row(x_row);
    const int before = ALIGNED ? 0 : row.elements_off();
    const int end = (cols_ + before - 1) / kWord + 1;  // of the row's aligned words
    for (int at = 0; at < load_.passage().brought(); ++at) {
      Slot& slot = slots_[begun_.slot];
      if (begun_.round > 0) slot.empty.wait_until_left(begun_.round - 1);
      const int first = load_.tile(at) * load_.words;
      const int words = min(load_.words + (before ? 1 : 0), end - first);
      if (words > 0) {
        slot.full.copy(words_of(begun_), row.at(first), words * kWordBytes);
      } else {
        slot.full.nothing();
      }
      begun_.step(load_.slots);
    }
  }

  // By the others: this lane's part of the row's tiles `from` to `to` - 1, counted as the block's,
  // and of what was `found` before. In their order, and rows in theirs.
  __device__ Part part(const T* x_row, int from, int to, Part found) {
    for (int at = from; at < to; ++at) {
      wait(seen_);
      const InSlot tile(words_of(seen_), InSlot::off(x_row));
      found = tile.part(count(load_.tile(at)), found);
      seen_.step(load_.slots);
      if (at < load_.tiles - load_.passage().kept()) leave();
    }
    return found;
  }

  // By the others: the output of a row, of all of which part() has been called.
  template <typename Op>
  __device__ void write(const T* x_row, T* out_row, float max, const Op& finish) {
    const int before = InSlot::off(x_row);
    for (int at = load_.tiles - load_.passage().kept(); at < load_.passage().brought(); ++at) {
      if (at >= load_.tiles) wait(taken_), seen_.step(load_.slots);
      const int tile = load_.tile(at), from = tile * load_.words * kWord;
      InSlot(words_of(taken_), before).put(out_row, from, from + count(tile), max, finish);
      leave();
    }
  }

 private:
  // Elements of a tile: 0 and less where the row has none.
  __device__ int count(int tile) const {
    return min(load_.words * kWord, cols_ - tile * load_.words * kWord);
  }
  __device__ uint4* words_of(const Cursor& at) const {
    return room_ + at.slot * pitch(load_.words, ALIGNED);
  }
  __device__ void wait(const Cursor& at) const { slots_[at.slot].full.wait(at.round); }
  __device__ void leave() {
    __syncwarp();
    if (threadIdx.x % kWarp == 0) slots_[taken_.slot].empty.leave();
    taken_.step(load_.slots);
  }
};
