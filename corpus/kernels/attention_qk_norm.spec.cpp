// Attention whose queries and keys are normalized over the head before their product, each with its own gain, so
// that scores stay bounded. Henry et al., QKNorm, 2020 (arXiv 2010.04245); with RMS normalization as in Stable
// Diffusion 3 (Esser et al. 2024, arXiv 2403.03206, section 5.3.2: heads of 64), epsilon 1e-6.
#include <nautilus/spec.h>
using namespace nautilus::spec;

NAUTILUS_KERNEL(attention_qk_norm) {
  Size B = typical(1), H = typical(4), N = typical(256), M = typical(256), D = multiple_of(16).typical(64);
  Input Q(f16, {B, H, N, D}), K(f16, {B, H, M, D}), V(f16, {B, H, M, D});
  Input Wq(f16, {D}), Wk(f16, {D});
  Output O(f16, {B, H, N, D});
  Index b(B), h(H), i(N), j(M), c(D), d(D), e(D);

  Tensor Qn(f16), Kn(f16), S(f32), P(f32);
  Qn(b, h, i, d) = Q(b, h, i, d) * rsqrt(mean(c, Q(b, h, i, c) * Q(b, h, i, c)) + 1e-6) * Wq(d);
  Kn(b, h, j, d) = K(b, h, j, d) * rsqrt(mean(c, K(b, h, j, c) * K(b, h, j, c)) + 1e-6) * Wk(d);
  S(b, h, i, j) = sum(d, Qn(b, h, i, d) * Kn(b, h, j, d)) / sqrt(D);
  P(b, h, i, j) = softmax(j, S(b, h, i, j));
  O(b, h, i, e) = sum(j, P(b, h, i, j) * V(b, h, j, e));
}
