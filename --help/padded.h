// padded for sm_80: row-major tensors on the device, aligned to 16 bytes.
//   X: f16[N, 50] input
//   G: i32[1] input
//   W: f32[4, 50] input
//   Y: f16[N, 50] output
//   S: f32[N] output
#pragma once

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

// The cubin that launches take their kernels from; once, before the first launch. Its bytes are copied.
int padded_load(const void* cubin, size_t bytes);
// Launches on a stream (CUstream, cudaStream_t) of the current context. 0, or not 0 where nothing was
// launched: then padded_error() says why.
int padded_launch(const void* X, const void* G, const void* W, void* Y, void* S, int64_t N, void* stream);
const char* padded_error(void);

#ifdef __cplusplus
}
#endif
