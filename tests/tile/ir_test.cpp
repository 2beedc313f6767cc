#include "compiler/tile/ir.h"

#include <bit>
#include <random>

#include "helpers.h"

namespace nautilus::tile {
namespace {

// Everything the text form can say, once.
const char* kEverything = R"t(module `odd name` {
  sizes N, M
  tensor A: f16[N, 64] input global
  tensor X: i32[N] input global
  tensor O: f32[N, 64] output global
  rewrite "some rule (exact)"
  note "V is assumed \"finite\""
  kernel k0 {
    comment "two\nlines \"quoted\""
    grid b < 4
    grid i0 < floor((N + 15)/16)
    buffer buf: f32[16, 64] temp shared
    values 40
    %0: f16[d: 64, i: 16] = load A[16*i0 + i, d] where (16*i0 + i <= N - 1) fill -inf @S_A:3
    %1: f32 = const 0.1
    %2: f32[d: 64, i: 16] = mul %0, %1 @`S A`
    %3: i32[i: 16] = iota 16*i0 + i @:7
    %4: i32[i: 16] = load X[16*i0 + i] where (16*i0 + i <= N - 1)
    %5: f16[d: 64, i: 16] = load A[%4, d]
    %6: f32[d: 64, i: 16] = cast %5
    %7: f32[d: 64, i: 16] = mask %2, %6 where (d <= i or 3 = d)
    %8: f32[i: 16] = reduce max %7 over (d)
    %9: f32[i: 16] = reduce user %7 over (d) combine "max(a, b)" identity "-inf"
    %10: f32[i: 16] = reduce sum %8 over (q) span (q: 5)
    %11: f32[k: 16] = rename %8 (i -> k)
    %12: f32[i: 16, k: 16] = add %10, %11
    %13: f32[i: 16] = dot %12, %11 over (k)
    %14: f32[i: 16], %15: f32 = for j0 in [0, min(M, i0)) step 2 carry (%16: f32[i: 16] = %13, %17: f32 = %1) {
      %18: f32[i: 16] = add %16, %17
      yield %18, %17
    }
    %19: f32[i: 16] = if (i0 <= 3) {
      %20: f32[i: 16] = exp2 %14
      yield %20
    } else {
      yield %14
    }
    %21: bool[i: 16] = lt %14, %1
    %22: bool = reduce any %21 over (i)
    %23: f32[i: 16], %24: f32 = if %22 @S_m {
      yield %19, %1
    } else {
      yield %1, %1
    }
    store buf[i, d] = %2
    barrier
    store O[16*i0 + i, d] = %19 span (d: 64) where (16*i0 + i <= N - 1) @S_O:9
  }
}
)t";

TEST(TileText, RoundTripIsExact) {
  Module m = module_of(kEverything);
  const std::string text = print(m);
  EXPECT_EQ(text, kEverything);
  EXPECT_EQ(print(module_of(text)), text);
  EXPECT_EQ(m.kernels[0].next_value, 40);
  EXPECT_EQ(m.kernels[0].body.body[3].node, 7);
  EXPECT_TRUE(std::isinf(m.kernels[0].body.body[0].value));
}

TEST(TileText, NumbersReadBackExactly) {
  std::mt19937_64 rng(3);
  for (int n = 0; n < 200; ++n) {
    Module m;
    m.name = "m";
    Kernel k;
    k.name = "k";
    Builder b(k, k.body);
    const double v = std::bit_cast<double>(rng());
    b.constant(v);
    m.kernels.push_back(k);
    auto back = parse(print(m));
    ASSERT_TRUE(back);
    const double w = back->kernels[0].body.body[0].value;
    ASSERT_TRUE(w == v || (std::isnan(v) && std::isnan(w))) << v;
  }
}

// Any change of bytes gives a module or a refusal, and a module that verifies can be run or
// refused.
TEST(TileText, SurvivesArbitraryBytes) {
  const std::string good = kEverything;
  int parsed = 0, verified = 0;
  for (uint64_t seed = 0; seed < 4000; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937_64 rng(seed);
    std::string s = good;
    for (uint64_t n = rng() % 4 + 1; n > 0 && !s.empty(); --n) {
      const size_t at = rng() % s.size(), to = rng() % s.size();
      switch (rng() % 5) {
        case 0:
          s[at] = char(rng());
          break;
        case 1:
          s.erase(at, rng() % 20);
          break;
        case 2:
          s.insert(at, s.substr(to, rng() % 30));
          break;
        case 3:
          s[at] = "0123456789%()[]{}:,`\"ij-"[rng() % 24];
          break;
        default:
          s.resize(at);
          break;
      }
    }
    auto m = parse(s);
    if (!m) {
      ASSERT_FALSE(m.error().why.empty());
      continue;
    }
    ++parsed;
    print(*m);
    if (verify(*m)) continue;
    ++verified;
    ASSERT_EQ(print(module_of(print(*m))), print(*m));
    InterpretOptions o;
    o.max_ops = 20000;
    (void)interpret(*m, {{"N", 20}, {"M", 3}}, random_inputs(*m, 1, {{"N", 20}, {"M", 3}}), o);
  }
  EXPECT_GT(parsed, 80);
  EXPECT_GT(verified, 20);
  EXPECT_FALSE(parse(std::string(100000, '{')));
  EXPECT_FALSE(parse(""));
  std::string deep = "module m { kernel k { values 0 ";
  for (int n = 0; n < 10000; ++n) deep += "if (true) {";
  EXPECT_FALSE(parse(deep));
}

TEST(TileText, ErrorsNameThePlace) {
  auto m =
      parse("module m {\n  kernel k {\n    values 3\n    %0: f32 = bogus %1\n  }\n}", "a.tile");
  ASSERT_FALSE(m);
  EXPECT_EQ(m.error().where.substr(0, 9), "a.tile:4:") << m.error().where;
  EXPECT_NE(m.error().why.find("bogus"), std::string::npos);
}

struct Bad {
  const char* name;
  const char* body;
  const char* why;
};
class TileVerify : public testing::TestWithParam<Bad> {};

// Each body is wrong in one way; the refusal says which.
TEST_P(TileVerify, Refuses) {
  const std::string text =
      std::string(
          "module m {\n  sizes N\n  tensor A: f32[N, 8] input global\n"
          "  tensor O: f32[N] output global\n  kernel k {\n    grid i0 < 4\n    values 99\n") +
      GetParam().body + "\n  }\n}\n";
  auto m = parse(text);
  ASSERT_TRUE(m) << m.error().text();
  auto r = verify(*m);
  ASSERT_TRUE(r) << text;
  EXPECT_NE(r->why.find(GetParam().why), std::string::npos) << r->text();
}
INSTANTIATE_TEST_SUITE_P(
    All, TileVerify,
    testing::Values(
        Bad{"use_before_definition", "%0: f32 = exp %1\n%1: f32 = const 1", "not defined"},
        Bad{"defined_twice",
            "%0: f32 = const 1\n if (true) {} else {}\n%1: f32 = const 1\n%2: f32 = for i0 in [0, "
            "2) step 1 carry (%3: f32 = %0) { yield %3 }",
            "bound twice"},
        Bad{"leaves_its_region", "if (true) { %0: f32 = const 1 } else { }\n%1: f32 = exp %0",
            "not defined"},
        Bad{"wrong_type", "%0: f32 = const 1\n%1: f16 = exp %0", "type should be f32"},
        Bad{"extents_disagree",
            "%0: f32[d: 8] = load A[i0, d]\n%1: f32[d: 4] = load A[i0, d]\n%2: f32[d: 8] = add %0, "
            "%1",
            "different extents"},
        Bad{"zero_lanes", "%0: f32[d: 0] = load A[i0, d]", "extent 0"},
        Bad{"too_many_lanes", "%0: f32[d: 9000000000] = load A[i0, d]", "too many lanes"},
        Bad{"unknown_tensor", "%0: f32 = load B[i0]", "unknown tensor"},
        Bad{"rank", "%0: f32 = load A[i0]", "dimensions"},
        Bad{"unknown_name", "%0: f32 = load A[i0, q]", "unknown name q"},
        Bad{"load_type", "%0: f16[d: 8] = load A[i0, d]", "element type"},
        Bad{"float_gather", "%0: f32 = const 1\n%1: f32 = load A[i0, %0]", "integer"},
        Bad{"store_to_input", "%0: f32 = const 1\nstore A[i0, 0] = %0", "store to input"},
        Bad{"store_type", "%0: f32 = const 1\n%1: f16 = cast %0\nstore O[i0] = %1", "element type"},
        Bad{"store_without_lanes", "%0: f32 = const 1\nstore O[i] = %0", "unknown name i"},
        Bad{"reduce_missing_axis", "%0: f32 = const 1\n%1: f32 = reduce sum %0 over (d)",
            "no axis d"},
        Bad{"dot_missing_axis",
            "%0: f32[d: 8] = load A[i0, d]\n%1: f32 = const 1\n%2: f32 = dot %0, %1 over (d)",
            "no axis d"},
        Bad{"user_reduce", "%0: f32[d: 8] = load A[i0, d]\n%1: f32 = reduce user %0 over (d)",
            "combine"},
        Bad{"user_reduce_vars",
            "%0: f32[d: 8] = load A[i0, d]\n%1: f32 = reduce user %0 over (d) combine \"a + c\" "
            "identity \"0\"",
            "a and b"},
        Bad{"rename_collision",
            "%0: f32[d: 8] = load A[i0, d]\n%1: f32[i: 8] = load A[i, 0]\n"
            "%2: f32[d: 8, i: 8] = add %0, %1\n%3: f32[i: 8] = rename %2 (d -> i)",
            "two axes"},
        Bad{"carried_type",
            "%0: i32 = iota 1\n%1: f32 = for j in [0, 2) step 1 carry (%2: f32 = %0) { yield %2 }",
            "another element type"},
        Bad{"carried_axes",
            "%0: f32[d: 8] = load A[i0, d]\n%1: f32 = for j in [0, 2) step 1 carry (%2: f32 = %0) "
            "{ yield %2 }",
            "axis d"},
        Bad{"yield_axes",
            "%0: f32 = const 1\n%1: f32 = for j in [0, 2) step 1 carry (%2: f32 = %0) { "
            "%3: f32[d: 8] = load A[i0, d]\n yield %3 }",
            "axis d"},
        Bad{"step", "for j in [0, 2) step 0 { }", "step"},
        Bad{"loop_bound_over_axis", "for j in [0, d) step 1 { }", "unknown name d"},
        Bad{"if_yields", "%0: f32 = const 1\n%1: f32 = if (true) { yield %0 } else { }",
            "differ in number"},
        Bad{"branch_on_number", "%0: f32 = const 1\nif %0 { } else { }", "scalar bool"},
        Bad{"branch_on_tile",
            "%0: f32[d: 8] = load A[i0, d]\n%1: bool[d: 8] = lt %0, %0\nif %1 { } else { }",
            "scalar bool"},
        Bad{"branch_on_later", "if %0 { } else { }\n%0: bool = const 1", "not defined"},
        Bad{"axis_is_iv", "%0: f32[i0: 8] = load A[0, i0]", "name of a loop variable"},
        Bad{"iv_is_size", "for N in [0, 2) step 1 { }", "name of a size"},
        Bad{"number_range", "%99: f32 = const 1", "value numbers"},
        Bad{"not_a_condition_operand",
            "%0: f32 = const 1\n%1: i32 = iota 0\n%2: f32 = mask %0, %1 where (i0 <= 1)",
            "different element types"}),
    [](const auto& p) { return std::string(p.param.name); });

TEST(TileBuilder, InfersTypes) {
  Kernel k;
  Builder b(k, k.body);
  b.axis_extents = {{"i", 4}, {"d", 8}};
  Instr load;
  load.code = Code::Load;
  load.tensor = "Q";
  load.index = {IndexExpr::var("i") + IndexExpr::var("i0") * 4, IndexExpr::var("d")};
  ValueId q = b.emit(load, Type::F16);
  EXPECT_EQ(to_string(k.types[q]), "f16[d: 8, i: 4]");
  ValueId s = b.map(Op::Mul, {q, q});
  EXPECT_EQ(to_string(k.types[s]), "f32[d: 8, i: 4]");
  EXPECT_EQ(to_string(k.types[b.reduce(poly::ReduceOp::Sum, s, {"d"})]), "f32[i: 4]");
  EXPECT_EQ(to_string(k.types[b.dot(q, q, {"d"}, Type::F32)]), "f32[i: 4]");
  EXPECT_EQ(to_string(k.types[b.cast(s, Type::BF16)]), "bf16[d: 8, i: 4]");
  EXPECT_EQ(b.cast(s, Type::F32), s);
  EXPECT_EQ(to_string(k.types[b.map(Op::Lt, {s, q})]), "bool[d: 8, i: 4]");
  EXPECT_EQ(to_string(k.types[b.rename(s, {{"d", "e"}})]), "f32[e: 8, i: 4]");
  // A sum of a constant over an axis it does not have runs over that axis.
  ValueId one = b.constant(1);
  ValueId n = b.reduce(poly::ReduceOp::Sum, one, {"d"});
  EXPECT_EQ(to_string(k.types[n]), "f32");
  ASSERT_EQ(k.body.body.back().span.size(), 1u);
  EXPECT_EQ(k.body.body.back().span[0].extent, 8);
}

TEST(TileBuilder, MalformedInstructionsAreLeftToVerify) {
  Module m;
  m.name = "m";
  Kernel k;
  k.name = "k";
  Builder b(k, k.body);
  EXPECT_GE(b.map(Op::Add, {77, 78}), 0);
  EXPECT_GE(b.reduce(poly::ReduceOp::Sum, 0, {"nowhere"}), 0);
  EXPECT_GE(b.map(Op::Select, {0}), 0);
  Instr f;
  f.code = Code::For;
  EXPECT_EQ(b.emit(f), -1);
  m.kernels.push_back(k);
  EXPECT_TRUE(verify(m));
}

}  // namespace
}  // namespace nautilus::tile
