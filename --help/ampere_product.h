// ampere_product for sm_80: row-major tensors on the device, aligned to 16 bytes.
//   A: f16[M, 8*K8] input
//   B: f16[N, 8*K8] input
//   C: f16[M, N] output
#pragma once

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

// The cubin that launches take their kernels from; once, before the first launch. Its bytes are copied.
int ampere_product_load(const void* cubin, size_t bytes);
// Launches on a stream (CUstream, cudaStream_t) of the current context. 0, or not 0 where nothing was
// launched: then ampere_product_error() says why.
int ampere_product_launch(const void* A, const void* B, void* C, int64_t M, int64_t N, int64_t K8, void* stream);
const char* ampere_product_error(void);

#ifdef __cplusplus
}
#endif
