// Vectors of 2 to 16 bytes: adjacent elements that one instruction loads or stores.
#pragma once
#include "types.cuh"

// Store a vector by one instruction. In C++ instead of PTX, the compiler would store element by
// element where it unrolls the loop around the store.
__device__ inline void store_vec(unsigned short* to, unsigned short vec) {
  asm volatile("st.global.u16 [%0], %1;" ::"l"(to), "h"(vec) : "memory");
}
__device__ inline void store_vec(unsigned* to, unsigned vec) {
  asm volatile("st.global.u32 [%0], %1;" ::"l"(to), "r"(vec) : "memory");
}
__device__ inline void store_vec(uint2* to, uint2 vec) {
  asm volatile("st.global.v2.u32 [%0], {%1, %2};" ::"l"(to), "r"(vec.x), "r"(vec.y) : "memory");
}
__device__ inline void store_vec(uint4* to, uint4 vec) {
  asm volatile("st.global.v4.u32 [%0], {%1, %2, %3, %4};" ::"l"(to), "r"(vec.x), "r"(vec.y),
               "r"(vec.z), "r"(vec.w)
               : "memory");
}

// The vector type of so many bytes.
template <int BYTES>
struct VecOf {
  using type = uint4;
};
template <>
struct VecOf<2> {
  using type = unsigned short;
};
template <>
struct VecOf<4> {
  using type = unsigned;
};
template <>
struct VecOf<8> {
  using type = uint2;
};

// N adjacent elements as a vector. Their address must be a multiple of their total size.
template <typename T, int N>
union Pack {
  using Vec = typename VecOf<sizeof(T) * N>::type;
  Vec vec;
  T elems[N];
  __device__ Pack() {}
};

// Load N elements as float32.
template <typename T, int N>
__device__ inline void load(float (&to)[N], const T* from) {
  Pack<T, N> pack;
  pack.vec = *reinterpret_cast<const typename Pack<T, N>::Vec*>(from);
#pragma unroll
  for (int i = 0; i < N; ++i) to[i] = to_float(pack.elems[i]);
}

// Round N elements to T and store them.
template <typename T, int N>
__device__ inline void store(T* to, const float (&from)[N]) {
  Pack<T, N> pack;
#pragma unroll
  for (int i = 0; i < N; ++i) from_float(pack.elems[i], from[i]);
  store_vec(reinterpret_cast<typename Pack<T, N>::Vec*>(to), pack.vec);
}
