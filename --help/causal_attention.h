// causal_attention for sm_80: row-major tensors on the device, aligned to 16 bytes.
//   Q: f16[H, N, 64] input
//   K: f16[H, N, 64] input
//   V: f16[H, N, 64] input
//   O: f16[H, N, 64] output
#pragma once

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

// The cubin that launches take their kernels from; once, before the first launch. Its bytes are copied.
int causal_attention_load(const void* cubin, size_t bytes);
// Launches on a stream (CUstream, cudaStream_t) of the current context. 0, or not 0 where nothing was
// launched: then causal_attention_error() says why.
int causal_attention_launch(const void* Q, const void* K, const void* V, void* O, int64_t H, int64_t N, void* stream);
const char* causal_attention_error(void);

#ifdef __cplusplus
}
#endif
