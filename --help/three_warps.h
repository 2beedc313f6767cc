// three_warps for sm_80: row-major tensors on the device, aligned to 16 bytes.
//   A: bf16[N, 16] input
//   B: bf16[96, 16] input
//   C: f32[N, 96] output
#pragma once

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

// The cubin that launches take their kernels from; once, before the first launch. Its bytes are copied.
int three_warps_load(const void* cubin, size_t bytes);
// Launches on a stream (CUstream, cudaStream_t) of the current context. 0, or not 0 where nothing was
// launched: then three_warps_error() says why.
int three_warps_launch(const void* A, const void* B, void* C, int64_t N, void* stream);
const char* three_warps_error(void);

#ifdef __cplusplus
}
#endif
