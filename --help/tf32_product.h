// tf32_product for sm_80: row-major tensors on the device, aligned to 16 bytes.
//   A: f32[N, 32] input
//   B: f32[64, 32] input
//   C: f32[N, 64] output
#pragma once

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

// The cubin that launches take their kernels from; once, before the first launch. Its bytes are copied.
int tf32_product_load(const void* cubin, size_t bytes);
// Launches on a stream (CUstream, cudaStream_t) of the current context. 0, or not 0 where nothing was
// launched: then tf32_product_error() says why.
int tf32_product_launch(const void* A, const void* B, void* C, int64_t N, void* stream);
const char* tf32_product_error(void);

#ifdef __cplusplus
}
#endif
