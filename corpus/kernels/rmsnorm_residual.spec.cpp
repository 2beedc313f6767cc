// A block's result is added to the residual stream, and the sum normalized for the next block: RMS normalization
// (Zhang and Sennrich 2019, arXiv 1910.07467, eq. 4) before each block, as in Llama 2. Both are outputs.
#include <nautilus/spec.h>
using namespace nautilus::spec;

NAUTILUS_KERNEL(rmsnorm_residual) {
  Size N = typical(512), D = typical(1024);
  Input X(f16, {N, D}), Z(f16, {N, D}), W(f16, {D});
  Output R(f16, {N, D}), Y(f16, {N, D});
  Index i(N), d(D), k(D);

  R(i, k) = X(i, k) + Z(i, k);
  Y(i, k) = R(i, k) * rsqrt(mean(d, R(i, d) * R(i, d)) + 1e-5) * W(k);
}
