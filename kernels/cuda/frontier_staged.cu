// Long rows that begin anywhere, in registers: on the way there, and on the way out, each warp's
// share passes through shared memory as it lies, where it is put right by 4 bytes at a time.
#include "cluster.cuh"
#include "run.cuh"

// 4 bytes of a row: an element of 32 bits, or two of 16.
template <typename T>
constexpr int kOfPiece = 4 / static_cast<int>(sizeof(T));

// The elements of a piece from number `count` on become -inf.
template <typename T>
__device__ inline unsigned cut_piece(unsigned piece, int count) {
  return cut<T>(make_uint4(piece, 0, 0, 0), count).x;
}

// A lane's pieces of its warp's share, every 32nd. KEEP: exp(x - top) is kept in their place.
template <typename T, int K, bool KEEP>
struct Pieces {
  static constexpr int kUnsure = 2;  // the last ones, of which the share may have fewer
  unsigned piece[K];
  float top;
  int count;  // of elements of the share
  unsigned zero;

  __device__ static int lane() { return threadIdx.x % kWarp; }
  // How many elements of piece `i` there are: 0 and less where it is beyond the share.
  __device__ int left(int i) const { return count - (i * kWarp + lane()) * kOfPiece<T>; }

  // `before`: elements from the beginning of the room to the share.
  __device__ Pieces(const uint4* room, int before, int elements, unsigned nothing)
      : count(elements), zero(nothing) {
    const int bytes = before * static_cast<int>(sizeof(T));
    const unsigned* const from = reinterpret_cast<const unsigned*>(room) + bytes / 4 + lane();
#pragma unroll
    for (int i = 0; i < K; ++i) {
      piece[i] = from[i * kWarp];
      if constexpr (kOfPiece<T> > 1) {
        piece[i] = __funnelshift_r(piece[i], from[i * kWarp + 1], bytes % 4 * 8);
      }
      if (i >= K - kUnsure && left(i) < kOfPiece<T>) piece[i] = cut_piece<T>(piece[i], left(i));
    }
  }

  template <bool AGAIN>
  __device__ void floats(unsigned both, float (&to)[kOfPiece<T>]) const {
    if constexpr (kOfPiece<T> > 1) {
      to_floats<T, AGAIN>(both, to[0], to[1]);
    } else {
      to[0] = __uint_as_float(both);
    }
  }

  __device__ Part part() {
    unsigned most[4];
#pragma unroll
    for (int i = 0; i < 4; ++i) most[i] = piece[min(i, K - 1)];
#pragma unroll
    for (int i = 4; i < K; ++i) most[i % 4] = larger<T>(most[i % 4], piece[i]);
    const uint4 all[1] = {make_uint4(most[0], most[1], most[2], most[3])};
    Part found{largest<T>(all), 0.0f};
    top = found.max;
    const float base = found.base();
    float sum[4] = {};
#pragma unroll
    for (int i = 0; i < K; ++i) {
      float value[kOfPiece<T>];
      floats<false>(piece[i], value);
#pragma unroll
      for (int j = 0; j < kOfPiece<T>; ++j) {
        value[j] = exp_of(value[j] - base);
        sum[(i * kOfPiece<T> + j) % 4] += value[j];
      }
      if constexpr (KEEP) piece[i] = __float_as_uint(value[0]);
    }
    found.sum = over<Sum, 4>(sum);
    return found;
  }

  // The results, to the room, of which the share is to begin with element `after`.
  template <typename Op>
  __device__ void put(uint4* room, int after, float max, const Op& finish) {
    const int bytes = after * static_cast<int>(sizeof(T));
    const bool split = bytes % 4 != 0;
    float factor = 0.0f;
    if constexpr (KEEP) factor = finish.factor(top - max);
#pragma unroll
    for (int i = 0; i < K; ++i) {
      if (i >= K - kUnsure && left(i) <= 0) continue;
      float value[kOfPiece<T>];
      if constexpr (KEEP) {
        value[0] = __uint_as_float(piece[i]) * factor;
      } else {
        if constexpr (sizeof(T) < 4) piece[i] = renewed_piece(piece[i]);
        floats<true>(piece[i], value);
#pragma unroll
        for (int j = 0; j < kOfPiece<T>; ++j) {
          value[j] = finish.template of_shifted<T>(value[j] - max);
        }
      }
      unsigned* const at = reinterpret_cast<unsigned*>(room) + bytes / 4 + i * kWarp + lane();
      if constexpr (kOfPiece<T> == 1) {
        *at = __float_as_uint(value[0]);
      } else {
        const unsigned made = from_floats<T>(value[0], value[1]);
        if (split) {
          unsigned short* const half = reinterpret_cast<unsigned short*>(at);
          half[1] = static_cast<unsigned short>(made);
          half[2] = static_cast<unsigned short>(made >> 16);
        } else {
          *at = made;
        }
      }
    }
  }

 private:
  __device__ unsigned renewed_piece(unsigned old) const {
    uint4 word = make_uint4(old, 0, 0, 0);
    forget<T>(word, zero);
    return word.x;
  }
};

// Registers in which nothing is spilled. Without being told, the compiler takes more, and then
// fewer warps are resident.
template <int K>
constexpr int kRegisters = K <= 28 ? 40 : 48;

// K: pieces of a lane. WARPS: of a block. CLUSTER: blocks that share a row. All this follows from
// cols, so which elements meet in which sum does, too. Dynamic shared memory: for each warp its
// pieces, and two words.
template <typename T, typename Op, int K, int WARPS, int CLUSTER>
__global__ void __maxnreg__(kRegisters<K>)
    frontier_staged(T* __restrict__ out, const T* __restrict__ x, Index out_stride, Index x_stride,
                    Index rows, Index cols) {
  extern __shared__ __align__(16) uint4 rooms[];
  constexpr int kRoom = K * kWarp / 4 + 2, kShares = WARPS * CLUSTER;
  using Parts = Inbox<kShares>;
  __shared__ Parts inbox;
  const int warp = __shfl_sync(kWholeWarp, static_cast<int>(threadIdx.x) / kWarp, 0);
  const int lane = threadIdx.x % kWarp, width = static_cast<int>(cols);
  Index row = blockIdx.x;
  int share = warp;
  enter_row<WARPS, CLUSTER>(inbox, row, share);
  // shares differ by one piece at most
  const int pieces = (width + kOfPiece<T> - 1) / kOfPiece<T>;
  const int each = pieces / kShares, longer = pieces % kShares;
  const int from = (share * each + min(share, longer)) * kOfPiece<T>;
  const int count = min(width - from, (each + (share < longer ? 1 : 0)) * kOfPiece<T>);
  T* const to = out + row * out_stride + from;
  uint4* const room = rooms + warp * kRoom;
  constexpr int kWords = (kRoom + kWarp - 1) / kWarp;
  const int before = bring_run<T, kWarp, kWords>(room, x + row * x_stride + from, count, lane);
  __syncwarp();
  Pieces<T, K, sizeof(T) == 4 && Op::kPowers> own(room, before, count,
                                                  static_cast<unsigned>(cols >> 32));
  const Part part = joined_over_row<WARPS, CLUSTER>(own.part(), inbox);
  __syncwarp();  // all of the warp have read their pieces
  own.put(room, Aligned<T>(to).elements_off(), part.max, Op(part.sum));
  __syncwarp();
  take_run<T, kWarp>(to, room, count, lane);
}
