// Causal attention with linear biases: each head adds slope * (j - i) to its scores. Press et al., ALiBi, 2022
// (arXiv 2108.12409), section 3; MPT-7B uses it.
#include <nautilus/spec.h>
using namespace nautilus::spec;

NAUTILUS_KERNEL(attention_alibi) {
  Size B = typical(1), H = typical(4), N = typical(256), M = typical(256), D = multiple_of(16).typical(64);
  Input Q(f16, {B, H, N, D}), K(f16, {B, H, M, D}), V(f16, {B, H, M, D});
  Input slope(f32, {H});
  Output O(f16, {B, H, N, D});
  Index b(B), h(H), i(N), j(M), d(D), e(D);

  Tensor S(f32), P(f32);
  S(b, h, i, j) = sum(d, Q(b, h, i, d) * K(b, h, j, d)) / sqrt(D) + slope(h) * f32(j - i - M + N);
  P(b, h, i, j) = softmax(j, where(j <= i + M - N), S(b, h, i, j));
  O(b, h, i, e) = sum(j, P(b, h, i, j) * V(b, h, j, e));
}
