// Prefix-LM attention: every position sees the first A ones, and the rest is causal. Du et al., GLM, 2022
// (arXiv 2103.10360); the mask is (j < A) | (j <= i).
#include <nautilus/spec.h>
using namespace nautilus::spec;

NAUTILUS_KERNEL(attention_prefix_lm) {
  Size B = typical(1), H = typical(4), N = typical(256), A = typical(64), D = multiple_of(16).typical(64);
  Input Q(f16, {B, H, N, D}), K(f16, {B, H, N, D}), V(f16, {B, H, N, D});
  Output O(f16, {B, H, N, D});
  Index b(B), h(H), i(N), j(N), d(D), e(D);

  Tensor S(f32), P(f32);
  S(b, h, i, j) = sum(d, Q(b, h, i, d) * K(b, h, j, d)) / sqrt(D);
  P(b, h, i, j) = softmax(j, where(j < A || j <= i), S(b, h, i, j));
  O(b, h, i, e) = sum(j, P(b, h, i, j) * V(b, h, j, e));
}
