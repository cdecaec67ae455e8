// Packs of adjacent elements, moved at once.
#pragma once
#include "types.cuh"

// Store a vector of 2 to 16 bytes by one instruction. Without PTX the compiler stores element by
// element where it has unrolled the loop around the store.
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

// N adjacent elements, moved at once. Their address must be a multiple of their size.
template <typename T, int N>
union Pack {
  using Vec = typename VecOf<sizeof(T) * N>::type;
  Vec vec;
  T elems[N];
  __device__ Pack() {}
};

template <typename T, int N>
__device__ inline void load(float (&to)[N], const T* from) {
  Pack<T, N> pack;
  pack.vec = *reinterpret_cast<const typename Pack<T, N>::Vec*>(from);
#pragma unroll
  for (int i = 0; i < N; ++i) to[i] = to_float(pack.elems[i]);
}

template <typename T, int N>
__device__ inline void store(T* to, const float (&from)[N]) {
  Pack<T, N> pack;
#pragma unroll
  for (int i = 0; i < N; ++i) from_float(pack.elems[i], from[i]);
  store_vec(reinterpret_cast<typename Pack<T, N>::Vec*>(to), pack.vec);
}
