// Rotary position embedding in its interleaved form: Su et al., RoFormer, 2021 (arXiv 2104.09864), eq. 34. The
// angles' cosines and sines are inputs.
#include <nautilus/spec.h>
using namespace nautilus::spec;

NAUTILUS_KERNEL(rope) {
  Size B = typical(1), H = typical(4), N = typical(256), D2 = typical(32);
  Input X(f16, {B, H, N, 2 * D2}), cosine(f32, {N, D2}), sine(f32, {N, D2});
  Output Y(f16, {B, H, N, 2 * D2});
  Index b(B), h(H), i(N), d(D2);

  Y(b, h, i, 2 * d) = X(b, h, i, 2 * d) * cosine(i, d) - X(b, h, i, 2 * d + 1) * sine(i, d);
  Y(b, h, i, 2 * d + 1) = X(b, h, i, 2 * d) * sine(i, d) + X(b, h, i, 2 * d + 1) * cosine(i, d);
}
