// Row-wise softmax, in its numerically safe form with the row maximum (Goodfellow et al., Deep Learning, 2016,
// section 4.1).
#include <nautilus/spec.h>
using namespace nautilus::spec;

NAUTILUS_KERNEL(softmax) {
  Size N = typical(512), M = typical(1024);
  Input X(f32, {N, M});
  Output Y(f32, {N, M});
  Index i(N), j(M);

  Y(i, j) = softmax(j, X(i, j));
}
