// Long rows that begin anywhere: each warp's share lies in shared memory as it came. From there its
// elements are taken in words counted from the row's first element, so that the same ones meet in a
// sum wherever the row begins; and once more in the words that the result lies in.
#include "cluster.cuh"

// Words between the beginning of a line of the cache and this one.
__device__ inline int place_in_line(const void* word) {
  return static_cast<int>(reinterpret_cast<unsigned long long>(word) / kWordBytes % kLineWords);
}

// One word on its way from global to shared memory, through no register: WORDS words from where
// both pointers are. PTX ISA, "cp.async". By way of the L1 cache, past which it takes longer.
template <int WORDS>
__device__ inline void begin_word(uint4* to, const void* from) {
  asm volatile("cp.async.ca.shared.global [%0+%2], [%1+%2], 16;" ::"r"(shared_address(to)),
               "l"(from), "n"(WORDS * kWordBytes)
               : "memory");
}
// For those that this thread has begun.
__device__ inline void wait_for_words() { asm volatile("cp.async.wait_all;" ::: "memory"); }

// A lane's: word number `at`, which may be below 0, and every 32nd from there, below `end`.
template <int TURNS, int TURN = 0>
__device__ inline void begin_words(uint4* to, const void* from, int at, int end) {
  if constexpr (TURN < TURNS) {
    if ((TURN > 0 || at >= 0) && at + TURN * kWarp < end) begin_word<TURN * kWarp>(to, from);
    begin_words<TURNS, TURN + 1>(to, from, at, end);
  }
}

// Bring all aligned words that hold some of `count` elements; where in `room` the first is then. At
// most K words of a lane, and two. A whole warp calls it, and its lanes must wait for each other.
template <typename T, int K>
__device__ int bring(uint4* room, const T* from, int count) {
  const Aligned<const T> run(from);
  const int before = run.elements_off(), words = (before + count + kWide<T> - 1) / kWide<T>;
  // each load is whole lines
  const int at = static_cast<int>(threadIdx.x) % kWarp - place_in_line(run.words);
  begin_words<K + 1>(room + at, run.at(at), at, words);
  wait_for_words();
  return before;
}

// Elements in shared memory, wherever in a word the first is.
template <typename T>
struct Staged {
  const uint4* words;
  int off;  // bytes, in the first word

  __device__ Staged(const uint4* room, int before)
      : words(room + before / kWide<T>), off(before % kWide<T> * static_cast<int>(sizeof(T))) {}

  // Word i, counted from the first element; QUARTER: off / 4.
  template <int QUARTER>
  __device__ uint4 word(int i) const {
    return middle<T, QUARTER>(words[i], words[i + 1], off % 4);
  }
};

// A lane's K words of its warp's share, every 32nd.
template <typename T, int K, int QUARTER>
struct Words {
  static constexpr int kUnsure = 2;  // the last ones, which the share may not have
  const Staged<T>& share;
  int end;  // of the share's elements, of which the last word may have fewer

  __device__ uint4 operator[](int k) const {
    const int i = k * kWarp + static_cast<int>(threadIdx.x) % kWarp;
    uint4 word = share.template word<QUARTER>(i);
    if (k >= K - kUnsure) {
      const int count = end - i * kWide<T>;
      if (count < kWide<T>) word = cut<T>(word, count);
    }
    return word;
  }

  __device__ Part part() const {
    uint4 most = (*this)[0];
#pragma unroll
    for (int k = 1; k < K; ++k) most = larger<T>(most, (*this)[k]);
    Part found{largest<T>(most), 0.0f};
    const float base = found.base();
    __syncwarp();  // else the compiler keeps all words, in registers that other warps need
#pragma unroll
    for (int k = 0; k < K; ++k) {
      float value[kWide<T>];
      powers_of<T>((*this)[k], base, value);
      found.sum += over<Sum, kWide<T>>(value);
    }
    return found;
  }
};

// The result of so many words, K of a lane at most.
template <int K, typename T, typename Op>
__device__ void put(uint4* to, const Staged<T>& share, int words, float max, const Op& finish) {
  const int lane = threadIdx.x % kWarp;
  if (share.off == 0) {
    // In 32 bits a turn more is worth it, for stores of whole lines.
    constexpr bool kLines = sizeof(T) == sizeof(float);
    const int at = lane - (kLines ? place_in_line(to) : 0);
#pragma unroll
    for (int k = 0; k < K + (kLines ? 1 : 0); ++k) {
      const int i = at + k * kWarp;
      if (i < words && (k > 0 || i >= 0))
        store_word(to + i, finished<T>(share.words[i], max, finish));
    }
  } else {
    with_quarter(share.off, [&](auto quarter) {
      uint4* next = to + lane;
#pragma unroll 1
      for (int i = lane; i < words; i += kWarp, next += kWarp) {
        store_word(next, finished<T>(share.template word<quarter.value>(i), max, finish));
      }
    });
  }
}

// In which nothing is spilled on compute capabilities 8.0 and 9.0. Without being told, the compiler
// takes more, and then fewer warps are resident.
template <int K>
constexpr int kRegisters = K <= 6 ? 32 : 40;

// K: words of a lane. WARPS: of a block. CLUSTER: blocks that share a row. All this follows from
// cols, so which elements meet in which sum does, too. Dynamic shared memory: for each warp its
// words, and two.
template <typename T, typename Op, int K, int WARPS, int CLUSTER>
__global__ void __maxnreg__(kRegisters<K>)
    frontier_staged(T* __restrict__ out, const T* __restrict__ x, Index out_stride, Index x_stride,
                    Index rows, Index cols) {
  extern __shared__ __align__(16) uint4 rooms[];
  constexpr int kRoom = K * kWarp + 2, kShares = WARPS * CLUSTER;
  using Parts = Inbox<kShares>;
  __shared__ Parts inbox;
  const int warp = __shfl_sync(kWholeWarp, static_cast<int>(threadIdx.x) / kWarp, 0);
  const int lane = threadIdx.x % kWarp;
  Index row = blockIdx.x;
  int share = warp;
  enter_row<WARPS, CLUSTER>(inbox, row, share);
  // shares differ by one word at most
  const int words = (static_cast<int>(cols) + kWide<T> - 1) / kWide<T>;
  const int each = words / kShares, longer = words % kShares;
  const int own = each + (share < longer ? 1 : 0);
  const int from = (share * each + min(share, longer)) * kWide<T>;
  const int left = static_cast<int>(cols) - from;  // elements, to the row's end
  T* const to = out + row * out_stride + from;
  // The words of the result that begin in the share are as many. They begin, and end, so much
  // later.
  const int later = (kWide<T> - Aligned<T>(to).elements_off()) % kWide<T>;

  uint4* const room = rooms + warp * kRoom;
  const int end = min(left, own * kWide<T>), count = min(left, own * kWide<T> + later);
  const int before = bring<T, K>(room, x + row * x_stride + from, count);
  __syncwarp();
  const Staged<T> counted(room, before);
  Part part;
  with_quarter(counted.off,
               [&](auto quarter) { part = Words<T, K, quarter.value>{counted, end}.part(); });
  part = joined_over_row<WARPS, CLUSTER>(part, inbox);

  const Op finish(part.sum);
  const int whole = (count - later) / kWide<T>;
  put<K>(reinterpret_cast<uint4*>(to + later), Staged<T>(room, before + later), whole, part.max,
         finish);
  // Where the row begins or ends within a word of the result, element by element.
  const T* const held = reinterpret_cast<const T*>(room) + before;
  const int first = from == 0 ? 0 : later + whole * kWide<T>, at = first + lane;
  if (at < (from == 0 ? later : count)) {
    from_float(to[at], finish.template of_shifted<T>(to_float(held[at]) - part.max));
  }
}
