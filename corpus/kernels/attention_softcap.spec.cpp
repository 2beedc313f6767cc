// Causal attention with capped scores, cap * tanh(s / cap), cap = 50: Gemma 2 (Gemma Team 2024, arXiv 2408.00118,
// section 2).
#include <nautilus/spec.h>
using namespace nautilus::spec;

NAUTILUS_KERNEL(attention_softcap) {
  Size B = typical(1), H = typical(4), N = typical(256), M = typical(256), D = multiple_of(16).typical(64);
  Input Q(f16, {B, H, N, D}), K(f16, {B, H, M, D}), V(f16, {B, H, M, D});
  Output O(f16, {B, H, N, D});
  Index b(B), h(H), i(N), j(M), d(D), e(D);

  Tensor S(f32), P(f32);
  S(b, h, i, j) = 50.0 * tanh(sum(d, Q(b, h, i, d) * K(b, h, j, d)) / sqrt(D) / 50.0);
  P(b, h, i, j) = softmax(j, where(j <= i + M - N), S(b, h, i, j));
  O(b, h, i, e) = sum(j, P(b, h, i, j) * V(b, h, j, e));
}
