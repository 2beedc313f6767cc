// The loop over grid blocks, provided by the host to compiled kernels.
#pragma once

namespace nautilus::cpu {

// Calls body(context, i, scratch) for every i in [0, n), in no order, on up to `threads` threads
// (0: all cores), blocks handed out one at a time. `scratch` is 64-byte aligned, at least
// scratch_bytes long, and private to the thread. If memory for it runs out nothing is called and
// take_parallel_error() is true.
using BlockBody = void (*)(void* context, long i, char* scratch);
extern "C" void parallel_for(long n, int threads, long scratch_bytes, BlockBody body,
                             void* context);

// Whether a parallel_for since the last call failed on this thread (kernels cannot throw).
bool take_parallel_error();
int hardware_threads();

}  // namespace nautilus::cpu
