// Causal attention with heads of 192 for queries and keys (128 without, 64 with a position) and 128 for values:
// the prefill of multi-head latent attention. DeepSeek-V2, 2024 (arXiv 2405.04434), sections 2.1 and 3.1.2 (128 heads).
#include <nautilus/spec.h>
using namespace nautilus::spec;

NAUTILUS_KERNEL(attention_mla) {
  Size B = typical(1), H = typical(4), N = typical(256), M = typical(256);
  Size D = multiple_of(16).typical(192), E = multiple_of(16).typical(128);
  Input Q(f16, {B, H, N, D}), K(f16, {B, H, M, D}), V(f16, {B, H, M, E});
  Output O(f16, {B, H, N, E});
  Index b(B), h(H), i(N), j(M), d(D), e(E);

  Tensor S(f32), P(f32);
  S(b, h, i, j) = sum(d, Q(b, h, i, d) * K(b, h, j, d)) / sqrt(D);
  P(b, h, i, j) = softmax(j, where(j <= i + M - N), S(b, h, i, j));
  O(b, h, i, e) = sum(j, P(b, h, i, j) * V(b, h, j, e));
}
