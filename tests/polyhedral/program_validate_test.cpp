// Every invariant of validate() is broken once; the message must name the place and the reason.
#include "program_samples.h"

namespace nautilus::poly {
namespace {

using samples::parsed;

struct BrokenProgram {
  const char *sample, *find, *replace, *why;
};

void PrintTo(const BrokenProgram& b, std::ostream* out) { *out << b.replace; }

class Validate : public testing::TestWithParam<BrokenProgram> {};

TEST_P(Validate, Refuses) {
  const BrokenProgram& c = GetParam();
  std::string text = c.sample;
  const size_t at = text.find(c.find);
  ASSERT_NE(at, std::string::npos);
  text.replace(at, std::string(c.find).size(), c.replace);
  const auto p = parse_naut(make_context(), text, "x.naut");
  ASSERT_TRUE(p) << p.error().text();
  const auto bad = validate(*p);
  ASSERT_TRUE(bad);
  EXPECT_NE(bad->text().find(c.why), std::string::npos) << bad->text();
}

using namespace samples;
INSTANTIATE_TEST_SUITE_P(
    Invariants, Validate,
    testing::Values(
        BrokenProgram{kMatmul, "-> A[i, j] }", "-> A[i + 1, j] }",
                      "S_C[0,0,0] touches A[1,0] (with K=1, M=1, N=1)"},
        BrokenProgram{kMatmul, "-> A[i, j] }", "-> A[j, i] }", "out of bounds"},
        BrokenProgram{kMatmul, "0 <= i < N and 0 <= k", "0 <= i and 0 <= k", "unbounded"},
        BrokenProgram{kMatmul, "N >= 0 and M", "M", "extent 0 of A is -1 (with"},
        BrokenProgram{kMatmul, "N >= 0 and M", "N >= 5 and N < 5 and M", "contradict"},
        BrokenProgram{kMatmul, "{ S_C[i, k, j] -> C[i, k] }",
                      "[K] -> { S_C[i, k, j] -> C[i, c] : 0 <= c < K }", "several elements"},
        BrokenProgram{kMatmul, "S_C[i, k, j] -> A[i, j] }", "S_C[i, k, j] -> A[i, j] : i > 0 }",
                      "read $0 of A is undefined at S_C[0,0,0]"},
        BrokenProgram{kMatmul, "{ S_C[i, k, j] -> A[i, j] }",
                      "[M] -> { S_C[i, k, j] -> A[i, a] : 0 <= a < M }", "several elements"},
        BrokenProgram{kMatmul, "over 2", "over 1", "depends on a reduced dimension"},
        BrokenProgram{kMatmul, "reduce sum over 2", "reduce sum",
                      "differ outside the reduced dimensions"},
        BrokenProgram{kMatmul, "reduce sum over 2", "",
                      "output C is not defined at C[0,0] (with K=1, M=0, N=1)"},
        BrokenProgram{kMatmul, "tensor A input f32", "tensor A temp f32", "A is never written"},
        BrokenProgram{kMatmul, "read A { S_C[i, k, j] -> A[i, j] }",
                      "read C { S_C[i, k, j] -> C[i, k] }", "cannot read the tensor it reduces"},
        BrokenProgram{kCausal, "S_O[i, d] : 0 <= i < N", "S_O[i, d] : 1 <= i < N",
                      "output O is not defined at O[0,0]"},
        BrokenProgram{kCausal, "0 <= j <= i }", "0 <= j < i }",
                      "read $0 of P has no value at S_l[0,1]"},
        BrokenProgram{kCausal, "write O { S_O[i, d] -> O[i, d] }",
                      "write O { S_O[i, d] -> O[d, i] }", "out of bounds"},
        BrokenProgram{kSeidel, "S_init[i] : 0 <= i < N", "S_init[i] : 0 <= i < N - 1",
                      "has no value at S_A[0,1] (with N=3, T=1)"}));

TEST(ValidateOrder, ReadBeforeTheReductionIsComplete) {
  const std::string text = R"(naut 1
program early
sizes N
where [N] -> { : N >= 0 }
tensor X input f32
  extent [N] -> { [(N)] }
tensor s temp f32
tensor y output f32
  extent [N] -> { [(N)] }
statement S_s(i)
  domain [N] -> { S_s[i] : 0 <= i < N }
  write s { S_s[i] -> s[] }
  read X { S_s[i] -> X[i] }
  expr $0
  reduce sum over 0
statement S_y(i)
  domain [N] -> { S_y[i] : 0 <= i < N }
  write y { S_y[i] -> y[i] }
  read s { S_y[i] -> s[] }
  expr $0
)";
  EXPECT_FALSE(validate(parsed(text)));
  const auto bad = validate(parsed(text + "original { domain: \"[N] -> { S_s[i] : 0 <= i < N; "
                                          "S_y[i] : 0 <= i < N }\", child: { schedule: \"[{ "
                                          "S_s[i] -> [(i)]; S_y[i] -> [(i)] }]\", child: { "
                                          "sequence: [ { filter: \"{ S_s[i] }\" }, { filter: \"{ "
                                          "S_y[i] }\" } ] } } }\n"));
  ASSERT_TRUE(bad);
  EXPECT_NE(bad->text().find("before the reduction S_s is complete, first at S_y[0]"),
            std::string::npos)
      << bad->text();
  // Both statements at once: no order between the write and the read.
  const auto together = validate(parsed(
      text + "original { domain: \"[N] -> { S_s[i] : 0 <= i < N; S_y[i] : 0 <= i < N }\" }\n"));
  EXPECT_TRUE(together);
}

TEST(ValidateOrder, OverwritesNeedAnOrder) {
  const std::string text = samples::kSeidel;
  const auto bad =
      validate(parsed(text + "original { domain: \"[N, T] -> { S_init[i] : 0 <= i < N; S_A[t, i] : "
                             "0 <= t < T and 1 <= i < N - 1; S_B[i] : 0 <= "
                             "i < N }\" }\n"));
  ASSERT_TRUE(bad);
  EXPECT_NE(bad->text().find("write one element of A with no order between them"),
            std::string::npos)
      << bad->text();
}

TEST(ValidateGuard, ReadersNeedTheGuard) {
  std::string text = samples::kPaged;
  text.replace(text.find("  reduce sum over 1\n"), 20, "");
  text.replace(text.find("write O { S_O[i, j] -> O[i] }"), 29, "write W { S_O[i, j] -> W[i, j] }");
  text.replace(
      text.find("tensor O output"), 15,
      "tensor W temp f32\n  extent [N] -> { [(N)] }\n  extent [J] -> { [(J)] }\ntensor O output");
  const std::string reader =
      "statement S_sum(i, j)\n  domain [N, J] -> { S_sum[i, j] : 0 <= i < N and 0 <= j < J }\n"
      "  write O { S_sum[i, j] -> O[i] }\n  read W { S_sum[i, j] -> W[i, j] }\n  read len { "
      "S_sum[i, j] -> len[] }\n"
      "  index { S_sum[i, j] -> [(j)] }\n  expr $0\n";
  const auto bad = validate(parsed(text + reader + "  reduce sum over 1\n"));
  ASSERT_TRUE(bad);
  EXPECT_NE(bad->text().find("has no guard"), std::string::npos) << bad->text();
  const auto good = validate(parsed(text + reader + "  guard #0 < $1:i32\n  reduce sum over 1\n"));
  EXPECT_FALSE(good) << good->text();
  // A stronger condition will do; another one will not, nor the same one of another instance.
  const auto stronger =
      validate(parsed(text + reader + "  guard 0 < $0 && #0 < $1:i32\n  reduce sum over 1\n"));
  EXPECT_FALSE(stronger) << stronger->text();
  std::string next = reader;
  next.replace(next.find("[(j)]"), 5, "[(j - 1)]");
  for (const std::string& other : {reader + "  guard #0 <= $1:i32\n", reader + "  guard 0 < $0\n",
                                   next + "  guard #0 < $1:i32\n"}) {
    const auto refused = validate(parsed(text + other + "  reduce sum over 1\n"));
    ASSERT_TRUE(refused) << other;
    EXPECT_NE(refused->why.find("runs under another condition"), std::string::npos)
        << refused->text();
    EXPECT_NE(refused->suggest.find("#0 = (j), $2 of len"), std::string::npos) << refused->text();
  }
}

TEST(ValidateLocation, NamesTheSourceLine) {
  std::string text = samples::kMatmul;
  text.replace(text.find("A[i, j] }"), 9, "A[i, j + 1] }");
  text += "  at 12 5 \"m.spec.cpp\"\n";
  EXPECT_EQ(validate(parsed(text))->where, "m.spec.cpp:12:5: S_C");
}

}  // namespace
}  // namespace nautilus::poly
