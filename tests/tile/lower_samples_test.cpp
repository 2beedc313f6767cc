// Programs with gathers, guards, narrow types, integers, affine values, strides and in-place
// updates.
#include "tests/polyhedral/program_samples.h"
#include "tests/tile/lower_check.h"

namespace nautilus {
namespace {
using namespace testing_lower;

ProgramPtr sized(const char* text, const Sizes& sizes) {
  auto p = parse_naut(make_context(), text, "test.naut");
  EXPECT_TRUE(p) << (p ? "" : p.error().text());
  auto bad = validate(*p);
  EXPECT_FALSE(bad) << bad->text();
  auto b = bind_sizes(*p, sizes);
  EXPECT_TRUE(b) << (b ? "" : b.error().text());
  return std::make_shared<const Program>(*b);
}

// The sample with its last reductions restricted to where P is defined.
const char* causal() {
  static const std::string text = [] {
    std::string t = samples::kCausal;
    for (const char* stmt : {"{ S_l[i, j] :", "{ S_acc[i, d, j] :"}) {
      const size_t at = t.find("0 <= j < N", t.find(stmt));
      t.replace(at, 10, "0 <= j <= i");
    }
    return t;
  }();
  return text.c_str();
}

// All dims of one statement tiled by `tile`, tiles serial; every other statement as it was.
Schedule all_tiled(const ProgramPtr& p, int64_t tile,
                   const std::map<std::string, Scope>& scopes = {}) {
  Tree t(p);
  std::vector<NodePtr> kernels;
  for (const Statement& s : p->statements) {
    std::vector<BandMember> outer, inner;
    for (const std::string& d : dim_names(s.domain)) {
      outer.push_back(t.member(s.name + "_" + d + "0", std::vector<std::string>{s.name},
                               "floor(" + d + "/" + std::to_string(tile) + ")", Mapping::Serial,
                               tile));
      inner.push_back(
          t.member(s.name + "_" + d + "1", std::vector<std::string>{s.name}, d, Mapping::Tile));
    }
    kernels.push_back(
        t.filter({s.name}, outer.empty() ? t.leaf() : t.band(outer, t.band(inner, t.leaf()))));
  }
  return t.done(t.sequence(kernels), scopes);
}

void both(const char* text, const Sizes& sizes, double tolerance = 1e-4) {
  ProgramPtr p = sized(text, sizes);
  expect_same(initial_schedule(p), tolerance);
  for (int64_t tile : {1, 2, 4}) expect_same(all_tiled(p, tile), tolerance);
}

TEST(LowerSamples, CausalAndMatmul) {
  for (int64_t n : {1, 5, 6}) {
    both(samples::kMatmul, {{"N", n}, {"M", 3}, {"K", 4}});
    both(causal(), {{"N", n}, {"D", 3}});
  }
}

TEST(LowerSamples, SeidelInPlace) {
  expect_same(initial_schedule(sized(samples::kSeidel, {{"N", 7}, {"T", 3}})));
}

TEST(LowerSamples, GatherAndRaggedGuard) {
  for (int64_t j : {1, 3, 6}) both(samples::kPaged, {{"J", j}, {"P", 4}, {"N", 5}});
}

TEST(LowerSamples, NarrowTypesRoundWhereTheProgramSays) {
  both(R"(naut 1
program narrow
sizes N
where [N] -> { : N >= 0 }
tensor A input f16
  extent [N] -> { [(N)] }
tensor T temp f16
  extent [N] -> { [(N)] }
tensor B output bf16
  extent [N] -> { [(N)] }
statement S_T(i)
  domain [N] -> { S_T[i] : 0 <= i < N }
  write T { S_T[i] -> T[i] }
  read A { S_T[i] -> A[i] }
  expr f16($0:f16 * 3 + 0.125)
statement S_B(i)
  domain [N] -> { S_B[i] : 0 <= i < N }
  write B { S_B[i] -> B[i] }
  read T { S_B[i] -> T[i] }
  index [N] -> { S_B[i] -> [(2i + N)] }
  expr bf16($0:f16 * $0:f16 + #0 * 0.5)
)",
       {{"N", 9}}, 2e-2);
}

TEST(LowerSamples, IntegersLogicAndUserReductions) {
  both(R"(naut 1
program monoids
sizes N M
where [N, M] -> { : N >= 0 and M >= 0 }
tensor A input f32
  extent [N, M] -> { [(N)] }
  extent [N, M] -> { [(M)] }
tensor k input i32
  extent [N, M] -> { [(M)] }
tensor anyp output bool
  extent [N, M] -> { [(N)] }
tensor top output i32
  extent [N, M] -> { [(N)] }
tensor prodv output f32
  extent [N, M] -> { [(N)] }
tensor low output f32
  extent [N, M] -> { [(M)] }
tensor lse output f32
  extent [N, M] -> { [(N)] }
statement S_anyp(i, j)
  domain [N, M] -> { S_anyp[i, j] : 0 <= i < N and 0 <= j < M }
  write anyp { S_anyp[i, j] -> anyp[i] }
  read A { S_anyp[i, j] -> A[i, j] }
  expr $0 < -1
  reduce any over 1
statement S_top(i, j)
  domain [N, M] -> { S_top[i, j] : 0 <= i < N and 0 <= j < M and 0 <= i + j }
  write top { S_top[i, j] -> top[i] }
  read k { S_top[i, j] -> k[j] }
  index { S_top[i, j] -> [(i - j)] }
  expr $0:i32 + #0
  reduce sum over 1
statement S_prodv(i, j)
  domain [N, M] -> { S_prodv[i, j] : 0 <= i < N and 0 <= j < M and (i + j) mod 2 = 0 }
  write prodv { S_prodv[i, j] -> prodv[i] }
  read A { S_prodv[i, j] -> A[i, j] }
  expr $0
  reduce prod over 1
statement S_low(i, j)
  domain [N, M] -> { S_low[i, j] : 0 <= i < N and 0 <= j < M and j < 2i }
  write low { S_low[i, j] -> low[j] }
  read A { S_low[i, j] -> A[i, j] }
  expr $0
  reduce min over 0
statement S_lse(i, j)
  domain [N, M] -> { S_lse[i, j] : 0 <= i < N and 0 <= j < M }
  write lse { S_lse[i, j] -> lse[i] }
  read A { S_lse[i, j] -> A[i, j] }
  expr exp($0)
  reduce user over 1
  combine log(exp(a) + exp(b)) * 0 + (a + b)
  identity 0
)",
       {{"N", 5}, {"M", 6}});
}

TEST(LowerSamples, ConvolutionAndGroupedIndex) {
  both(R"(naut 1
program conv
sizes N K
where [N, K] -> { : N >= 1 and K >= 1 }
tensor X input f32
  extent [N, K] -> { [(2N + K)] }
tensor W input f32
  extent [N, K] -> { [(K)] }
tensor G input f32
  extent [N] -> { [(N)] }
tensor Y output f32
  extent [N] -> { [(N)] }
tensor Z output f32
  extent [N] -> { [(4N)] }
statement S_Y(i, k)
  domain [N, K] -> { S_Y[i, k] : 0 <= i < N and 0 <= k < K }
  write Y { S_Y[i, k] -> Y[i] }
  read X { S_Y[i, k] -> X[2i + k] }
  read W { S_Y[i, k] -> W[k] }
  expr $0 * $1
  reduce sum over 1
statement S_Z(h)
  domain [N] -> { S_Z[h] : 0 <= h < 4N }
  write Z { S_Z[h] -> Z[h] }
  read G { S_Z[h] -> G[floor(h/4)] }
  index { S_Z[h] -> [(h mod 4)] }
  expr $0 + #0
)",
       {{"N", 5}, {"K", 3}});
}

TEST(LowerSamples, ElementsThatNoInstanceWritesHoldTheIdentity) {
  for (int64_t m : {0, 2, 5})
    both(R"(naut 1
program rows
sizes N M
where [N, M] -> { : N >= 0 and M >= 0 }
tensor A input f32
  extent [N, M] -> { [(N)] }
  extent [N, M] -> { [(M)] }
tensor mx output f32
  extent [N, M] -> { [(N)] }
tensor sm temp f32
  extent [N, M] -> { [(N)] }
tensor O output f32
  extent [N, M] -> { [(N)] }
statement S_mx(i, j)
  domain [N, M] -> { S_mx[i, j] : 0 <= i < N and 0 <= j < M and j <= i + M - N }
  write mx { S_mx[i, j] -> mx[i] }
  read A { S_mx[i, j] -> A[i, j] }
  expr $0
  reduce max over 1
statement S_sm(i, j)
  domain [N, M] -> { S_sm[i, j] : 0 <= i < N and 0 <= j < M and j <= i + M - N }
  write sm { S_sm[i, j] -> sm[i] }
  read A { S_sm[i, j] -> A[i, j] }
  expr exp($0)
  reduce sum over 1
statement S_O(i)
  domain [N] -> { S_O[i] : 0 <= i < N }
  write O { S_O[i] -> O[i] }
  read sm { S_O[i] -> sm[i] }
  expr $0 + 1
)",
         {{"N", 6}, {"M", m}});
}

TEST(LowerSamples, SharedScope) {
  ProgramPtr p = sized(causal(), {{"N", 6}, {"D", 3}});
  Tree t(p);
  std::vector<NodePtr> parts;
  for (const Statement& s : p->statements) {
    std::vector<BandMember> inner;
    for (const std::string& d : dim_names(s.domain))
      if (d != "i")
        inner.push_back(t.member(s.name + d, std::vector<std::string>{s.name}, d, Mapping::Tile));
    parts.push_back(t.filter({s.name}, t.band(inner, t.leaf())));
  }
  std::vector<std::string> names;
  for (const Statement& s : p->statements) names.push_back(s.name);
  NodePtr root = t.band({t.member("row", names, "i", Mapping::Grid)}, t.sequence(parts));
  expect_same(t.done(root, {{"S", Scope::Shared},
                            {"P", Scope::Shared},
                            {"m", Scope::Register},
                            {"l", Scope::Shared},
                            {"acc", Scope::Register}}));
  expect_same(t.done(root));
}

TEST(LowerSamples, RefusesInWords) {
  ProgramPtr p = sized(causal(), {{"N", 6}, {"D", 3}});
  Schedule s = initial_schedule(p);
  s.scopes["P"] = Scope::Register;
  auto m = lower::lower(s);
  ASSERT_FALSE(m);
  EXPECT_NE(m.error().text().find("P"), std::string::npos);
  EXPECT_NE(m.error().text().find("register"), std::string::npos) << m.error().text();
}

}  // namespace
}  // namespace nautilus
