// Gated feed-forward block (SwiGLU): Shazeer, GLU Variants, 2020 (arXiv 2002.05202), eq. 6; Llama, Qwen and
// GLM-4 use it.
#include <nautilus/spec.h>
using namespace nautilus::spec;

NAUTILUS_KERNEL(gated_mlp) {
  Size N = typical(64), D = typical(128), F = typical(256);
  Input X(f16, {N, D}), Wg(f16, {D, F}), Wu(f16, {D, F}), Wd(f16, {F, D});
  Output Y(f16, {N, D});
  Index i(N), d(D), f(F), e(D);

  Tensor gate(f32), up(f32), Z(f16);
  gate(i, f) = sum(d, X(i, d) * Wg(d, f));
  up(i, f) = sum(d, X(i, d) * Wu(d, f));
  Z(i, f) = gate(i, f) * sigmoid(gate(i, f)) * up(i, f);
  Y(i, e) = sum(f, Z(i, f) * Wd(f, e));
}
