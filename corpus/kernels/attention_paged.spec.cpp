// Decoding from a paged key/value cache: logical block j / 16 of sequence b lies in page table(b, j / 16).
// Kwon et al., PagedAttention, 2023 (arXiv 2309.06180), section 4.1.
#include <nautilus/spec.h>
using namespace nautilus::spec;

NAUTILUS_KERNEL(attention_paged) {
  Size B = typical(2), H = typical(2), L = typical(32), Pages = typical(64), D = multiple_of(16).typical(64);
  Input Q(f16, {B, H, D}), K(f16, {Pages, 16, H, D}), V(f16, {Pages, 16, H, D});
  Input table(i32, {B, L}), length(i32, {B});
  Output O(f16, {B, H, D});
  Index b(B), h(H), j(16 * L), d(D), e(D);

  Tensor S(f32), P(f32);
  S(b, h, j) = where(j < length(b), sum(d, Q(b, h, d) * K(table(b, j / 16), j % 16, h, d)) / sqrt(D));
  P(b, h, j) = softmax(j, S(b, h, j));
  O(b, h, e) = sum(j, P(b, h, j) * V(table(b, j / 16), j % 16, h, e));
}
