// 16-byte vectors of elements: loads, conversion, maximum, exp, and barriers for the compiler.
#pragma once
#include "pack.cuh"

constexpr float kLog2e = 1.44269504088896341f;
constexpr int kVecBytes = 16;
constexpr int kLineVecs = 8;  // vectors in a cache line of 128 bytes

// Elements of type T per vector.
template <typename T>
constexpr int kVecElems = kVecBytes / static_cast<int>(sizeof(T));

// Compute 2^x in the special function unit: error 2 ulp (PTX ISA, ex2.approx); 0 for -inf.
__device__ inline float exp2_approx(float x) {
  float y;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
  return y;
}

// Compute exp(x). Rounding the product makes the error 2 + |x| ulp, too small to matter in 16 bits.
__device__ inline float exp_approx(float x) { return exp2_approx(x * kLog2e); }

// Return the larger of two numbers, or NaN if either is NaN.
__device__ inline float max_or_nan(float a, float b) {
  float y;
  asm("max.NaN.f32 %0, %1, %2;" : "=f"(y) : "f"(a), "f"(b));
  return y;
}

// Compute the element-wise maximum; of NaN and a number it is the number. Each of a vector's four
// registers holds one 32-bit element, or two 16-bit ones with the first in the lower half.
__device__ inline unsigned vec_max(unsigned a, unsigned b, float) {
  return __float_as_uint(fmaxf(__uint_as_float(a), __uint_as_float(b)));
}
__device__ inline unsigned vec_max(unsigned a, unsigned b, Half) {
  asm("max.f16x2 %0, %0, %1;" : "+r"(a) : "r"(b));
  return a;
}
__device__ inline unsigned vec_max(unsigned a, unsigned b, BFloat16) {
  asm("max.bf16x2 %0, %0, %1;" : "+r"(a) : "r"(b));
  return a;
}
template <typename T>
__device__ inline uint4 vec_max(uint4 a, uint4 b) {
  return make_uint4(vec_max(a.x, b.x, T{}), vec_max(a.y, b.y, T{}), vec_max(a.z, b.z, T{}),
                    vec_max(a.w, b.w, T{}));
}
// Round two floats to 16-bit elements, to nearest, in one instruction.
__device__ inline void from_floats(unsigned& pair, float first, float second, Half) {
  asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(pair) : "f"(second), "f"(first));
}
__device__ inline void from_floats(unsigned& pair, float first, float second, BFloat16) {
  asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(pair) : "f"(second), "f"(first));
}

// Load a vector through the read-only path; the second form allocates no line in L1.
template <typename Vec = uint4>
__device__ inline Vec load_vec(const void* from) {
  return __ldg(reinterpret_cast<const Vec*>(from));
}
template <typename Vec = uint4>
__device__ inline Vec load_vec_once(const void* from) {
  Vec vec;
  if constexpr (sizeof(Vec) == kVecBytes) {
    asm("ld.global.nc.L1::no_allocate.v4.u32 {%0, %1, %2, %3}, [%4];"
        : "=r"(vec.x), "=r"(vec.y), "=r"(vec.z), "=r"(vec.w)
        : "l"(from));
  } else {
    asm("ld.global.nc.L1::no_allocate.v2.u32 {%0, %1}, [%2];"
        : "=r"(vec.x), "=r"(vec.y)
        : "l"(from));
  }
  return vec;
}

// Convert two 16-bit elements to float32. AGAIN, for a second conversion of the same elements, uses
// another instruction, so that the compiler cannot keep the first result in twice the registers.
template <bool AGAIN>
__device__ inline void to_floats(unsigned pair, float& first, float& second, BFloat16) {
  first = __uint_as_float(AGAIN ? __byte_perm(pair, 0, 0x1044) : pair << 16);
  second = __uint_as_float(AGAIN ? __byte_perm(pair, 0, 0x3244) : pair & 0xffff0000u);
}
template <bool>  // for Half, the caller instead passes the vector through opaque() in between
__device__ inline void to_floats(unsigned pair, float& first, float& second, Half) {
  first = to_float(Half{static_cast<unsigned short>(pair)});
  second = to_float(Half{static_cast<unsigned short>(pair >> 16)});
}

// Compiler barriers: the value is unchanged, but the compiler must treat it as new. So it neither
// keeps what it computed from the old value in registers nor delays a load until its first use.
__device__ inline int opaque(int value) {
  asm volatile("" : "+r"(value));
  return value;
}
__device__ inline float opaque(float value) {
  asm volatile("" : "+f"(value));
  return value;
}
template <typename T>
__device__ inline const T* opaque(const T* pointer) {
  asm volatile("" : "+l"(pointer));
  return pointer;
}
__device__ inline void opaque(uint4& vec) {
  asm volatile("" : "+r"(vec.x), "+r"(vec.y), "+r"(vec.z), "+r"(vec.w));
}
// The barrier for Half, for which no second conversion instruction exists; see to_floats(). It adds
// a zero that only the run time knows, which costs less than an asm barrier.
template <typename T>
__device__ inline void opaque(uint4&, unsigned) {}
template <>
__device__ inline void opaque<Half>(uint4& vec, unsigned zero) {
  vec.x += zero, vec.y += zero, vec.z += zero, vec.w += zero;
}

template <typename T, bool AGAIN = false>
__device__ inline void unpack(uint4 vec, float (&to)[kVecElems<T>]) {
  const unsigned part[4] = {vec.x, vec.y, vec.z, vec.w};
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    if constexpr (sizeof(T) == sizeof(float)) {
      to[i] = __uint_as_float(part[i]);
    } else {
      to_floats<AGAIN>(part[i], to[2 * i], to[2 * i + 1], T{});
    }
  }
}

template <typename T>
__device__ inline uint4 pack(const float (&from)[kVecElems<T>]) {
  unsigned part[4];
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    if constexpr (sizeof(T) == sizeof(float)) {
      part[i] = __float_as_uint(from[i]);
    } else {
      from_floats(part[i], from[2 * i], from[2 * i + 1], T{});
    }
  }
  return make_uint4(part[0], part[1], part[2], part[3]);
}

// Compute the outputs of a vector of x. AGAIN: see to_floats().
template <typename T, bool AGAIN = false, typename Epilogue>
__device__ inline uint4 apply_epilogue(uint4 vec, const Epilogue& epilogue) {
  float value[kVecElems<T>];
  unpack<T, AGAIN>(vec, value);
#pragma unroll
  for (int i = 0; i < kVecElems<T>; ++i) value[i] = epilogue.from_x(value[i]);
  return pack<T>(value);
}

// Keep the first `count` elements of a vector and set the others to `fill`. -inf, the default,
// leaves every softmax state unchanged.
template <typename T, typename Vec>
__device__ inline Vec mask_tail(Vec vec, int count, float fill = lowest()) {
  constexpr int kElems = sizeof(Vec) / sizeof(T);
  Pack<T, kElems> pack;
  pack.vec = vec;
#pragma unroll
  for (int i = 0; i < kElems; ++i) {
    if (i >= count) from_float(pack.elems[i], fill);
  }
  return pack.vec;
}

// Return the largest element of a vector, or of an array of vectors.
template <typename T>
__device__ inline float max_element(uint4 largest) {
  largest.x = vec_max(vec_max(largest.x, largest.y, T{}), vec_max(largest.z, largest.w, T{}), T{});
  float value[kVecElems<T>];
  unpack<T>(largest, value);
  // fmaxf() ignores NaN, so a vector of nothing but NaN yields -inf, as intended
  return fmaxf(lowest(), sizeof(T) < sizeof(float) ? fmaxf(value[0], value[1]) : value[0]);
}
template <typename T, int N>
__device__ inline float max_element(const uint4 (&vec)[N]) {
  uint4 largest = vec[0];
#pragma unroll
  for (int k = 1; k < N; ++k) largest = vec_max<T>(largest, vec[k]);
  return max_element<T>(largest);
}
