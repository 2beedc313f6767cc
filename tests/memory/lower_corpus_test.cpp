// Plans that the search finds for the corpus kernels, at small sizes and at awkward ones, lowered
// to the memory IR and run.
#include "tests/memory/lower_helpers.h"

namespace nautilus::memory {
namespace {

struct Case {
  const char* kernel;
  poly::Sizes sizes;
};
void PrintTo(const Case& c, std::ostream* os) {
  *os << c.kernel;
  for (const auto& [n, v] : c.sizes) *os << " " << n << "=" << v;
}

class LowerCorpus : public testing::TestWithParam<Case> {};

TEST_P(LowerCorpus, BestPlansComputeWhatTheTileProgramDoes) {
  const auto plans = tile_plans(GetParam().kernel, GetParam().sizes, 2, 40);
  ASSERT_FALSE(plans.empty());
  for (const tile::Module& t : plans) {
    SCOPED_TRACE(tile::print(t));
    expect_same(t);
    if (HasFailure()) return;
  }
}

const poly::Sizes kAttention = {{"B", 1}, {"H", 2}, {"N", 40}, {"M", 40}, {"D", 32}};
poly::Sizes with(poly::Sizes s, const poly::Sizes& more) {
  for (const auto& [n, v] : more) s[n] = v;
  return s;
}

INSTANTIATE_TEST_SUITE_P(Rows, LowerCorpus,
                         testing::Values(Case{"softmax", {{"N", 5}, {"M", 300}}},
                                         Case{"softmax", {{"N", 1}, {"M", 1}}},
                                         Case{"softmax", {{"N", 3}, {"M", 65}}},
                                         Case{"rmsnorm", {{"N", 4}, {"D", 256}}},
                                         Case{"rmsnorm", {{"N", 17}, {"D", 17}}},
                                         Case{"layernorm", {{"N", 3}, {"D", 96}}},
                                         Case{"variance", {{"N", 5}, {"M", 65}}},
                                         Case{"logsumexp", {{"N", 7}, {"M", 130}}},
                                         Case{"cross_entropy", {{"N", 5}, {"C", 100}}}));
INSTANTIATE_TEST_SUITE_P(
    Products, LowerCorpus,
    testing::Values(Case{"matmul", {{"N", 64}, {"M", 64}, {"K", 64}}},
                    Case{"matmul", {{"N", 17}, {"M", 65}, {"K", 33}}},
                    Case{"matmul", {{"N", 1}, {"M", 1}, {"K", 1}}},
                    Case{"matmul_bias_gelu", {{"N", 40}, {"M", 24}, {"K", 48}}},
                    Case{"matmul_bias", {{"N", 33}, {"M", 7}, {"K", 20}}},
                    Case{"matmul_bias_relu", {{"N", 16}, {"M", 16}, {"K", 16}}},
                    Case{"gated_mlp", {{"N", 16}, {"D", 32}, {"F", 48}}},
                    Case{"rmsnorm_matmul", {{"N", 17}, {"D", 64}, {"M", 40}}}));
INSTANTIATE_TEST_SUITE_P(
    Attention, LowerCorpus,
    testing::Values(Case{"attention_global", kAttention}, Case{"attention_causal", kAttention},
                    Case{"attention_causal", with(kAttention, {{"N", 17}, {"M", 65}, {"D", 16}})},
                    Case{"attention_causal", with(kAttention, {{"N", 1}, {"M", 1}, {"D", 16}})},
                    Case{"attention_softcap", kAttention}, Case{"attention_f32", kAttention}));

// Sizes that no tile divides, and rows without a key.
INSTANTIATE_TEST_SUITE_P(
    Awkward, LowerCorpus,
    testing::Values(
        Case{"attention_causal_gqa",
             {{"B", 1}, {"Hk", 1}, {"G", 2}, {"N", 17}, {"M", 17}, {"D", 16}}},
        Case{"attention_alibi", {{"B", 1}, {"H", 2}, {"N", 17}, {"M", 17}, {"D", 16}}},
        Case{"attention_window", {{"B", 1}, {"H", 1}, {"N", 65}, {"M", 40}, {"D", 16}, {"W", 5}}},
        Case{"attention_decode", {{"B", 1}, {"Hk", 1}, {"G", 3}, {"M", 65}, {"D", 16}}},
        Case{"attention_ragged", {{"B", 2}, {"H", 1}, {"N", 17}, {"M", 33}, {"D", 16}}},
        Case{"attention_paged", {{"B", 2}, {"H", 1}, {"L", 4}, {"Pages", 6}, {"D", 16}}},
        Case{"attention_causal_mqa", {{"B", 1}, {"H", 2}, {"N", 17}, {"M", 17}, {"D", 16}}},
        Case{"attention_sink", {{"B", 1}, {"H", 2}, {"N", 33}, {"M", 17}, {"D", 16}}},
        Case{"attention_lse", {{"B", 1}, {"H", 1}, {"N", 65}, {"M", 40}, {"D", 16}}},
        Case{"attention_qk_norm", {{"B", 1}, {"H", 1}, {"N", 17}, {"M", 33}, {"D", 16}}},
        Case{"attention_mla", {{"B", 1}, {"H", 1}, {"N", 17}, {"M", 17}, {"D", 48}, {"E", 32}}},
        Case{"attention_t5", {{"B", 1}, {"H", 2}, {"N", 17}, {"M", 33}, {"D", 16}}},
        Case{"attention_prefix_lm", {{"B", 1}, {"H", 1}, {"N", 65}, {"A", 7}, {"D", 16}}},
        Case{"attention_prefix_lm", {{"B", 1}, {"H", 1}, {"N", 17}, {"A", 0}, {"D", 16}}},
        Case{"attention_prefix_lm", {{"B", 1}, {"H", 1}, {"N", 1}, {"A", 1}, {"D", 16}}},
        Case{"rmsnorm_residual", {{"N", 3}, {"D", 65}}},
        Case{"matmul_chain", {{"N", 17}, {"K", 33}, {"R", 7}, {"M", 40}}},
        Case{"matmul_batched", {{"B", 2}, {"N", 17}, {"K", 33}, {"M", 7}}},
        Case{"lora", {{"N", 17}, {"K", 33}, {"M", 40}, {"R", 5}}},
        Case{"conv2d", {{"P", 5}, {"Q", 3}, {"C", 17}, {"F", 7}}}, Case{"rope", {{"N", 17}}},
        Case{"gated_mlp", {{"N", 17}, {"D", 17}, {"F", 33}}}));

// A temporary in memory that a causal mask leaves holes in: the tile that reads it spans some, and
// what was never written may be anything.
TEST(LowerHoles, AreNotRead) {
  auto p = poly::parse_naut(poly::make_context(), R"(naut 1
program triangle
sizes N
where [N] -> { : N >= 0 }
typical N=20
tensor X input f32
  extent [N] -> { [(N)] }
  extent [N] -> { [(N)] }
tensor T temp f32
  extent [N] -> { [(N)] }
  extent [N] -> { [(N)] }
tensor Y output f32
  extent [N] -> { [(N)] }
statement S_T(i, j)
  domain [N] -> { S_T[i, j] : 0 <= i < N and 0 <= j <= i }
  write T [N] -> { S_T[i, j] -> T[i, j] }
  read X [N] -> { S_T[i, j] -> X[i, j] }
  expr exp($0:f32)
statement S_Y(i, j)
  domain [N] -> { S_Y[i, j] : 0 <= i < N and 0 <= j <= i }
  write Y [N] -> { S_Y[i, j] -> Y[i] }
  read T [N] -> { S_Y[i, j] -> T[i, j] }
  expr $0:f32
  reduce sum over 1
)",
                            "triangle");
  ASSERT_TRUE(p) << p.error().text();
  poly::Schedule s = poly::initial_schedule(demanded(*p, {{"N", 20}}));
  for (size_t k = 0; k < 2; ++k) {
    const auto step = [&](const char* name, const nlohmann::json& params) {
      auto next = poly::apply_unchecked(s, name, params);
      ASSERT_TRUE(next) << next.error().text();
      s = *next;
    };
    const poly::Node* band = s.root->children[k]->children[0].get();
    step("tile", {{"node", band->id}, {"sizes", {8, 8}}});
    band = s.root->children[k]->children[0]->children[0].get();
    step("map", {{"node", band->id}, {"member", "*"}, {"mapping", "tile"}});
  }
  auto t = lower::lower(s);
  ASSERT_TRUE(t) << t.error().text();
  EXPECT_NE(tile::print(*t).find("load T["), std::string::npos);
  expect_same(*t);
}

}  // namespace
}  // namespace nautilus::memory
