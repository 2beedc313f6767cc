// log(sum(exp(x))) of each row, shifted by the row maximum so that it cannot overflow.
#include <nautilus/spec.h>
using namespace nautilus::spec;

NAUTILUS_KERNEL(logsumexp) {
  Size N = typical(512), M = typical(1024);
  Input X(f32, {N, M});
  Output Y(f32, {N});
  Index i(N), j(M);

  Y(i) = logsumexp(j, X(i, j));
}
