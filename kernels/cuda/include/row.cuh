// Element types, packs, and reductions over a warp and over a block. NVRTC brings no header files,
// so 16-bit types are converted by PTX; bfloat16 needs compute capability 8.0.
#pragma once

using Index = long long;  // rows and strides: a matrix may hold more than 2^31 elements

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
  T at[N];
  __device__ Pack() {}
};

template <typename T, int N>
__device__ inline void load(float (&to)[N], const T* from) {
  Pack<T, N> pack;
  pack.vec = *reinterpret_cast<const typename Pack<T, N>::Vec*>(from);
#pragma unroll
  for (int i = 0; i < N; ++i) to[i] = to_float(pack.at[i]);
}

template <typename T, int N>
__device__ inline void store(T* to, const float (&from)[N]) {
  Pack<T, N> pack;
#pragma unroll
  for (int i = 0; i < N; ++i) from_float(pack.at[i], from[i]);
  store_vec(reinterpret_cast<typename Pack<T, N>::Vec*>(to), pack.vec);
}

struct Max {
  __device__ static float identity() { return lowest(); }
  __device__ static float of(float a, float b) { return fmaxf(a, b); }
};
struct Sum {
  __device__ static float identity() { return 0.0f; }
  __device__ static float of(float a, float b) { return a + b; }
};

// Reduce over LANES adjacent lanes by a butterfly of shuffles; each of them gets the result. All
// lanes of the warp must call it.
template <typename Op, int LANES = kWarp>
__device__ inline float warp_reduce(float value) {
#pragma unroll
  for (int distance = LANES / 2; distance > 0; distance /= 2) {
    value = Op::of(value, __shfl_xor_sync(kWholeWarp, value, distance));
  }
  return value;
}

// Reduce over a block of THREADS threads with one barrier; all threads get the result. Each warp
// writes its value to shared memory and then reduces all values by itself. Two reductions in a row
// need two `parts`: a fast warp may write the second while a slow warp still reads the first. The
// second barrier keeps the fast warp from writing the first again too early.
template <typename Op, int THREADS>
__device__ inline float block_reduce(float value, float (&parts)[THREADS / kWarp]) {
  value = warp_reduce<Op>(value);
  if constexpr (THREADS > kWarp) {
    const int lane = threadIdx.x % kWarp;
    if (lane == 0) parts[threadIdx.x / kWarp] = value;
    __syncthreads();
    value = warp_reduce<Op>(lane < THREADS / kWarp ? parts[lane] : Op::identity());
  }
  return value;
}

// Compute an element of the output from x - max and the row's sum of exp(x - max). Division and exp
// are the fast ones. By the CUDA Math API their errors are 2 ulp, and 2 + |1.173 x| ulp for exp(x),
// which is larger for the smaller, less important elements of a row.
struct Softmax {
  float scale;
  __device__ explicit Softmax(float sum) : scale(__fdividef(1.0f, sum)) {}
  // keep exp(x - max) in place of x between the passes
  __device__ static float keep(float, float exponential) { return exponential; }
  __device__ float of_kept(float kept) const { return kept * scale; }
};
struct LogSoftmax {
  float log_sum;
  __device__ explicit LogSoftmax(float sum) : log_sum(logf(sum)) {}
  // keep x - max in place of x between the passes
  __device__ static float keep(float shifted, float) { return shifted; }
  __device__ float of_kept(float kept) const { return kept - log_sum; }
};
