// Copies into shared memory by the copy engine, in 16-byte words, while the threads do something
// else; compute capability 9.0. PTX ISA, "cp.async.bulk" and "mbarrier".
#pragma once
#include "frontier.cuh"

__device__ inline unsigned shared_address(const void* at) {
  return static_cast<unsigned>(__cvta_generic_to_shared(at));
}

// The copy engine, and the blocks of a cluster after its next barrier, see which barriers this
// thread has begun.
__device__ inline void show_barriers() {
  asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
}

// One copy into shared memory after the other, and who waits for them: a barrier in shared memory
// that counts bytes.
struct Arrival {
  unsigned long long barrier;

  // By one thread, which then calls show_barriers(), before anyone waits.
  __device__ void begin() {
    asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" ::"r"(shared_address(&barrier)));
  }

  // By one thread: so many bytes will come.
  __device__ void expect(unsigned bytes) {
    asm volatile(
        "mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(shared_address(&barrier)),
        "r"(bytes)
        : "memory");
  }

  // By all who read what came with copy number `turn`, from 0.
  __device__ void wait(unsigned turn) {
    unsigned done = 0;
    while (!done) {
      asm volatile(
          "{\n .reg .pred p;\n"
          " mbarrier.try_wait.parity.shared::cta.b64 p, [%1], %2;\n"
          " selp.u32 %0, 1, 0, p;\n}"
          : "=r"(done)
          : "r"(shared_address(&barrier)), "r"(turn & 1)
          : "memory");
    }
  }
};
