// Layer normalization: Ba et al., 2016 (arXiv 1607.06450), eq. 4 with gain and bias; epsilon as in ViT (1e-6).
#include <nautilus/spec.h>
using namespace nautilus::spec;

NAUTILUS_KERNEL(layernorm) {
  Size N = typical(512), D = typical(1024);
  Input X(f16, {N, D}), W(f16, {D}), C(f16, {D});
  Output Y(f16, {N, D});
  Index i(N), d(D), k(D);

  Tensor mu(f32), var(f32);
  mu(i) = mean(d, X(i, d));
  var(i) = mean(d, (X(i, d) - mu(i)) * (X(i, d) - mu(i)));
  Y(i, k) = (X(i, k) - mu(i)) * rsqrt(var(i) + 1e-6) * W(k) + C(k);
}
