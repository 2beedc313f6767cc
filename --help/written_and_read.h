// written_and_read for sm_80: row-major tensors on the device, aligned to 16 bytes.
//   X: f32[N, 64] input
//   Y: f32[N, 64] output
//   T: f32[N, 64] scratch
#pragma once

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

// The cubin that launches take their kernels from; once, before the first launch. Its bytes are copied.
int written_and_read_load(const void* cubin, size_t bytes);
// Launches on a stream (CUstream, cudaStream_t) of the current context. 0, or not 0 where nothing was
// launched: then written_and_read_error() says why.
int written_and_read_launch(const void* X, void* Y, void* T, int64_t N, void* stream);
const char* written_and_read_error(void);

#ifdef __cplusplus
}
#endif
