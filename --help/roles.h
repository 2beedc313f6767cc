// roles for sm_80: row-major tensors on the device, aligned to 16 bytes.
//   X: f16[N, 64] input
//   Y: f16[64, N] output
#pragma once

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

// The cubin that launches take their kernels from; once, before the first launch. Its bytes are copied.
int roles_load(const void* cubin, size_t bytes);
// Launches on a stream (CUstream, cudaStream_t) of the current context. 0, or not 0 where nothing was
// launched: then roles_error() says why.
int roles_launch(const void* X, void* Y, int64_t N, void* stream);
const char* roles_error(void);

#ifdef __cplusplus
}
#endif
