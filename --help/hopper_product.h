// hopper_product for sm_90a: row-major tensors on the device, aligned to 16 bytes.
//   A: f16[M, 8*K8] input
//   B: f16[8*N8, 8*K8] input
//   C: f16[M, 8*N8] output
#pragma once

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

// The cubin that launches take their kernels from; once, before the first launch. Its bytes are copied.
int hopper_product_load(const void* cubin, size_t bytes);
// Launches on a stream (CUstream, cudaStream_t) of the current context. 0, or not 0 where nothing was
// launched: then hopper_product_error() says why.
int hopper_product_launch(const void* A, const void* B, void* C, int64_t M, int64_t N8, int64_t K8, void* stream);
const char* hopper_product_error(void);

#ifdef __cplusplus
}
#endif
