#include "polyhedral/program.h"

#include <cmath>

#include "program_samples.h"

namespace nautilus::poly {
namespace {

using samples::parsed;

std::vector<double> ramp(size_t n, double step = 0.37) {
  std::vector<double> v(n);
  for (size_t k = 0; k < n; ++k) v[k] = std::sin(1 + step * static_cast<double>(k));
  return v;
}

TEST(Program, Elements) {
  const Program p = parsed(samples::kMatmul);
  EXPECT_TRUE(p.elements(*p.tensor("C"))
                  .is_equal(isl::set(p.context->get(),
                                     "[N, K] -> { C[i, k] : 0 <= i < N and 0 <= k < K }")));
  const Program q = parsed(samples::kPaged);
  EXPECT_TRUE(q.elements(*q.tensor("len")).is_equal(isl::set(q.context->get(), "{ len[] }")));
}

TEST(Program, BindAndInstantiate) {
  const Program p = parsed(samples::kMatmul);
  EXPECT_FALSE(bind_sizes(p, {{"Q", 1}}));
  EXPECT_FALSE(bind_sizes(p, {{"N", -1}}));
  const auto bound = bind_sizes(p, {{"N", 4}});
  ASSERT_TRUE(bound);
  EXPECT_EQ(bind_sizes(*bound, {{"N", 5}}).has_value(), false);
  const auto at = instantiate(*bound, {{"N", 4}, {"M", 5}});
  ASSERT_TRUE(at);
  EXPECT_EQ(at->params, (std::vector<std::string>{"K"}));
  EXPECT_EQ(param_names(at->statements[0].domain), (std::vector<std::string>{"K"}));
  EXPECT_FALSE(validate(*at));
}

TEST(Program, CloneIsEqualInAnotherContext) {
  for (const char* text : {samples::kMatmul, samples::kCausal, samples::kSeidel, samples::kPaged}) {
    const Program p = parsed(text);
    const ProgramPtr copy = clone_into(make_context(), p);
    EXPECT_NE(copy->context, p.context);
    EXPECT_TRUE(equal(p, *copy));
    const auto a = validate(p), b = validate(*copy);
    EXPECT_EQ(a ? a->text() : "", b ? b->text() : "");
  }
  EXPECT_FALSE(equal(parsed(samples::kMatmul), parsed(samples::kCausal)));
}

TEST(Program, ValidSamples) {
  for (const char* text : {samples::kMatmul, samples::kSeidel, samples::kPaged}) {
    const auto bad = validate(parsed(text));
    EXPECT_FALSE(bad) << bad->text();
  }
  // As written, the sums over all j read P outside of its causal part.
  const auto bad = validate(parsed(samples::kCausal));
  ASSERT_TRUE(bad);
  EXPECT_NE(bad->text().find("S_l"), std::string::npos) << bad->text();
  EXPECT_FALSE(validate(restrict_to_defined(parsed(samples::kCausal))));
}

TEST(Program, DemandIsCausal) {
  const Program p = restrict_to_demanded(parsed(samples::kCausal));
  isl::ctx c = p.context->get();
  EXPECT_TRUE(p.statement("S_S")->domain.is_equal(
      isl::set(c, "[N, D] -> { S_S[i, j, d] : 0 <= j <= i < N and 0 <= d < D }")));
  EXPECT_TRUE(p.statement("S_l")->domain.is_equal(
      isl::set(c, "[N, D] -> { S_l[i, j] : D > 0 and 0 <= j <= i < N }")));
  EXPECT_EQ(dim_names(p.statement("S_S")->domain), (std::vector<std::string>{"i", "j", "d"}));
  const auto bad = validate(p);
  EXPECT_FALSE(bad) << bad->text();
}

TEST(Program, DemandOfSomeElements) {
  const Program p = parsed(samples::kCausal);
  const Program q = restrict_to_demanded(p, isl::union_set(p.context->get(), "{ O[3, 1] }"));
  isl::ctx c = p.context->get();
  EXPECT_TRUE(q.statement("S_P")->domain.is_equal(
      isl::set(c, "[N, D] -> { S_P[3, j] : N > 3 and D > 1 and 0 <= j <= 3 }")));
  EXPECT_TRUE(q.statement("S_acc")->domain.is_equal(
      isl::set(c, "[N, D] -> { S_acc[3, 1, j] : N > 3 and D > 1 and 0 <= j <= 3 }")));
  // In place: everything that may matter stays.
  const Program s = parsed(samples::kSeidel);
  const Program t = restrict_to_demanded(s, isl::union_set(s.context->get(), "{ B[0] }"));
  EXPECT_TRUE(t.statement("S_A")->domain.is_equal(s.statement("S_A")->domain));
  EXPECT_TRUE(t.statement("S_B")->domain.is_equal(isl::set(s.context->get(), "[N] -> { S_B[0] }")));
}

TEST(Program, DemandRemovesDeadStatements) {
  std::string text = samples::kMatmul;
  text +=
      "tensor dead temp f32\n  extent [N] -> { [(N)] }\n"
      "statement S_dead(i)\n  domain [N] -> { S_dead[i] : 0 <= i < N }\n  write dead { S_dead[i] "
      "-> dead[i] }\n  expr 1\n";
  const Program p = restrict_to_demanded(parsed(text));
  EXPECT_EQ(p.statements.size(), 1u);
  EXPECT_EQ(p.tensor("dead"), nullptr);
  EXPECT_TRUE(equal(p, parsed(samples::kMatmul)));
}

// Paged over-approximation: a gathered read demands every row that could be meant.
TEST(Program, DemandThroughGather) {
  const Program p = parsed(samples::kPaged);
  EXPECT_TRUE(equal(restrict_to_demanded(p), p)) << print_naut(restrict_to_demanded(p));
}

TEST(Interpret, Matmul) {
  const Program p = parsed(samples::kMatmul);
  for (auto [n, m, k] : std::vector<std::array<int64_t, 3>>{
           {3, 4, 5}, {1, 1, 1}, {0, 3, 2}, {2, 0, 3}, {7, 11, 2}}) {
    const auto a = ramp(static_cast<size_t>(n * m)), b = ramp(static_cast<size_t>(m * k), 0.91);
    const auto out = interpret(p, {{"N", n}, {"M", m}, {"K", k}}, {{"A", a}, {"B", b}});
    ASSERT_TRUE(out) << out.error().text();
    const auto& c = out->at("C");
    ASSERT_EQ(c.size(), static_cast<size_t>(n * k));
    for (int64_t i = 0; i < n; ++i)
      for (int64_t x = 0; x < k; ++x) {
        double sum = 0;
        for (int64_t j = 0; j < m; ++j)
          sum += a[static_cast<size_t>(i * m + j)] * b[static_cast<size_t>(j * k + x)];
        EXPECT_NEAR(c[static_cast<size_t>(i * k + x)], sum, 1e-12);
      }
  }
}

// Products of extents that wrap around 64 bits are too many elements, not none.
TEST(Interpret, MoreElementsThan64BitsCount) {
  const Sizes sizes{{"N", int64_t{1} << 28}, {"M", int64_t{1} << 36}, {"K", 1}};
  const auto r = interpret(parsed(samples::kMatmul), sizes, {{"A", {}}, {"B", {}}});
  ASSERT_FALSE(r);
  EXPECT_NE(r.error().why.find("too many elements"), std::string::npos) << r.error().text();
}

TEST(Interpret, CausalRestrictedAndNot) {
  const Program p = parsed(samples::kCausal), q = restrict_to_demanded(p);
  const int64_t n = 7, d = 3;
  const Buffers in{{"Q", ramp(21)}, {"V", ramp(21, 0.77)}};
  const auto a = interpret(restrict_to_defined(p), {{"N", n}, {"D", d}}, in);
  const auto b = interpret(q, {{"N", n}, {"D", d}}, in);
  ASSERT_TRUE(a && b);
  EXPECT_EQ(a->at("O"), b->at("O"));
  const auto &x = in.at("Q"), &v = in.at("V");
  for (int64_t i = 0; i < n; ++i)
    for (int64_t e = 0; e < d; ++e) {
      double total = 0, sum = 0;
      for (int64_t j = 0; j <= i; ++j) {
        double s = 0;
        for (int64_t k = 0; k < d; ++k)
          s += x[static_cast<size_t>(i * d + k)] * x[static_cast<size_t>(j * d + k)];
        total += std::exp(s);
        sum += std::exp(s) * v[static_cast<size_t>(j * d + e)];
      }
      EXPECT_NEAR(a->at("O")[static_cast<size_t>(i * d + e)], sum / total, 1e-12);
    }
}

TEST(Interpret, InPlaceOrderMatters) {
  const Program p = parsed(samples::kSeidel);
  const auto x = ramp(9);
  const auto out = interpret(p, {{"N", 9}, {"T", 4}}, {{"X", x}});
  ASSERT_TRUE(out);
  std::vector<double> a = x;
  for (int t = 0; t < 4; ++t)
    for (size_t i = 1; i + 1 < 9; ++i) a[i] = ((a[i - 1] + a[i]) + a[i + 1]) * 0.25;
  EXPECT_EQ(out->at("B"), a);
}

TEST(Interpret, GatherGuardAndBadIndex) {
  const Program p = parsed(samples::kPaged);
  const Sizes sizes{{"J", 3}, {"P", 4}, {"N", 2}};
  Buffers in{{"page", {3, 1, 99}}, {"len", {2}}, {"X", {0, 1, 2, 3, 4, 5, 6, 7}}};
  auto out = interpret(p, sizes, in);
  ASSERT_TRUE(out) << out.error().text();
  EXPECT_EQ(out->at("O"), (std::vector<double>{6 + 2, 7 + 3}));
  in["len"] = {3};  // now the bad page is used
  out = interpret(p, sizes, in);
  ASSERT_FALSE(out);
  EXPECT_NE(out.error().why.find("X[99]"), std::string::npos) << out.error().text();
}

TEST(Interpret, RoundsStoresAndRefusesBadCalls) {
  const Program p = parsed(samples::kMatmul);
  const Sizes one{{"N", 1}, {"M", 2}, {"K", 1}};
  const Buffers in{{"A", {1, 1}}, {"B", {1, 0x1p-30}}};
  EXPECT_EQ(interpret(p, one, in)->at("C")[0], 1 + 0x1p-30);
  InterpretOptions round;
  round.round_stores = true;
  EXPECT_EQ(interpret(p, one, in, round)->at("C")[0], 1);
  EXPECT_FALSE(interpret(p, {{"N", 1}}, in));
  EXPECT_FALSE(interpret(p, one, {{"A", {1}}, {"B", {1, 2}}}));
  EXPECT_FALSE(interpret(p, one, {{"A", {1, 1}}}));
  EXPECT_FALSE(interpret(p, {{"N", 1 << 20}, {"M", 2}, {"K", 1 << 20}}, in));
  InterpretOptions few;
  few.max_instances = 1;
  EXPECT_FALSE(interpret(p, one, in, few));
}

}  // namespace
}  // namespace nautilus::poly
