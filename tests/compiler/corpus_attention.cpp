// Attention in the forms of the corpus, as formulas.
#include "tests/compiler/corpus_formulas.h"

namespace nautilus::corpus {
namespace {

// Rows of `d` elements divided by the root of their mean square, times the gain, in f16.
Vec normalized(const Vec& x, const Vec& gain) {
  Vec out;
  const size_t d = gain.size();
  for (size_t row = 0; row < x.size(); row += d) {
    const double mean = mean_square(Vec(x.begin() + static_cast<std::ptrdiff_t>(row),
                                        x.begin() + static_cast<std::ptrdiff_t>(row + d)));
    for (size_t k = 0; k < d; ++k)
      out.push_back(round_to_type(x[row + k] / std::sqrt(mean + 1e-6) * gain[k], Type::F16));
  }
  return out;
}

// Causal attention of more queries than keys: the first two rows have none. The output, or the
// logarithms of the sums.
Case with_logs(bool logs) {
  return Case{"attention_lse",
              "attention_lse",
              {{"B", 1}, {"H", 2}, {"N", 7}, {"M", 5}, {"D", 16}},
              logs ? "L" : "O",
              logs ? kF32 : kF16,
              [logs](const Buffers& in) {
                Attention a{1, 2, 1, 7, 5, 16};
                a.mask = causal(-2);
                a.k = [&](int64_t b, int64_t h, int64_t j, int64_t d) {
                  return at(in.at("K"), {1, 2, 5, 16}, {b, h, j, d});
                };
                a.v = [&](int64_t b, int64_t h, int64_t j, int64_t d) {
                  return at(in.at("V"), {1, 2, 5, 16}, {b, h, j, d});
                };
                Vec sums;
                const Vec o = attention(a, in.at("Q"), &sums);
                return logs ? sums : o;
              }};
}

}  // namespace

std::vector<Case> attention_cases() {
  return {
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
      plain("attention_sink",
            [](Attention& a, const Buffers& in) {
              a.mask = causal(2);
              a.sink = [&](int64_t h) { return in.at("sink")[static_cast<size_t>(h)]; };
            }),
      plain("attention_t5",
            [](Attention& a, const Buffers& in) {  // 4 buckets, as inputs hold 0 .. 3
              a.score = [&](double s, int64_t h, int64_t i, int64_t j) {
                const auto bucket = static_cast<int64_t>(in.at("bucket").at(j - i + 5 - 1));
                return s * 4 + at(in.at("bias"), {4, 2}, {bucket, h});
              };
            },
            false, false, {{"Buckets", 4}}),
      Case{"attention_causal_mqa",
           "attention_causal_mqa",
           {{"B", 2}, {"H", 3}, {"N", 5}, {"M", 7}, {"D", 16}},
           "O",
           kF16,
           [](const Buffers& in) {
             Attention a{2, 3, 1, 5, 7, 16};
             a.mask = causal(2);
             a.k = [&](int64_t b, int64_t, int64_t j, int64_t d) {
               return at(in.at("K"), {2, 7, 16}, {b, j, d});
             };
             a.v = [&](int64_t b, int64_t, int64_t j, int64_t d) {
               return at(in.at("V"), {2, 7, 16}, {b, j, d});
             };
             return attention(a, in.at("Q"));
           }},
      Case{"attention_mla",
           "attention_mla",
           {{"B", 1}, {"H", 2}, {"N", 5}, {"M", 7}, {"D", 48}, {"E", 32}},
           "O",
           kF16,
           [](const Buffers& in) {
             Attention a{1, 2, 1, 5, 7, 48, 32};
             a.mask = causal(2);
             a.k = [&](int64_t b, int64_t h, int64_t j, int64_t d) {
               return at(in.at("K"), {1, 2, 7, 48}, {b, h, j, d});
             };
             a.v = [&](int64_t b, int64_t h, int64_t j, int64_t d) {
               return at(in.at("V"), {1, 2, 7, 32}, {b, h, j, d});
             };
             return attention(a, in.at("Q"));
           }},
      Case{"attention_qk_norm",
           "attention_qk_norm",
           {{"B", 1}, {"H", 2}, {"N", 5}, {"M", 7}, {"D", 16}},
           "O",
           kF16,
           [](const Buffers& in) {
             Attention a{1, 2, 1, 5, 7, 16};
             const Vec k = normalized(in.at("K"), in.at("Wk"));
             a.k = [&](int64_t b, int64_t h, int64_t j, int64_t d) {
               return at(k, {1, 2, 7, 16}, {b, h, j, d});
             };
             a.v = [&](int64_t b, int64_t h, int64_t j, int64_t d) {
               return at(in.at("V"), {1, 2, 7, 16}, {b, h, j, d});
             };
             return attention(a, normalized(in.at("Q"), in.at("Wq")));
           }},
      with_logs(false),
      with_logs(true),
  };
}

}  // namespace nautilus::corpus
