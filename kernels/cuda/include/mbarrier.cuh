// Barriers in shared memory that open when a number of bytes has arrived (mbarrier with a
// transaction count). PTX ISA, "mbarrier"; compute capability 9.0.
#pragma once

__device__ inline unsigned shared_address(const void* pointer) {
  return static_cast<unsigned>(__cvta_generic_to_shared(pointer));
}

// Make the barriers that this thread has initialised visible to all blocks of the cluster.
__device__ inline void fence_mbarrier_init() {
  asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
}

struct Mbarrier {
  unsigned long long barrier;

  // One thread must call this before any thread waits, and then fence_mbarrier_init().
  __device__ void init() {
    asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" ::"r"(shared_address(&barrier)));
  }

  // One thread calls this; the barrier opens when so many bytes have arrived.
  __device__ void expect_tx(unsigned bytes) {
    asm volatile(
        "mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(shared_address(&barrier)),
        "r"(bytes)
        : "memory");
  }

  // Every thread that reads the bytes must call this. Only the barrier's first phase is used.
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
