// Matrix product, operands in f16, accumulated in f32.
#include <nautilus/spec.h>
using namespace nautilus::spec;

NAUTILUS_KERNEL(matmul) {
  Size N = typical(256), M = typical(256), K = typical(256);
  Input A(f16, {N, K}), B(f16, {K, M});
  Output C(f16, {N, M});
  Index i(N), j(M), k(K);

  C(i, j) = sum(k, A(i, k) * B(k, j));
}
