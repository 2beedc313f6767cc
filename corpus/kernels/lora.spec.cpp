// A projection with a low-rank update, x W + scale (x A) B, where scale is alpha / R and x A is kept in f16. Hu et
// al., LoRA, 2021 (arXiv 2106.09685), eq. 3; ranks are 4 to 64.
#include <nautilus/spec.h>
using namespace nautilus::spec;

NAUTILUS_KERNEL(lora) {
  Size N = typical(256), K = typical(256), M = typical(256), R = typical(16);
  Input X(f16, {N, K}), W(f16, {K, M}), A(f16, {K, R}), B(f16, {R, M});
  Input scale(f32);
  Output Y(f16, {N, M});
  Index i(N), k(K), m(M), r(R);

  Tensor T(f16);
  T(i, r) = sum(k, X(i, k) * A(k, r));
  Y(i, m) = sum(k, X(i, k) * W(k, m)) + scale * sum(r, T(i, r) * B(r, m));
}
