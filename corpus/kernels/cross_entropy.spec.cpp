// Cross-entropy of each row of logits against an integer label: logsumexp(x) - x[label] (Goodfellow et al., Deep
// Learning, 2016, section 6.2.2.3). The label gathers.
#include <nautilus/spec.h>
using namespace nautilus::spec;

NAUTILUS_KERNEL(cross_entropy) {
  Size N = typical(256), C = typical(2048);
  Input X(f32, {N, C}), label(i32, {N});
  Output Y(f32, {N});
  Index i(N), c(C);

  Y(i) = logsumexp(c, X(i, c)) - X(i, label(i));
}
