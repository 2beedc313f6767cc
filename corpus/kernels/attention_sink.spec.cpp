// Causal attention with a sink: each head has one more score, learned, that takes its share of the softmax and
// carries no value. Xiao et al., StreamingLLM, 2023 (arXiv 2309.17453), section 3.3; gpt-oss (OpenAI 2025, arXiv
// 2508.10925, section 2.3) uses it, with heads of 64. The sink's share is relative to the largest score of the keys;
// a row without any key is 0.
#include <nautilus/spec.h>
using namespace nautilus::spec;

NAUTILUS_KERNEL(attention_sink) {
  Size B = typical(1), H = typical(4), N = typical(256), M = typical(256), D = multiple_of(16).typical(64);
  Input Q(f16, {B, H, N, D}), K(f16, {B, H, M, D}), V(f16, {B, H, M, D});
  Input sink(f32, {H});
  Output O(f16, {B, H, N, D});
  Index b(B), h(H), i(N), j(M), d(D), e(D);

  Tensor S(f32), P(f32), top(f32);
  S(b, h, i, j) = where(j <= i + M - N, sum(d, Q(b, h, i, d) * K(b, h, j, d)) / sqrt(D));
  top(b, h, i) = max(j, S(b, h, i, j));
  P(b, h, i, j) = exp(S(b, h, i, j) - top(b, h, i));
  O(b, h, i, e) = sum(j, P(b, h, i, j) * V(b, h, j, e)) / (sum(j, P(b, h, i, j)) + exp(sink(h) - top(b, h, i)));
}
