// Copies from global to shared memory that pass through no register. PTX ISA, "cp.async"; .ca goes
// through L1. For the vectors of frontier_staged it is faster than .cg; a word has only .ca.
#pragma once
#include "mbarrier.cuh"
#include "vec.cuh"

// Copy the vector VECS after both pointers.
template <int VECS>
__device__ inline void cp_async_vec(uint4* to, const void* from) {
  asm volatile("cp.async.ca.shared.global [%0+%2], [%1+%2], 16;" ::"r"(shared_address(to)),
               "l"(from), "n"(VECS * kVecBytes)
               : "memory");
}
__device__ inline void cp_async_word(unsigned* to, const unsigned* from) {
  asm volatile("cp.async.ca.shared.global [%0], [%1], 4;" ::"r"(shared_address(to)), "l"(from)
               : "memory");
}
// Wait for all copies of this thread.
__device__ inline void cp_async_wait() { asm volatile("cp.async.wait_all;" ::: "memory"); }
