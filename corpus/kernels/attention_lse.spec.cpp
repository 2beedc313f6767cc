// Causal attention that also gives the logarithm of each row's sum, log(sum_j exp(S_ij)): what the backward pass
// reads (Dao, FlashAttention-2, 2023, arXiv 2307.08691, algorithm 1) and what merges the parts of a split sequence
// (Liu et al., Ring Attention, 2023, arXiv 2310.01889). It is -infinity in a row without any key.
#include <nautilus/spec.h>
using namespace nautilus::spec;

NAUTILUS_KERNEL(attention_lse) {
  Size B = typical(1), H = typical(4), N = typical(256), M = typical(256), D = multiple_of(16).typical(64);
  Input Q(f16, {B, H, N, D}), K(f16, {B, H, M, D}), V(f16, {B, H, M, D});
  Output O(f16, {B, H, N, D}), L(f32, {B, H, N});
  Index b(B), h(H), i(N), j(M), d(D), e(D);

  Tensor S(f32), P(f32);
  S(b, h, i, j) = sum(d, Q(b, h, i, d) * K(b, h, j, d)) / sqrt(D);
  P(b, h, i, j) = softmax(j, where(j <= i + M - N), S(b, h, i, j));
  O(b, h, i, e) = sum(j, P(b, h, i, j) * V(b, h, j, e));
  L(b, h, i) = logsumexp(j, where(j <= i + M - N), S(b, h, i, j));
}
