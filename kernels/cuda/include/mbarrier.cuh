// Barriers in shared memory that count bytes.
#pragma once

__device__ inline unsigned shared_address(const void* pointer) {
  return static_cast<unsigned>(__cvta_generic_to_shared(pointer));
}

// Publish the barriers that this thread has initialised to the blocks of the cluster.
__device__ inline void fence_mbarrier_init() {
  asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
}

// Compute capability 9.0. PTX ISA, "mbarrier".
struct Mbarrier {
  unsigned long long barrier;

  // One thread calls it before any thread waits, and then calls fence_mbarrier_init().
  __device__ void init() {
    asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" ::"r"(shared_address(&barrier)));
  }

  // One thread calls it: the barrier opens once this many bytes have arrived.
  __device__ void expect_tx(unsigned bytes) {
    asm volatile(
        "mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(shared_address(&barrier)),
        "r"(bytes)
        : "memory");
  }

  // All threads that read the bytes call it; only the first phase is used.
  __device__ void wait() {
    unsigned done = 0;
    while (!done) {
      asm volatile(
          "{\n .reg .pred p;\n"
          " mbarrier.try_wait.parity.shared::cta.b64 p, [%1], 0;\n"
          " selp.u32 %0, 1, 0, p;\n}"
          : "=r"(done)
          : "r"(shared_address(&barrier))
          : "memory");
    }
  }
};
