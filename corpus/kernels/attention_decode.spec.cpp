// Decoding: one query a sequence against a long key/value cache, grouped heads. Little arithmetic per byte,
// so the keys must be split to fill a machine (Flash-Decoding, Dao et al. 2023).
#include <nautilus/spec.h>
using namespace nautilus::spec;

NAUTILUS_KERNEL(attention_decode) {
  Size B = typical(1), Hk = typical(2), G = typical(4), M = typical(2048), D = multiple_of(16).typical(64);
  Input Q(f16, {B, Hk, G, D}), K(f16, {B, Hk, M, D}), V(f16, {B, Hk, M, D});
  Output O(f16, {B, Hk, G, D});
  Index b(B), h(Hk), g(G), j(M), d(D), e(D);

  Tensor S(f32), P(f32);
  S(b, h, g, j) = sum(d, Q(b, h, g, d) * K(b, h, j, d)) / sqrt(D);
  P(b, h, g, j) = softmax(j, S(b, h, g, j));
  O(b, h, g, e) = sum(j, P(b, h, g, j) * V(b, h, j, e));
}
