// Formulas of the corpus kernels, written out in double precision, and what they are tried at.
#pragma once

#include <cmath>
#include <functional>
#include <ostream>
#include <string>
#include <vector>

#include "polyhedral/interpreter.h"

namespace nautilus::corpus {

using poly::Buffers;
using poly::Sizes;
using Vec = std::vector<double>;

// Row-major reading of a buffer: at(x, {n0, n1}, {i0, i1}).
inline double at(const Vec& x, const std::vector<int64_t>& shape, const std::vector<int64_t>& i) {
  int64_t o = 0;
  for (size_t k = 0; k < shape.size(); ++k) o = o * shape[k] + i[k];
  return x.at(static_cast<size_t>(o));
}

struct Attention {
  int64_t B, H, G, N, M, D;  // query heads H * G
  int64_t E = 0;             // head size of the values; 0: D
  std::function<bool(int64_t b, int64_t i, int64_t j)> mask = [](int64_t, int64_t, int64_t) {
    return true;
  };
  std::function<double(double s, int64_t h, int64_t i, int64_t j)> score =
      [](double s, int64_t, int64_t, int64_t) { return s; };
  std::function<double(int64_t h)> sink = [](int64_t) { return -INFINITY; };
  std::function<double(int64_t b, int64_t h, int64_t j, int64_t d)> k{}, v{};
};
// O[b,h,g,i,:] = sum_j softmax_j(score(q.k / sqrt(D))) v_j over the j that the mask admits, with
// the sink in the sum of the softmax; 0 if there is none. `logs`: takes the logarithm of each sum.
inline Vec attention(const Attention& a, const Vec& q, Vec* logs = nullptr) {
  Vec o;
  const int64_t E = a.E ? a.E : a.D;
  for (int64_t b = 0; b < a.B; ++b)
    for (int64_t h = 0; h < a.H; ++h)
      for (int64_t g = 0; g < a.G; ++g)
        for (int64_t i = 0; i < a.N; ++i) {
          Vec acc(static_cast<size_t>(E), 0.0);
          double total = 0;
          bool any = false;
          for (int64_t j = 0; j < a.M; ++j) {
            if (!a.mask(b, i, j)) continue;
            double s = 0;
            for (int64_t d = 0; d < a.D; ++d)
              s += at(q, {a.B, a.H, a.G, a.N, a.D}, {b, h, g, i, d}) * a.k(b, h, j, d);
            const double w = std::exp(a.score(s / std::sqrt(static_cast<double>(a.D)), h, i, j));
            total += w;
            any = true;
            for (int64_t d = 0; d < E; ++d) acc[static_cast<size_t>(d)] += w * a.v(b, h, j, d);
          }
          if (logs) logs->push_back(std::log(total));
          total += std::exp(a.sink(h));
          for (double x : acc) o.push_back(any ? x / total : 0);
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
inline void PrintTo(const Case& c, std::ostream* os) { *os << c.kernel; }
constexpr double kF16 = 1e-3, kF32 = 1e-6;

// The plain attention kernels share sizes and inputs; G > 1 with grouped heads.
inline Case plain(const char* name, std::function<void(Attention&, const Buffers&)> change,
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
inline auto causal(int64_t shift) {
  return [=](int64_t, int64_t i, int64_t j) { return j <= i + shift; };
}
// One value a row: f(row).
inline std::function<Vec(const Buffers&)> by_row(int64_t n, int64_t m,
                                                 std::function<double(const Vec&)> f) {
  return [=](const Buffers& in) {
    Vec out;
    for (int64_t i = 0; i < n; ++i)
      out.push_back(f(Vec(in.at("X").begin() + i * m, in.at("X").begin() + (i + 1) * m)));
    return out;
  };
}
inline double log_sum_exp(const Vec& x) {
  double s = 0;
  for (double v : x) s += std::exp(v);
  return std::log(s);
}
inline double mean(const Vec& x) {
  double s = 0;
  for (double v : x) s += v;
  return s / static_cast<double>(x.size());
}
inline double variance(const Vec& x) {
  double s = 0;
  for (double v : x) s += (v - mean(x)) * (v - mean(x));
  return s / static_cast<double>(x.size());
}
inline double mean_square(const Vec& x) {
  double s = 0;
  for (double v : x) s += v * v;
  return s / static_cast<double>(x.size());
}
inline Vec product(const Vec& a, const Vec& b, int64_t n, int64_t k, int64_t m) {
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
inline std::function<Vec(const Buffers&)> by_element(
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

// What corpus_attention.cpp and corpus_formulas.cpp hold.
std::vector<Case> attention_cases();
std::vector<Case> other_cases();

}  // namespace nautilus::corpus
