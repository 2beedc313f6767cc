// Two products in a row, (A B) C, the first rounded to f16 between them: a linear layer factored through a rank R
// that is small against N, K and M (Denton et al. 2014, arXiv 1404.0736, section 3).
#include <nautilus/spec.h>
using namespace nautilus::spec;

NAUTILUS_KERNEL(matmul_chain) {
  Size N = typical(256), K = typical(256), R = typical(64), M = typical(256);
  Input A(f16, {N, K}), B(f16, {K, R}), C(f16, {R, M});
  Output Y(f16, {N, M});
  Index i(N), k(K), r(R), m(M);

  Tensor T(f16);
  T(i, r) = sum(k, A(i, k) * B(k, r));
  Y(i, m) = sum(r, T(i, r) * C(r, m));
}
