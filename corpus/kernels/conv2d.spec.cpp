// Two-dimensional convolution without padding (cross-correlation, as in deep learning: Goodfellow et al. 2016,
// eq. 9.6), channels last.
#include <nautilus/spec.h>
using namespace nautilus::spec;

NAUTILUS_KERNEL(conv2d) {
  Size B = typical(1), R = typical(3), S = typical(3), C = typical(16), F = typical(16);
  Size P = typical(32), Q = typical(32);
  Input X(f16, {B, P + R, Q + S, C}), W(f16, {R, S, C, F});
  Output Y(f16, {B, P, Q, F});
  Index b(B), p(P), q(Q), r(R), s(S), c(C), f(F);

  Y(b, p, q, f) = sum({r, s, c}, X(b, p + r, q + s, c) * W(r, s, c, f));
}
