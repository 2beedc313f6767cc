// types for sm_80: row-major tensors on the device, aligned to 16 bytes.
//   X: f32[N, 64] input
//   H: f16[N, 64] input
//   I: i8[N, 64] input
//   T_f16: f16[N, 64] output
//   T_bf16: bf16[N, 64] output
//   T_e4m3: e4m3[N, 64] output
//   T_e5m2: e5m2[N, 64] output
//   T_i8: i8[N, 64] output
//   T_i32: i32[N, 64] output
//   T_f64: f64[N, 64] output
//   T_bool: bool[N, 64] output
//   Back: f32[N, 64] output
//   Whole: i32[N, 64] output
//   Pick: f16[N, 64] output
//   Exp: f64[N, 64] output
#pragma once

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

// The cubin that launches take their kernels from; once, before the first launch. Its bytes are copied.
int types_load(const void* cubin, size_t bytes);
// Launches on a stream (CUstream, cudaStream_t) of the current context. 0, or not 0 where nothing was
// launched: then types_error() says why.
int types_launch(const void* X, const void* H, const void* I, void* T_f16, void* T_bf16, void* T_e4m3, void* T_e5m2, void* T_i8, void* T_i32, void* T_f64, void* T_bool, void* Back, void* Whole, void* Pick, void* Exp, int64_t N, void* stream);
const char* types_error(void);

#ifdef __cplusplus
}
#endif
