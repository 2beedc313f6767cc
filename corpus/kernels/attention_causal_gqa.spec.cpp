// Causal grouped-query attention: G query heads share one key/value head. Ainslie et al., GQA, 2023
// (arXiv 2305.13245); Qwen 2, Qwen 3 and GLM-4 use it.
#include <nautilus/spec.h>
using namespace nautilus::spec;

NAUTILUS_KERNEL(attention_causal_gqa) {
  Size B = typical(1), Hk = typical(2), G = typical(4), N = typical(1024), M = typical(1024);
  Size D = multiple_of(16).typical(128);
  Input Q(f16, {B, Hk, G, N, D}), K(f16, {B, Hk, M, D}), V(f16, {B, Hk, M, D});
  Output O(f16, {B, Hk, G, N, D});
  Index b(B), h(Hk), g(G), i(N), j(M), d(D), e(D);

  Tensor S(f32), P(f32);
  S(b, h, g, i, j) = sum(d, Q(b, h, g, i, d) * K(b, h, j, d)) / sqrt(D);
  P(b, h, g, i, j) = softmax(j, where(j <= i + M - N), S(b, h, g, i, j));
  O(b, h, g, i, e) = sum(j, P(b, h, g, i, j) * V(b, h, j, e));
}
