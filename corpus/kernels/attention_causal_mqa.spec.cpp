// Causal multi-query attention: all query heads share one key/value head. Shazeer, Fast Transformer Decoding, 2019
// (arXiv 1911.02150), section 3; Gemma 2B (8 heads of 256) and Falcon 7B (71 heads of 64) use it.
#include <nautilus/spec.h>
using namespace nautilus::spec;

NAUTILUS_KERNEL(attention_causal_mqa) {
  Size B = typical(1), H = typical(8), N = typical(256), M = typical(256), D = multiple_of(16).typical(64);
  Input Q(f16, {B, H, N, D}), K(f16, {B, M, D}), V(f16, {B, M, D});
  Output O(f16, {B, H, N, D});
  Index b(B), h(H), i(N), j(M), d(D), e(D);

  Tensor S(f32), P(f32);
  S(b, h, i, j) = sum(d, Q(b, h, i, d) * K(b, j, d)) / sqrt(D);
  P(b, h, i, j) = softmax(j, where(j <= i + M - N), S(b, h, i, j));
  O(b, h, i, e) = sum(j, P(b, h, i, j) * V(b, j, e));
}
