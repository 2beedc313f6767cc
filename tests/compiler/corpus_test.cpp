// Every corpus kernel against its formula, written out here in double precision, at tiny sizes.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <random>

#include "compiler/spec/reader.h"

namespace {

using namespace nautilus;
using poly::Buffers;
using poly::Sizes;
using Vec = std::vector<double>;

const std::string kDir = std::string(NAUTILUS_SOURCE_DIR) + "/corpus/kernels/";

// Row-major reading of a buffer: at(x, {n0, n1}, {i0, i1}).
double at(const Vec& x, const std::vector<int64_t>& shape, const std::vector<int64_t>& i) {
  int64_t o = 0;
  for (size_t k = 0; k < shape.size(); ++k) o = o * shape[k] + i[k];
  return x.at(static_cast<size_t>(o));
}

// Inputs exactly representable in f16, so that only the output's own rounding remains.
Buffers inputs_of(const poly::Program& p, const Sizes& sizes, uint64_t seed) {
  std::mt19937_64 rng(seed);
  std::normal_distribution<double> normal;
  Buffers out;
  for (const poly::Tensor& t : p.tensors) {
    if (t.kind != poly::TensorKind::Input) continue;
    int64_t n = 1;
    const isl::set box = poly::substitute_params(p.elements(t), sizes);
    for (size_t k = 0; k < t.rank(); ++k)
      n *= 1 + poly::dim_max(box, static_cast<unsigned>(k)).value();
    Vec x(static_cast<size_t>(n));
    for (double& v : x)
      v = is_float(t.type) ? round_to_type(normal(rng), Type::F16) : static_cast<double>(rng() % 4);
    out[t.name] = std::move(x);
  }
  return out;
}

struct Attention {
  int64_t B, H, G, N, M, D;  // query heads H * G
  std::function<bool(int64_t b, int64_t i, int64_t j)> mask = [](int64_t, int64_t, int64_t) {
    return true;
  };
  std::function<double(double s, int64_t h, int64_t i, int64_t j)> score =
      [](double s, int64_t, int64_t, int64_t) { return s; };
  std::function<double(int64_t b, int64_t h, int64_t j, int64_t d)> k{}, v{};
};
// O[b,h,g,i,:] = sum_j softmax_j(score(q.k / sqrt(D))) v_j over the j that the mask admits; 0 if
// there is none.
Vec attention(const Attention& a, const Vec& q) {
  Vec o;
  for (int64_t b = 0; b < a.B; ++b)
    for (int64_t h = 0; h < a.H; ++h)
      for (int64_t g = 0; g < a.G; ++g)
        for (int64_t i = 0; i < a.N; ++i) {
          Vec acc(static_cast<size_t>(a.D), 0.0);
          double total = 0;
          for (int64_t j = 0; j < a.M; ++j) {
            if (!a.mask(b, i, j)) continue;
            double s = 0;
            for (int64_t d = 0; d < a.D; ++d)
              s += at(q, {a.B, a.H, a.G, a.N, a.D}, {b, h, g, i, d}) * a.k(b, h, j, d);
            const double w = std::exp(a.score(s / std::sqrt(static_cast<double>(a.D)), h, i, j));
            total += w;
            for (int64_t d = 0; d < a.D; ++d) acc[static_cast<size_t>(d)] += w * a.v(b, h, j, d);
          }
          for (double x : acc) o.push_back(total == 0 ? 0 : x / total);
        }
  return o;
}

struct Case {
  const char* file;
  const char* kernel;
  Sizes sizes;
  const char* output;
  double tolerance;  // relative to the largest magnitude
  std::function<Vec(const Buffers&)> formula;
};
void PrintTo(const Case& c, std::ostream* os) { *os << c.kernel; }
constexpr double kF16 = 1e-3, kF32 = 1e-6;

// The plain attention kernels share sizes and inputs; G > 1 with grouped heads.
Case plain(const char* name, std::function<void(Attention&, const Buffers&)> change,
           bool grouped = false, bool wide = false, const Sizes& more = {}) {
  const int64_t B = 2, H = 2, G = grouped ? 3 : 1, N = 5, M = 7, D = wide ? 3 : 16;
  Sizes sizes{{"B", B}, {"N", N}, {"M", M}, {"D", D}};
  sizes.insert(more.begin(), more.end());
  sizes[grouped ? "Hk" : "H"] = H;
  if (grouped) sizes["G"] = G;
  return Case{name, name, sizes, "O", wide ? kF32 : kF16, [=](const Buffers& in) {
                Attention a{B, H, G, N, M, D};
                a.k = [&](int64_t b, int64_t h, int64_t j, int64_t d) {
                  return at(in.at("K"), {B, H, M, D}, {b, h, j, d});
                };
                a.v = [&](int64_t b, int64_t h, int64_t j, int64_t d) {
                  return at(in.at("V"), {B, H, M, D}, {b, h, j, d});
                };
                change(a, in);
                return attention(a, in.at("Q"));
              }};
}
auto causal(int64_t shift) {
  return [=](int64_t, int64_t i, int64_t j) { return j <= i + shift; };
}
// One value a row: f(row).
std::function<Vec(const Buffers&)> by_row(int64_t n, int64_t m,
                                          std::function<double(const Vec&)> f) {
  return [=](const Buffers& in) {
    Vec out;
    for (int64_t i = 0; i < n; ++i)
      out.push_back(f(Vec(in.at("X").begin() + i * m, in.at("X").begin() + (i + 1) * m)));
    return out;
  };
}
double log_sum_exp(const Vec& x) {
  double s = 0;
  for (double v : x) s += std::exp(v);
  return std::log(s);
}
double mean(const Vec& x) {
  double s = 0;
  for (double v : x) s += v;
  return s / static_cast<double>(x.size());
}
double variance(const Vec& x) {
  double s = 0;
  for (double v : x) s += (v - mean(x)) * (v - mean(x));
  return s / static_cast<double>(x.size());
}
double mean_square(const Vec& x) {
  double s = 0;
  for (double v : x) s += v * v;
  return s / static_cast<double>(x.size());
}
Vec product(const Vec& a, const Vec& b, int64_t n, int64_t k, int64_t m) {
  Vec c;
  for (int64_t i = 0; i < n; ++i)
    for (int64_t j = 0; j < m; ++j) {
      double s = 0;
      for (int64_t x = 0; x < k; ++x)
        s += a[static_cast<size_t>(i * k + x)] * b[static_cast<size_t>(x * m + j)];
      c.push_back(s);
    }
  return c;
}
// Rows of X mapped one to one: f(row, column).
std::function<Vec(const Buffers&)> by_element(
    int64_t n, int64_t m, std::function<double(const Buffers&, const Vec&, size_t)> f) {
  return [=](const Buffers& in) {
    Vec out;
    for (int64_t i = 0; i < n; ++i) {
      const Vec row(in.at("X").begin() + i * m, in.at("X").begin() + (i + 1) * m);
      for (size_t j = 0; j < row.size(); ++j) out.push_back(f(in, row, j));
    }
    return out;
  };
}

std::vector<Case> cases() {
  const double r2 = std::sqrt(2.0);
  std::vector<Case> all = {
      plain("attention_global", [](Attention&, const Buffers&) {}),
      plain(
          "attention_f32", [](Attention&, const Buffers&) {}, false, true),
      plain("attention_causal", [](Attention& a, const Buffers&) { a.mask = causal(2); }),
      plain(
          "attention_causal_gqa", [](Attention& a, const Buffers&) { a.mask = causal(2); }, true),
      plain("attention_window",
            [](Attention& a, const Buffers&) {
              a.mask = [](int64_t, int64_t i, int64_t j) { return j <= i + 2 && j > i + 2 - 3; };
            },
            false, false, {{"W", 3}}),
      plain("attention_alibi",
            [](Attention& a, const Buffers& in) {
              a.mask = causal(2);
              a.score = [&](double s, int64_t h, int64_t i, int64_t j) {
                return s + in.at("slope")[static_cast<size_t>(h)] * static_cast<double>(j - i - 2);
              };
            }),
      plain("attention_softcap",
            [](Attention& a, const Buffers&) {
              a.mask = causal(2);
              a.score = [](double s, int64_t, int64_t, int64_t) { return 50 * std::tanh(s / 50); };
            }),
      plain("attention_ragged",
            [](Attention& a, const Buffers& in) {  // lengths 0..3: an empty row is 0
              a.mask = [&](int64_t b, int64_t, int64_t j) {
                return j < in.at("length")[static_cast<size_t>(b)];
              };
            }),
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
      Case{"attention_prefix_lm",
           "attention_prefix_lm",
           {{"B", 1}, {"H", 2}, {"N", 6}, {"A", 3}, {"D", 16}},
           "O",
           kF16,
           [](const Buffers& in) {
             Attention a{1, 2, 1, 6, 6, 16};
             a.mask = [](int64_t, int64_t i, int64_t j) { return j < 3 || j <= i; };
             a.k = [&](int64_t b, int64_t h, int64_t j, int64_t d) {
               return at(in.at("K"), {1, 2, 6, 16}, {b, h, j, d});
             };
             a.v = [&](int64_t b, int64_t h, int64_t j, int64_t d) {
               return at(in.at("V"), {1, 2, 6, 16}, {b, h, j, d});
             };
             return attention(a, in.at("Q"));
           }},
      Case{"attention_decode",
           "attention_decode",
           {{"B", 2}, {"Hk", 2}, {"G", 3}, {"M", 9}, {"D", 16}},
           "O",
           kF16,
           [](const Buffers& in) {
             Attention a{2, 2, 3, 1, 9, 16};
             a.k = [&](int64_t b, int64_t h, int64_t j, int64_t d) {
               return at(in.at("K"), {2, 2, 9, 16}, {b, h, j, d});
             };
             a.v = [&](int64_t b, int64_t h, int64_t j, int64_t d) {
               return at(in.at("V"), {2, 2, 9, 16}, {b, h, j, d});
             };
             return attention(a, in.at("Q"));
           }},
      Case{"attention_paged",
           "attention_paged",
           {{"B", 2}, {"H", 2}, {"L", 2}, {"Pages", 4}, {"D", 16}},
           "O",
           kF16,
           [](const Buffers& in) {
             auto page = [&](int64_t b, int64_t j) {
               return static_cast<int64_t>(in.at("table")[static_cast<size_t>(b * 2 + j / 16)]);
             };
             Attention a{2, 2, 1, 1, 32, 16};
             a.mask = [&](int64_t b, int64_t, int64_t j) {
               return j < in.at("length")[static_cast<size_t>(b)];
             };
             a.k = [&](int64_t b, int64_t h, int64_t j, int64_t d) {
               return at(in.at("K"), {4, 16, 2, 16}, {page(b, j), j % 16, h, d});
             };
             a.v = [&](int64_t b, int64_t h, int64_t j, int64_t d) {
               return at(in.at("V"), {4, 16, 2, 16}, {page(b, j), j % 16, h, d});
             };
             return attention(a, in.at("Q"));
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
  };
  return all;
}

class Corpus : public testing::TestWithParam<Case> {};

TEST_P(Corpus, ComputesItsFormula) {
  const Case& c = GetParam();
  const auto ctx = poly::make_context();
  const spec::SpecResult read = spec::read_spec(ctx, kDir + c.file + ".spec.cpp");
  ASSERT_TRUE(read.ok) << read.diagnostics;
  EXPECT_EQ(read.diagnostics, "");
  const poly::Program* p = nullptr;
  for (const poly::Program& k : read.kernels)
    if (k.name == c.kernel) p = &k;
  ASSERT_NE(p, nullptr);
  const auto invalid = poly::validate(*p);
  ASSERT_FALSE(invalid) << invalid->text();
  for (const std::string& size : p->params)
    EXPECT_TRUE(p->typical.count(size)) << size << " has no typical value";
  const poly::Program demanded = poly::restrict_to_demanded(*p);
  const auto still = poly::validate(demanded);
  ASSERT_FALSE(still) << still->text();
  const uint64_t seed = 11;
  const Buffers in = inputs_of(*p, c.sizes, seed);
  const Vec want = c.formula(in);
  for (const poly::Program* program : {p, &demanded}) {
    auto out = poly::interpret(*program, c.sizes, in);
    ASSERT_TRUE(out) << out.error().text();
    const Vec& got = out->at(c.output);
    ASSERT_EQ(got.size(), want.size());
    double largest = 0;
    for (double w : want) largest = std::max(largest, std::fabs(w));
    for (size_t k = 0; k < got.size(); ++k)
      ASSERT_NEAR(got[k], want[k], c.tolerance * std::max(largest, 1e-3))
          << "element " << k << ", seed " << seed;
  }
}

INSTANTIATE_TEST_SUITE_P(Kernels, Corpus, testing::ValuesIn(cases()),
                         [](const testing::TestParamInfo<Case>& info) {
                           return std::string(info.param.kernel);
                         });

TEST(CorpusFiles, EachIsTestedAndSaysWhatItIs) {
  std::set<std::string> tested;
  for (const Case& c : cases()) tested.insert(c.file);
  int files = 0;
  for (const auto& f : std::filesystem::directory_iterator(kDir)) {
    const std::string name = f.path().filename().string();
    if (name.size() < 10 || name.substr(name.size() - 9) != ".spec.cpp") continue;
    ++files;
    EXPECT_TRUE(tested.count(name.substr(0, name.size() - 9)))
        << name << " has no formula in this test";
  }
  EXPECT_GE(files, 14);
}

// The corpus as committed programs: a change of what the reader makes of a spec shows as a
// difference here. NAUTILUS_UPDATE_GOLDEN=1 writes them anew.
TEST(CorpusGolden, ProgramsAreAsCommitted) {
  const std::string dir = std::string(NAUTILUS_SOURCE_DIR) + "/tests/golden/";
  const bool update = std::getenv("NAUTILUS_UPDATE_GOLDEN") != nullptr;
  for (const Case& c : cases()) {
    const auto ctx = poly::make_context();
    auto p = spec::load_program(ctx, kDir + c.file + ".spec.cpp", c.kernel);
    ASSERT_TRUE(p) << p.error().text();
    for (poly::Statement& s : p->statements)
      s.loc.file = "corpus/kernels/" + std::string(c.file) + ".spec.cpp";
    const std::string path = dir + c.kernel + ".naut";
    if (update) {
      std::ofstream(path) << poly::print_naut(*p);
      continue;
    }
    auto golden = spec::load_program(ctx, path);
    ASSERT_TRUE(golden) << golden.error().text();
    EXPECT_TRUE(poly::equal(*p, *golden)) << c.kernel << " is now\n" << poly::print_naut(*p);
  }
}

// Causal scores are only computed where they are needed.
TEST(CorpusFiles, DemandRestrictsTheScoreProductOfCausalAttention) {
  const auto ctx = poly::make_context();
  auto p = spec::load_program(ctx, kDir + "attention_causal.spec.cpp");
  ASSERT_TRUE(p) << p.error().text();
  const poly::Program d = poly::restrict_to_demanded(*p);
  const poly::Statement* s = d.statement("S_S_sum");
  ASSERT_NE(s, nullptr);
  EXPECT_TRUE(
      s->domain
          .intersect(isl::set(ctx->get(), "[N, M] -> { S_S_sum[b, h, i, j, d] : j > i + M - N }"))
          .is_empty());
}

}  // namespace
