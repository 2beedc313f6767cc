// Matrix product with bias and activation: the first half of a transformer's feed-forward block. GELU: Hendrycks
// and Gimpel, 2016 (arXiv 1606.08415), exact with erf; ViT and BERT use it. ReLU: Vaswani et al. 2017, eq. 2.
#include <nautilus/spec.h>
using namespace nautilus::spec;

static Value gelu(Value x) { return 0.5 * x * (1.0 + erf(x / sqrt(2.0))); }
static Value relu(Value x) { return max(x, 0.0); }

NAUTILUS_KERNEL(matmul_bias_gelu) {
  Size N = typical(256), M = typical(256), K = typical(256);
  Input A(f16, {N, K}), B(f16, {K, M}), bias(f16, {M});
  Output C(f16, {N, M});
  Index i(N), j(M), k(K);

  C(i, j) = gelu(sum(k, A(i, k) * B(k, j)) + bias(j));
}

NAUTILUS_KERNEL(matmul_bias_relu) {
  Size N = typical(256), M = typical(256), K = typical(256);
  Input A(f16, {N, K}), B(f16, {K, M}), bias(f16, {M});
  Output C(f16, {N, M});
  Index i(N), j(M), k(K);

  C(i, j) = relu(sum(k, A(i, k) * B(k, j)) + bias(j));
}

NAUTILUS_KERNEL(matmul_bias) {
  Size N = typical(256), M = typical(256), K = typical(256);
  Input A(f16, {N, K}), B(f16, {K, M}), bias(f16, {M});
  Output C(f16, {N, M});
  Index i(N), j(M), k(K);

  C(i, j) = sum(k, A(i, k) * B(k, j)) + bias(j);
}
