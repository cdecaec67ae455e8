// Asynchronous copies from global to shared memory that bypass the registers. PTX ISA, "cp.async".
// .ca caches in L1: for words it is the only form, for frontier_staged's vectors faster than .cg.
#pragma once
#include "mbarrier.cuh"
#include "vec.cuh"

// Copy the vector that lies VECS vectors after each pointer; the offset is part of the instruction.
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
// Wait for all copies that this thread has issued.
__device__ inline void cp_async_wait() { asm volatile("cp.async.wait_all;" ::: "memory"); }
