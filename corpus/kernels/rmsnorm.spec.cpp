// Root-mean-square normalization: Zhang and Sennrich, RMSNorm, 2019 (arXiv 1910.07467), eq. 4; epsilon as in
// Llama 2 (1e-5).
#include <nautilus/spec.h>
using namespace nautilus::spec;

NAUTILUS_KERNEL(rmsnorm) {
  Size N = typical(512), D = typical(1024);
  Input X(f16, {N, D}), W(f16, {D});
  Output Y(f16, {N, D});
  Index i(N), d(D), k(D);

  Y(i, k) = X(i, k) * rsqrt(mean(d, X(i, d) * X(i, d)) + 1e-5) * W(k);
}
