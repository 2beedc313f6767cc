// The other kernels of the corpus, as formulas.
#include "tests/compiler/corpus_formulas.h"

namespace nautilus::corpus {
namespace {

Vec in_f16(Vec x) {
  for (double& v : x) v = round_to_type(v, Type::F16);
  return x;
}

Vec sum_of(const Vec& a, const Vec& b, double scale = 1) {
  Vec out;
  for (size_t k = 0; k < a.size(); ++k) out.push_back(a[k] + scale * b[k]);
  return out;
}

// x + z, and its rows normalized: one of the two outputs.
Case residual(bool normalized) {
  return Case{"rmsnorm_residual",
              "rmsnorm_residual",
              {{"N", 3}, {"D", 7}},
              normalized ? "Y" : "R",
              kF16,
              [normalized](const Buffers& in) {
                Buffers r = in;
                r["X"] = in_f16(sum_of(in.at("X"), in.at("Z")));
                if (!normalized) return r["X"];
                return by_element(3, 7, [](const Buffers& in, const Vec& x, size_t j) {
                  return x[j] / std::sqrt(mean_square(x) + 1e-5) * in.at("W")[j];
                })(r);
              }};
}

}  // namespace

std::vector<Case> other_cases() {
  const double r2 = std::sqrt(2.0);
  return {
      Case{"softmax",
           "softmax",
           {{"N", 3}, {"M", 7}},
           "Y",
           kF32,
           by_element(3, 7,
                      [](const Buffers&, const Vec& x, size_t j) {
                        return std::exp(x[j] - log_sum_exp(x));
                      })},
      Case{"logsumexp", "logsumexp", {{"N", 3}, {"M", 7}}, "Y", kF32, by_row(3, 7, log_sum_exp)},
      Case{"variance", "variance", {{"N", 3}, {"M", 7}}, "Y", kF32, by_row(3, 7, variance)},
      Case{"rmsnorm",
           "rmsnorm",
           {{"N", 3}, {"D", 7}},
           "Y",
           kF16,
           by_element(3, 7,
                      [](const Buffers& in, const Vec& x, size_t j) {
                        return x[j] / std::sqrt(mean_square(x) + 1e-5) * in.at("W")[j];
                      })},
      Case{"layernorm",
           "layernorm",
           {{"N", 3}, {"D", 7}},
           "Y",
           kF16,
           by_element(3, 7,
                      [](const Buffers& in, const Vec& x, size_t j) {
                        return (x[j] - mean(x)) / std::sqrt(variance(x) + 1e-6) * in.at("W")[j] +
                               in.at("C")[j];
                      })},
      Case{"matmul",
           "matmul",
           {{"N", 3}, {"M", 5}, {"K", 7}},
           "C",
           kF16,
           [](const Buffers& in) { return product(in.at("A"), in.at("B"), 3, 7, 5); }},
      Case{"matmul_epilogue",
           "matmul_bias_gelu",
           {{"N", 3}, {"M", 5}, {"K", 7}},
           "C",
           kF16,
           [=](const Buffers& in) {
             Vec c = product(in.at("A"), in.at("B"), 3, 7, 5);
             for (size_t k = 0; k < c.size(); ++k) {
               const double x = c[k] + in.at("bias")[k % 5];
               c[k] = 0.5 * x * (1 + std::erf(x / r2));
             }
             return c;
           }},
      Case{"matmul_epilogue",
           "matmul_bias_relu",
           {{"N", 3}, {"M", 5}, {"K", 7}},
           "C",
           kF16,
           [](const Buffers& in) {
             Vec c = product(in.at("A"), in.at("B"), 3, 7, 5);
             for (size_t k = 0; k < c.size(); ++k)
               c[k] = std::max(0.0, c[k] + in.at("bias")[k % 5]);
             return c;
           }},
      Case{"matmul_epilogue",
           "matmul_bias",
           {{"N", 3}, {"M", 5}, {"K", 7}},
           "C",
           kF16,
           [](const Buffers& in) {
             Vec c = product(in.at("A"), in.at("B"), 3, 7, 5);
             for (size_t k = 0; k < c.size(); ++k) c[k] += in.at("bias")[k % 5];
             return c;
           }},
      Case{"cross_entropy",
           "cross_entropy",
           {{"N", 3}, {"C", 7}},
           "Y",
           kF32,
           [](const Buffers& in) {
             Vec out = by_row(3, 7, log_sum_exp)(in);
             for (size_t i = 0; i < 3; ++i)
               out[i] -= in.at("X")[i * 7 + static_cast<size_t>(in.at("label")[i])];
             return out;
           }},
      Case{"rmsnorm_matmul",
           "rmsnorm_matmul",
           {{"N", 3}, {"D", 7}, {"M", 5}},
           "Y",
           kF16,
           [](const Buffers& in) {
             const Vec x = by_element(3, 7, [](const Buffers& in, const Vec& x, size_t j) {
               return x[j] / std::sqrt(mean_square(x) + 1e-5) * in.at("W")[j];
             })(in);
             return product(x, in.at("A"), 3, 7, 5);
           }},
      Case{"gated_mlp",
           "gated_mlp",
           {{"N", 3}, {"D", 5}, {"F", 7}},
           "Y",
           4e-3,
           [](const Buffers& in) {
             Vec z = product(in.at("X"), in.at("Wg"), 3, 5, 7);
             const Vec up = product(in.at("X"), in.at("Wu"), 3, 5, 7);
             for (size_t k = 0; k < z.size(); ++k) z[k] = z[k] / (1 + std::exp(-z[k])) * up[k];
             return product(z, in.at("Wd"), 3, 7, 5);
           }},
      Case{"rope",
           "rope",
           {{"B", 1}, {"H", 2}, {"N", 3}, {"D2", 4}},
           "Y",
           kF16,
           [](const Buffers& in) {
             Vec out(in.at("X").size());
             for (size_t k = 0; k < out.size(); k += 2) {
               const size_t pair = k / 2 % 4, i = k / 8 % 3;
               const double c = in.at("cosine")[i * 4 + pair], s = in.at("sine")[i * 4 + pair],
                            x = in.at("X")[k], y = in.at("X")[k + 1];
               out[k] = x * c - y * s;
               out[k + 1] = x * s + y * c;
             }
             return out;
           }},
      Case{"conv2d",
           "conv2d",
           {{"B", 1}, {"R", 2}, {"S", 3}, {"C", 2}, {"F", 3}, {"P", 4}, {"Q", 5}},
           "Y",
           kF16,
           [](const Buffers& in) {
             Vec out;
             for (int64_t p = 0; p < 4; ++p)
               for (int64_t q = 0; q < 5; ++q)
                 for (int64_t f = 0; f < 3; ++f) {
                   double sum = 0;
                   for (int64_t r = 0; r < 2; ++r)
                     for (int64_t s = 0; s < 3; ++s)
                       for (int64_t c = 0; c < 2; ++c)
                         sum += at(in.at("X"), {1, 6, 8, 2}, {0, p + r, q + s, c}) *
                                at(in.at("W"), {2, 3, 2, 3}, {r, s, c, f});
                   out.push_back(sum);
                 }
             return out;
           }},
      residual(false),
      residual(true),
      Case{"matmul_chain",
           "matmul_chain",
           {{"N", 3}, {"K", 5}, {"R", 2}, {"M", 7}},
           "Y",
           kF16,
           [](const Buffers& in) {
             return product(in_f16(product(in.at("A"), in.at("B"), 3, 5, 2)), in.at("C"), 3, 2, 7);
           }},
      Case{"matmul_batched",
           "matmul_batched",
           {{"B", 2}, {"N", 3}, {"M", 5}, {"K", 7}},
           "Y",
           kF16,
           [](const Buffers& in) {
             Vec out;
             for (const int64_t b : {0, 1}) {
               const Vec &x = in.at("X"), &w = in.at("W");
               const Vec y = product(Vec(x.begin() + b * 21, x.begin() + b * 21 + 21),
                                     Vec(w.begin() + b * 35, w.begin() + b * 35 + 35), 3, 7, 5);
               out.insert(out.end(), y.begin(), y.end());
             }
             return out;
           }},
      Case{"lora",
           "lora",
           {{"N", 3}, {"K", 5}, {"M", 7}, {"R", 2}},
           "Y",
           kF16,
           [](const Buffers& in) {
             const Vec low =
                 product(in_f16(product(in.at("X"), in.at("A"), 3, 5, 2)), in.at("B"), 3, 2, 7);
             return sum_of(product(in.at("X"), in.at("W"), 3, 5, 7), low, in.at("scale")[0]);
           }},
  };
}

}  // namespace nautilus::corpus
