// A batch of independent matrix products, operands in f16, accumulated in f32 (cuBLAS calls it strided batched).
#include <nautilus/spec.h>
using namespace nautilus::spec;

NAUTILUS_KERNEL(matmul_batched) {
  Size B = typical(4), N = typical(128), M = typical(128), K = typical(128);
  Input X(f16, {B, N, K}), W(f16, {B, K, M});
  Output Y(f16, {B, N, M});
  Index b(B), i(N), j(M), k(K);

  Y(b, i, j) = sum(k, X(b, i, k) * W(b, k, j));
}
