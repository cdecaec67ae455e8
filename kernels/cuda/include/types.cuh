// Element types, and their conversion to and from float32. NVRTC comes without header files, so the
// 16-bit types are our own and are converted in PTX; bfloat16 needs compute capability 8.0.
#pragma once

using Index = long long;  // for rows and strides: a matrix may have more than 2^31 elements

constexpr unsigned kWholeWarp = 0xffffffffu;
constexpr int kWarp = 32;

struct Half {
  unsigned short bits;
};
struct BFloat16 {
  unsigned short bits;
};

__device__ inline float to_float(float x) { return x; }
__device__ inline float to_float(Half x) {
  float y;
  asm("cvt.f32.f16 %0, %1;" : "=f"(y) : "h"(x.bits));
  return y;
}
__device__ inline float to_float(BFloat16 x) {
  return __uint_as_float(static_cast<unsigned>(x.bits) << 16);
}

__device__ inline void from_float(float& y, float x) { y = x; }
__device__ inline void from_float(Half& y, float x) {
  asm("cvt.rn.f16.f32 %0, %1;" : "=h"(y.bits) : "f"(x));
}
__device__ inline void from_float(BFloat16& y, float x) {
  asm("cvt.rn.bf16.f32 %0, %1;" : "=h"(y.bits) : "f"(x));
}

__device__ inline float lowest() { return __int_as_float(0xff800000); }  // -inf
