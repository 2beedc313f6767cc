// gather_sums for sm_80: row-major tensors on the device, aligned to 16 bytes.
//   X: i32[R] input
//   E: f32[V, 64] input
//   W: f32[64] input
//   S: f32[64] output
//   T: f32[R] output
//   U: f32[R] output
#pragma once

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

// The cubin that launches take their kernels from; once, before the first launch. Its bytes are copied.
int gather_sums_load(const void* cubin, size_t bytes);
// Launches on a stream (CUstream, cudaStream_t) of the current context. 0, or not 0 where nothing was
// launched: then gather_sums_error() says why.
int gather_sums_launch(const void* X, const void* E, const void* W, void* S, void* T, void* U, int64_t R, int64_t V, void* stream);
const char* gather_sums_error(void);

#ifdef __cplusplus
}
#endif
