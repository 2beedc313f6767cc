// Scaled dot-product attention without a mask (multi-head): Vaswani et al., Attention Is All You Need,
// 2017, eq. 1. Vision transformers use it so; the sequence lengths there (197, 257, 577) are no multiples of a tile.
#include <nautilus/spec.h>
using namespace nautilus::spec;

NAUTILUS_KERNEL(attention_global) {
  Size B = typical(1), H = typical(4), N = typical(256), M = typical(256), D = multiple_of(16).typical(64);
  Input Q(f16, {B, H, N, D}), K(f16, {B, H, M, D}), V(f16, {B, H, M, D});
  Output O(f16, {B, H, N, D});
  Index b(B), h(H), i(N), j(M), d(D), e(D);

  Tensor S(f32), P(f32);
  S(b, h, i, j) = sum(d, Q(b, h, i, d) * K(b, h, j, d)) / sqrt(D);
  P(b, h, i, j) = softmax(j, S(b, h, i, j));
  O(b, h, i, e) = sum(j, P(b, h, i, j) * V(b, h, j, e));
}
