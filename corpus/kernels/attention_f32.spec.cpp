// Attention in f32 throughout, 8 heads of 64: the kernel of the CPU performance target (there at a length of
// 2048). Vaswani et al. 2017, eq. 1.
#include <nautilus/spec.h>
using namespace nautilus::spec;

NAUTILUS_KERNEL(attention_f32) {
  Size B = typical(1), H = typical(8), N = typical(256), M = typical(256), D = typical(64);
  Input Q(f32, {B, H, N, D}), K(f32, {B, H, M, D}), V(f32, {B, H, M, D});
  Output O(f32, {B, H, N, D});
  Index b(B), h(H), i(N), j(M), d(D), e(D);

  Tensor S(f32), P(f32);
  S(b, h, i, j) = sum(d, Q(b, h, i, d) * K(b, h, j, d)) / sqrt(D);
  P(b, h, i, j) = softmax(j, S(b, h, i, j));
  O(b, h, i, e) = sum(j, P(b, h, i, j) * V(b, h, j, e));
}
