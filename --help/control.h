// control for sm_80: row-major tensors on the device, aligned to 16 bytes.
//   X: f32[N, 64] input
//   P: i32[N] input
//   Y: f32[N, 64] output
//   Z: f32[N] output
//   U: f32[N, 32] output
//   Count: i32[1] output
//   Last: f32[64] output
#pragma once

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

// The cubin that launches take their kernels from; once, before the first launch. Its bytes are copied.
int control_load(const void* cubin, size_t bytes);
// Launches on a stream (CUstream, cudaStream_t) of the current context. 0, or not 0 where nothing was
// launched: then control_error() says why.
int control_launch(const void* X, const void* P, void* Y, void* Z, void* U, void* Count, void* Last, int64_t N, void* stream);
const char* control_error(void);

#ifdef __cplusplus
}
#endif
