// Rows at any address: assemble their vectors from aligned ones, and store parts of a vector.
#pragma once
#include "vec.cuh"

// Return 16 of the 32 bytes of two adjacent vectors, beginning at byte 4 * QUARTER + rest. `rest`
// is 0, or 2 if elements have 16 bits.
template <typename T, int QUARTER>
__device__ inline uint4 funnel_shift(uint4 low, uint4 high, int rest) {
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

// Return 8 of the 16 bytes of two narrow vectors of 16-bit elements (narrow.cuh).
template <typename T, int QUARTER>
__device__ inline uint2 funnel_shift(uint2 low, uint2 high, int rest) {
  static_assert(sizeof(T) < 4 && QUARTER < 2, "a narrow vector has two registers");
  const unsigned r[4] = {low.x, low.y, high.x, high.y};
  return make_uint2(__funnelshift_r(r[QUARTER], r[QUARTER + 1], rest * 8),
                    __funnelshift_r(r[QUARTER + 1], r[QUARTER + 2], rest * 8));
}

template <int N>
struct Constant {
  static constexpr int value = N;
};

// Call run(Constant<bytes / 4>()): one branch, uniform over the warp, to code with constant shifts
// instead of a select for each register. `bytes` is even, below VEC and the same in all lanes.
template <int VEC = kVecBytes, typename F>
__device__ inline void dispatch_quarter(int bytes, const F& run) {
  if constexpr (VEC < kVecBytes) {
    return bytes / 4 == 0 ? run(Constant<0>()) : run(Constant<1>());
  } else {
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
}

// A row at any address, and the aligned vectors that cover it. Vector v of the row begins with
// element v * ELEMS, so sums do not depend on the address; aligned vector v is `off` bytes earlier.
template <typename T, int ELEMS = kVecElems<T>>
struct AlignedRow {
  T* vecs;  // aligned vector 0
  int off;  // bytes from there to the row
  __device__ explicit AlignedRow(T* row) {
    const unsigned long long address = reinterpret_cast<unsigned long long>(row);
    off = static_cast<int>(address % (ELEMS * sizeof(T)));
    vecs = reinterpret_cast<T*>(address - off);
  }
  __device__ T* at(int vec) const { return vecs + vec * ELEMS; }
  __device__ int elements_off() const { return off / static_cast<int>(sizeof(T)); }
};

// An aligned output vector of which only some elements are to be stored: the first `count` by
// store_beginning(), the last `count` by store_end().
template <typename T>
struct PartialVec {
  uint4 vec;
  T* vec_begin;  // destination of the whole vector
  int count;

  __device__ void store_beginning() const {
    uint4 rest = vec;
    unsigned* next = reinterpret_cast<unsigned*>(vec_begin);
    const int bytes = count * static_cast<int>(sizeof(T));
    if (bytes & 8) {
      store_vec(reinterpret_cast<uint2*>(next), make_uint2(rest.x, rest.y));
      rest.x = rest.z, rest.y = rest.w, next += 2;
    }
    if (bytes & 4) store_vec(next++, rest.x), rest.x = rest.y;
    if constexpr (sizeof(T) < 4) {
      if (bytes & 2) {
        store_vec(reinterpret_cast<unsigned short*>(next), static_cast<unsigned short>(rest.x));
      }
    }
  }

  __device__ void store_end() const {
    uint4 rest = vec;
    unsigned* next = reinterpret_cast<unsigned*>(vec_begin) + 4;
    const int bytes = count * static_cast<int>(sizeof(T));
    if (bytes & 8) {
      store_vec(reinterpret_cast<uint2*>(next -= 2), make_uint2(rest.z, rest.w));
      rest.z = rest.x, rest.w = rest.y;
    }
    if (bytes & 4) store_vec(--next, rest.w), rest.w = rest.z;
    if constexpr (sizeof(T) < 4) {
      if (bytes & 2) {
        store_vec(reinterpret_cast<unsigned short*>(next) - 1,
                  static_cast<unsigned short>(rest.w >> 16));
      }
    }
  }

  // Store elements [from, end), for rows shorter than a vector; `count` plays no part.
  __device__ void store_middle(int from, int end) const {
    Pack<T, kVecElems<T>> pack;
    pack.vec = vec;
#pragma unroll
    for (int i = 0; i < kVecElems<T>; ++i) {
      if (i >= from && i < end) vec_begin[i] = pack.elems[i];
    }
  }
};
