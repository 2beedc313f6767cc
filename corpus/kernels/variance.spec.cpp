// Variance of each row, two-pass by definition: the mean of (x - mean)^2.
#include <nautilus/spec.h>
using namespace nautilus::spec;

NAUTILUS_KERNEL(variance) {
  Size N = typical(512), M = typical(1024);
  Input X(f32, {N, M});
  Output Y(f32, {N});
  Index i(N), j(M);

  Y(i) = variance(j, X(i, j));
}
