// Every corpus kernel against its formula, written out here in double precision, at tiny sizes.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <random>

#include "compiler/spec/reader.h"
#include "tests/compiler/corpus_formulas.h"

namespace {

using namespace nautilus;
using namespace nautilus::corpus;

const std::string kDir = std::string(NAUTILUS_SOURCE_DIR) + "/corpus/kernels/";

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

std::vector<Case> cases() {
  std::vector<Case> all = attention_cases();
  for (const Case& c : other_cases()) all.push_back(c);
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
    for (double w : want)
      if (std::isfinite(w)) largest = std::max(largest, std::fabs(w));
    for (size_t k = 0; k < got.size(); ++k) {
      if (got[k] == want[k]) continue;  // infinities too
      ASSERT_NEAR(got[k], want[k], c.tolerance * std::max(largest, 1e-3))
          << "element " << k << ", seed " << seed;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Kernels, Corpus, testing::ValuesIn(cases()),
                         [](const testing::TestParamInfo<Case>& info) {
                           return std::string(info.param.kernel) + "_" + info.param.output;
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
  EXPECT_GE(files, 33);
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
