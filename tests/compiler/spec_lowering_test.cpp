// What specs mean: each feature of the language by its values (interpreted) and by the statements
// it becomes.
#include <gtest/gtest.h>

#include <cmath>

#include "compiler/spec/reader.h"

namespace {

using namespace nautilus;
using poly::Buffers;
using poly::Sizes;
using Vec = std::vector<double>;

struct Spec {
  poly::ContextPtr ctx = poly::make_context();
  std::optional<poly::Program> program;
  std::string diagnostics;

  Spec() = default;
  Spec(Spec&&) = default;
  // The program goes before the context that its sets live in.
  Spec& operator=(Spec&& o) {
    program = std::move(o.program);
    ctx = std::move(o.ctx);
    diagnostics = std::move(o.diagnostics);
    return *this;
  }
};
Spec read(const std::string& body, const std::string& before = "") {
  Spec s;
  spec::SpecResult r =
      spec::read_spec_text(s.ctx,
                           "#include <nautilus/spec.h>\nusing namespace nautilus::spec;\n" +
                               before + "\nNAUTILUS_KERNEL(k1) {\n" + body + "\n}\n",
                           "t.spec.cpp");
  s.diagnostics = r.diagnostics;
  if (r.ok && !r.kernels.empty()) s.program = r.kernels.front();
  return s;
}
Vec run(const Spec& s, const Sizes& sizes, const Buffers& in, const std::string& out = "O") {
  if (!s.program) {
    ADD_FAILURE() << s.diagnostics;
    return {};
  }
  const poly::Program demanded = poly::restrict_to_demanded(*s.program);
  auto a = poly::interpret(*s.program, sizes, in), b = poly::interpret(demanded, sizes, in);
  if (!a || !b) {
    ADD_FAILURE() << (a ? b.error() : a.error()).text();
    return {};
  }
  EXPECT_EQ(a->at(out), b->at(out));
  return a->at(out);
}
void near(const Vec& got, const Vec& want, double tolerance = 1e-6) {
  ASSERT_EQ(got.size(), want.size());
  for (size_t k = 0; k < got.size(); ++k) {
    if (std::isinf(want[k]))
      EXPECT_EQ(got[k], want[k]) << k;
    else
      EXPECT_NEAR(got[k], want[k], tolerance) << k;
  }
}
std::vector<std::string> statements(const Spec& s) {
  std::vector<std::string> out;
  if (s.program)
    for (const poly::Statement& x : s.program->statements) out.push_back(x.name);
  return out;
}
const std::string kHead = "Size N, M;\nInput X(f32, {N, M}), Y(f32, {N});\nIndex i(N), j(M);\n";
const Sizes k23{{"N", 2}, {"M", 3}};
const Vec kX{1, -2, 3, 0.5, 4, -1}, kY{10, 20};

TEST(SpecLowering, ReductionsOfEveryKind) {
  for (const auto& [text, want] : std::vector<std::pair<std::string, Vec>>{
           {"sum(j, X(i, j))", {2, 3.5}},
           {"prod(j, X(i, j))", {-6, -2}},
           {"max(j, X(i, j))", {3, 4}},
           {"min(j, X(i, j))", {-2, -1}},
           {"max(X(i, 0), Y(i))", {10, 20}},
           {"select(any(j, X(i, j) > 3), 1, 0)", {0, 1}},
           {"select(all(j, X(i, j) > -2), 1, 0)", {0, 1}},
           {"sum({j}, where(j < 2, X(i, j)))", {-1, 4.5}},
           {"sum(j, where(j != 1), X(i, j))", {4, -0.5}},
           {"sum(j, where(!(j == 1 || j > 1)), X(i, j))", {1, 0.5}},
           {"mean(j, X(i, j))", {2.0 / 3, 3.5 / 3}},
           {"mean(j, where(j >= 1), X(i, j))", {0.5, 1.5}},
           {"rms(j, X(i, j))", {std::sqrt(14.0 / 3), std::sqrt(17.25 / 3)}}}) {
    const Spec s = read(
        "Size N, M = at_least(1);\nInput X(f32, {N, M}), Y(f32, {N});\nIndex i(N), j(M);\nOutput "
        "O(f32, {N});\nO(i) = " +
        text + ";");
    SCOPED_TRACE(text);
    near(run(s, k23, {{"X", kX}, {"Y", kY}}), want);
  }
}

TEST(SpecLowering, NestedAndMultidimensional) {
  Spec s =
      read(kHead + "Output O(f32);\nO() = sum({i, j}, X(i, j)) + max(i, sum(j, X(i, j) * Y(i)));");
  near(run(s, k23, {{"X", kX}, {"Y", kY}}), {5.5 + 70});
  s = read(kHead +
           "Index ii(N);\nOutput O(f32, {N});\nO(i) = sum(j, X(i, j) * max(ii, X(ii, j)));");
  near(run(s, k23, {{"X", kX}, {"Y", kY}}), {1 - 8 + 9, 0.5 + 16 - 3});
}

TEST(SpecLowering, UserMonoid) {
  const Spec s = read(kHead +
                      "Monoid absmax(0, [](Value a, Value b) { return max(abs(a), abs(b)); "
                      "});\nOutput O(f32, {N});\nO(i) = reduce(absmax, j, X(i, j));");
  near(run(s, k23, {{"X", {1, -5, 3, 0.5, 4, -1}}, {"Y", kY}}), {5, 4});
  ASSERT_EQ(s.program->statements.size(), 1u);
  EXPECT_EQ(s.program->statements[0].reduction->op, poly::ReduceOp::User);
}

TEST(SpecLowering, PointwiseMathematics) {
  for (const auto& [text, f] : std::vector<std::pair<std::string, std::function<double(double)>>>{
           {"exp(y / 10)", [](double y) { return std::exp(y / 10); }},
           {"exp2(-y)", [](double y) { return std::exp2(-y); }},
           {"log(y) + log2(y)", [](double y) { return std::log(y) + std::log2(y); }},
           {"sqrt(y) * rsqrt(y + 1)", [](double y) { return std::sqrt(y) / std::sqrt(y + 1); }},
           {"tanh(y / 20) - erf(0.05 * y)",
            [](double y) { return std::tanh(y / 20) - std::erf(0.05 * y); }},
           {"sigmoid(y / 8)", [](double y) { return 1 / (1 + std::exp(-y / 8)); }},
           {"abs(-y) + recip(y)", [](double y) { return y + 1 / y; }},
           {"pow(y, 2) - y * N", [](double y) { return y * y - 2 * y; }},
           {"select(y > 15, -y, y) + floor(y / 3)",
            [](double y) { return (y > 15 ? -y : y) + std::floor(y / 3); }},
           {"min(y, 15.0) + max(-infinity, 2.5f) + pi",
            [](double y) { return std::min(y, 15.0) + 2.5 + 3.14159265358979; }},
           {"y / (N / 2) + N % 3", [](double y) { return y + 2; }},
           {"f16(y / 3)", [](double y) { return y / 3; }},
           {"f32(i32(y)) + f32(y > 15)", [](double y) { return y + (y > 15); }}}) {
    const Spec s = read(kHead + "Output O(f32, {N});\nValue y = Y(i);\nO(i) = " + text + ";");
    SCOPED_TRACE(text);
    near(run(s, k23, {{"X", kX}, {"Y", kY}}), {f(10), f(20)}, 2e-5);
  }
}

TEST(SpecLowering, CastsStay) {
  const Spec s =
      read(kHead + "Output O(f32, {N}), H(bf16, {N});\nO(i) = f16(Y(i) / 3);\nH(i) = Y(i);");
  ASSERT_TRUE(s.program) << s.diagnostics;
  EXPECT_EQ(to_string(s.program->statement("S_O")->expr), "f16($0 / 3)");
  EXPECT_EQ(to_string(s.program->statement("S_H")->expr), "bf16($0)");
}

TEST(SpecLowering, IndexValuesAndIntegers) {
  Spec s = read(kHead + "Output O(i32, {N, M});\nO(i, j) = max(j - 2 * i + 1, Value(0));");
  near(run(s, k23, {{"X", kX}, {"Y", kY}}), {1, 2, 3, 0, 0, 1});
  s = read(kHead +
           "Output O(f32, {N, M});\nO(i, j) = select(j <= i, X(i, j), f32((j - i) / 2 + j % 2));");
  near(run(s, k23, {{"X", kX}, {"Y", kY}}), {1, 1, 1, 0.5, 4, 0});
  s = read(
      "Size N;\nInput I(i32, {N}), J(i8, {N});\nIndex i(N);\nOutput O(i32, {N}), A(boolean);\nO(i) "
      "= I(i) * J(i) - N;\nA() = all(i, I(i) < N && J(i) >= 0);");
  near(run(s, {{"N", 2}}, {{"I", {1, -3}}, {"J", {4, 5}}}), {2, -17});
  near(run(s, {{"N", 2}}, {{"I", {1, -3}}, {"J", {4, 5}}}, "A"), {1});
}

TEST(SpecLowering, PartsOfAnOutput) {
  const Spec s = read(kHead +
                      "Output O(f32, {N, M});\nO(i, j) = softmax(j, where(j <= i), X(i, j));\nO(i, "
                      "j) = where(j > i, 0);");
  const double a = std::exp(0.5), b = std::exp(4.0);
  near(run(s, k23, {{"X", kX}, {"Y", kY}}), {1, 0, 0, a / (a + b), b / (a + b), 0});
}

TEST(SpecLowering, PartialValuesRestrictWhatReadsThem) {
  const Spec s = read(kHead +
                      "Tensor T(f32);\nOutput O(f32, {N});\nT(i, j) = where(j < i + 1, X(i, "
                      "j));\nO(i) = sum(j, 2 * T(i, j) + 1);");
  near(run(s, k23, {{"X", kX}, {"Y", kY}}), {3, 11});
}

TEST(SpecLowering, ShiftedReadsUnderARestriction) {
  const Spec s = read(kHead +
                      "Output O(f32, {N, M});\nO(i, j) = where(j >= 1, X(i, j) - X(i, j - "
                      "1));\nO(i, j) = where(j == 0, X(i, 0));");
  near(run(s, k23, {{"X", kX}, {"Y", kY}}), {1, -3, 5, 0.5, 3.5, -5});
}

TEST(SpecLowering, ReductionsInsideARestrictionStayInside) {
  const Spec s = read(
      "Size N, M;\nInput X(f32, {N, M});\nIndex i(N), j(M);\nOutput O(f32, {N});\nO(i) = where(i "
      ">= 1, sum(j, X(i - 1, j)));\nO(i) = where(i == 0, -1);");
  near(run(s, k23, {{"X", kX}}), {-1, 2});
}

TEST(SpecLowering, DataDependentConditions) {
  const Spec s =
      read(kHead +
           "Input L(i32, {N});\nOutput O(f32, {N}), E(f32, {N});\nO(i) = sum(j, where(j < L(i) && "
           "X(i, j) > 0), X(i, j));\nE(i) = logsumexp(j, where(j < L(i)), X(i, j));");
  const Buffers in{{"X", kX}, {"Y", kY}, {"L", {3, 0}}};
  near(run(s, k23, in), {4, 0});
  near(run(s, k23, in, "E"), {std::log(std::exp(1.0) + std::exp(-2.0) + std::exp(3.0)), -INFINITY});
}

TEST(SpecLowering, IndirectIndices) {
  Spec s =
      read(kHead + "Input I(i32, {N});\nOutput O(f32, {N});\nO(i) = X(i, I(i)) + Y(I(i) / 2);");
  EXPECT_FALSE(s.program);  // I(i) / 2 is no index and no integer division
  s = read(kHead + "Input I(i32, {N});\nOutput O(f32, {N});\nO(i) = X(i, I(i)) + 3 * Y(I(i) - 1);");
  near(run(s, k23, {{"X", kX}, {"Y", kY}, {"I", {1, 2}}}), {-2 + 30, -1 + 60});
}

TEST(SpecLowering, ScalarsAndDoubles) {
  const Spec s = read(
      "Size N;\nInput X(f64, {N}), a(f32), b(f64);\nIndex i(N);\nOutput O(f64, {N}), S(f64);\nO(i) "
      "= a * X(i) + b() + 0.1;\nS() = sum(i, X(i));");
  near(run(s, {{"N", 2}}, {{"X", {1e-17, 3}}, {"a", {2}}, {"b", {1}}}), {1.1 + 2e-17, 7.1}, 1e-15);
  EXPECT_EQ(s.program->scalars, (std::vector<std::string>{"a", "b"}));
  EXPECT_EQ(s.program->statement("S_S")->expr->type, Type::F64);
}

TEST(SpecLowering, SoftmaxBecomesTextbookStatements) {
  const Spec s = read(kHead + "Output O(f16, {N, M});\nO(i, j) = softmax(j, X(i, j));");
  EXPECT_EQ(statements(s), (std::vector<std::string>{"S_O_max", "S_O_exp", "S_O_sum", "S_O"}));
}

TEST(SpecLowering, AReductionIsOneStatementWhereTypesAgree) {
  EXPECT_EQ(statements(read(kHead + "Output O(f32, {N});\nO(i) = sum(j, X(i, j));")),
            (std::vector<std::string>{"S_O"}));
  EXPECT_EQ(statements(read(kHead + "Output O(f16, {N});\nO(i) = sum(j, X(i, j));")),
            (std::vector<std::string>{"S_O_acc", "S_O"}));
  EXPECT_EQ(statements(read(kHead + "Output O(f32, {N});\nO(i) = sum(j, X(i, j)) / M;")),
            (std::vector<std::string>{"S_O_sum", "S_O"}));
  // Equal reductions are one.
  EXPECT_EQ(statements(read(
                kHead + "Output O(f32, {N});\nO(i) = sum(j, X(i, j)) / (1 + sum(j, X(i, j)));")),
            (std::vector<std::string>{"S_O_sum", "S_O"}));
}

TEST(SpecLowering, NamedValuesAreComputedOnceWhereThatMatters) {
  // Varies less than its reader: a tensor. Same indices: written out.
  EXPECT_EQ(statements(read(
                kHead + "Output O(f32, {N, M});\nValue m = exp(Y(i));\nO(i, j) = X(i, j) * m;")),
            (std::vector<std::string>{"S_m", "S_O"}));
  EXPECT_EQ(
      statements(read(kHead + "Output O(f32, {N, M});\nValue m = exp(X(i, j));\nO(i, j) = m * m;")),
      (std::vector<std::string>{"S_O"}));
}

TEST(SpecLowering, OrderOfDefinitionsIsFree) {
  const Spec s = read(kHead +
                      "Tensor A(f32), B(f32);\nOutput O(f32, {N});\nO(i) = B(i) + A(i);\nB(i) = 2 "
                      "* A(i);\nA(i) = Y(i);");
  near(run(s, k23, {{"X", kX}, {"Y", kY}}), {30, 60});
  EXPECT_EQ(statements(s), (std::vector<std::string>{"S_A", "S_B", "S_O"}));
}

TEST(SpecLowering, FunctionsLambdasConstantsAndSharedDeclarations) {
  const Spec s = read(
      "Output O(f32, {N});\nIndex i(N), j(M);\nauto twice = [](Value x) { return 2 * x; "
      "};\nconstexpr double c = 0.25;\nint n = 3;\n"
      "O(i) = twice(row_sum(X, i, j)) * c + shift(1) + n * 1.0;",
      "Size N, M;\nInput X(f32, {N, M});\n"
      "static Value row_sum(const Tensor& T, Index i, Index j) { Where w = where(j < 2); return "
      "sum(j, w, T(i, j)); }\n"
      "template <class T> Value shift(T x, double by = 0.5) { Value y = x + by; return y * y; }\n");
  near(run(s, k23, {{"X", kX}}), {-0.5 + 2.25 + 3, 2.25 + 2.25 + 3});
}

TEST(SpecLowering, FactsAndTypicalSizes) {
  const Spec s = read(
      "Size N = multiple_of(8).at_most(64).typical(16), M = at_least(N).typical(20), K = "
      "equal_to(N + 2);\nInput X(f32, {M});\nOutput O(f32, {N});\nIndex i(N);\nO(i) = X(i);");
  ASSERT_TRUE(s.program) << s.diagnostics;
  EXPECT_EQ(s.program->typical, (Sizes{{"N", 16}, {"M", 20}}));
  EXPECT_TRUE(poly::bind_sizes(*s.program, {{"N", 16}, {"M", 16}, {"K", 18}}));
  EXPECT_FALSE(poly::bind_sizes(*s.program, {{"N", 12}}));
  EXPECT_FALSE(poly::bind_sizes(*s.program, {{"N", 72}}));
  EXPECT_FALSE(poly::bind_sizes(*s.program, {{"N", 16}, {"M", 15}}));
}

TEST(SpecLowering, EmptyAndOddSizes) {
  const Spec s = read(kHead +
                      "Output O(f32, {N}), L(f32, {N});\nO(i) = sum(j, softmax(j, X(i, j)) * X(i, "
                      "j));\nL(i) = max(j, X(i, j));");
  near(run(s, {{"N", 2}, {"M", 0}}, {{"X", {}}, {"Y", kY}}), {0, 0});
  near(run(s, {{"N", 2}, {"M", 0}}, {{"X", {}}, {"Y", kY}}, "L"), {-INFINITY, -INFINITY});
  near(run(s, {{"N", 0}, {"M", 7}}, {{"X", {}}, {"Y", {}}}), {});
  near(run(s, {{"N", 1}, {"M", 1}}, {{"X", {5}}, {"Y", {1}}}), {5});
}

TEST(SpecLowering, InterleavedLeftSides) {
  const Spec s = read(
      "Size N;\nInput Y(f32, {N});\nIndex i(N);\nOutput O(f32, {2 * N});\nO(2 * i) = Y(i);\nO(2 * "
      "i + 1) = -Y(i);");
  near(run(s, {{"N", 2}}, {{"Y", kY}}), {10, -10, 20, -20});
}

TEST(SpecLowering, StatementsKnowTheirLine) {
  const Spec s = read(kHead + "Output O(f32, {N});\nO(i) = sum(j, X(i, j)) / M;");
  ASSERT_TRUE(s.program) << s.diagnostics;
  const poly::Statement* sum = s.program->statement("S_O_sum");
  ASSERT_NE(sum, nullptr);
  EXPECT_EQ(sum->loc.line, 9);
  EXPECT_EQ(sum->loc.column, 8);
  EXPECT_NE(sum->loc.file.find("t.spec.cpp"), std::string::npos);
}

}  // namespace
