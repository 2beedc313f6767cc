// Attention with T5's relative bias: the distance j - i falls into one of a few buckets (an integer tensor, one entry
// a distance from 1 - N to M - 1), and each head adds its learned bias of that bucket; scores are not scaled. Raffel
// et al., T5, 2020 (arXiv 1910.10683), section 2.1: 32 buckets, heads of 64.
#include <nautilus/spec.h>
using namespace nautilus::spec;

NAUTILUS_KERNEL(attention_t5) {
  Size B = typical(1), H = typical(4), N = typical(256), M = typical(256), D = multiple_of(16).typical(64);
  Size Buckets = typical(32);
  Input Q(f16, {B, H, N, D}), K(f16, {B, H, M, D}), V(f16, {B, H, M, D});
  Input bias(f32, {Buckets, H}), bucket(i32, {N + M});
  Output O(f16, {B, H, N, D});
  Index b(B), h(H), i(N), j(M), d(D), e(D);

  Tensor S(f32), P(f32);
  S(b, h, i, j) = sum(d, Q(b, h, i, d) * K(b, h, j, d)) + bias(bucket(j - i + N - 1), h);
  P(b, h, i, j) = softmax(j, S(b, h, i, j));
  O(b, h, i, e) = sum(j, P(b, h, i, j) * V(b, h, j, e));
}
