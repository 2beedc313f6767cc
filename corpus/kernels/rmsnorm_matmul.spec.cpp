// RMS normalization followed by a projection, as before attention and feed-forward in Llama 2: the two reductions
// over the model dimension can share one pass.
#include <nautilus/spec.h>
using namespace nautilus::spec;

NAUTILUS_KERNEL(rmsnorm_matmul) {
  Size N = typical(128), D = typical(256), M = typical(256);
  Input X(f16, {N, D}), W(f16, {D}), A(f16, {D, M});
  Output Y(f16, {N, M});
  Index i(N), d(D), k(D), m(M);

  Tensor r(f32);
  r(i) = rsqrt(mean(d, X(i, d) * X(i, d)) + 1e-5);
  Y(i, m) = sum(k, X(i, k) * r(i) * W(k) * A(k, m));
}
