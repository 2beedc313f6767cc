// Text form: exact round trips, errors, arbitrary bytes, deep nesting; interning under threads.
#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <thread>

#include "polyhedral/expr.h"

using namespace nautilus;

namespace {

// A random expression, with odd names and values.
Expr random_expr(std::mt19937_64& rng, int depth) {
  const auto pick = [&](int n) { return int(rng() % uint64_t(n)); };
  if (depth == 0 || pick(6) == 0) {
    static const double values[] = {0,       -0.0, 1,        -2.5,      0.1,     1e300,
                                    -1e-310, NAN,  INFINITY, -INFINITY, 3.14159, 1.0 / 3};
    static const char* names[] = {"x",   "m'",   "inf", "nan",  "exp", "f16",
                                  "a b", "`q\\", "",    "T_d1", "é"};
    const Type t = Type(pick(9));
    switch (pick(5)) {
      case 0:
        return Expr::constant(values[pick(12)], t);
      case 1:
        return Expr::var(names[pick(11)], t);
      case 2:
        return Expr::read(pick(12), t);
      case 3:
        return Expr::index(pick(12));
      default:
        return Expr::param(names[pick(11)]);
    }
  }
  const Op op = Op(int(Op::Neg) + pick(int(Op::Select) - int(Op::Neg) + 1));
  if (op == Op::Cast) return Expr::cast(random_expr(rng, depth - 1), Type(pick(9)));
  std::vector<Expr> args;
  for (int i = 0; i < op_arity(op); ++i) args.push_back(random_expr(rng, depth - 1));
  return Expr::make(op, args);
}

}  // namespace

TEST(ExprText, Examples) {
  const Expr r0 = Expr::var("r0"), c = Expr::read(1, Type::F32);
  EXPECT_EQ(to_string(exp(r0 - c) * Expr::constant(0.125)), "exp(r0 - $1) * 0.125");
  EXPECT_EQ(to_string((r0 - c) - (c - r0)), "r0 - $1 - ($1 - r0)");
  EXPECT_EQ(to_string(-(r0 * c)), "-(r0 * $1)");
  EXPECT_EQ(to_string(-Expr::constant(2)), "-(2)");
  EXPECT_EQ(to_string(Expr::cast(r0, Type::F16)), "f16(r0)");
  EXPECT_EQ(*parse_expr("exp((r0 - $1)) * 0x1p-3:f32"), exp(r0 - c) * Expr::constant(0.125));
  EXPECT_EQ(*parse_expr(" a >= b "), Expr::make(Op::Le, {Expr::var("b"), Expr::var("a")}));
  EXPECT_EQ(to_string(Expr()), "<none>");
}

TEST(ExprText, RoundTripIsExact) {
  const uint64_t seed = 11;
  std::mt19937_64 rng(seed);
  for (int i = 0; i < 4000; ++i) {
    const Expr e = random_expr(rng, 6);
    const auto back = parse_expr(to_string(e));
    ASSERT_TRUE(back) << "seed " << seed << ": " << to_string(e) << ": " << back.error().text();
    ASSERT_EQ(*back, e) << "seed " << seed << ": " << to_string(e);
  }
}

TEST(ExprText, ErrorsNameTheColumn) {
  const std::pair<const char*, const char*> cases[] = {
      {"", "column 1"},         {"a +", "column 4"},       {"(a", "column 3"},
      {"a b", "column 3"},      {"foo(x)", "column 1"},    {"exp(a, b)", "takes 1"},
      {"x:f8", "no type 'f8'"}, {"$", "column 2"},         {"$-1", "column 2"},
      {"`abc", "column 5"},     {"a < b < c", "column 7"}, {"1e999", "does not fit"},
      {"@", "expected a name"}, {"var(x)", "no function"}, {"max()", "expected a value"}};
  for (const auto& [text, part] : cases) {
    const auto e = parse_expr(text);
    ASSERT_FALSE(e) << text;
    EXPECT_NE(e.error().text().find(part), std::string::npos) << text << " -> " << e.error().text();
  }
}

TEST(ExprText, ArbitraryBytesNeverCrash) {
  const uint64_t seed = 3;
  std::mt19937_64 rng(seed);
  const std::string alphabet = "()+-*/<>=!&|,:$#@`\\ '.0123456789abefinxp\xff\x80";
  for (int i = 0; i < 30000; ++i) {
    std::string s;
    for (int k = int(rng() % 40); k > 0; --k)
      s += i % 3 ? alphabet[rng() % alphabet.size()] : char(rng() & 255);
    const auto e = parse_expr(s);
    if (e) {
      ASSERT_EQ(*parse_expr(to_string(*e)), *e) << "seed " << seed << ": " << s;
    }
  }
}

TEST(ExprText, DeepNestingIsRefused) {
  for (const auto& [open, close] :
       {std::pair("(", ")"), {"-", ""}, {"exp(", ")"}, {"x + ", ""}, {"max(1, ", ")"}}) {
    for (int n : {100, 200000}) {
      std::string s;
      for (int i = 0; i < n; ++i) s += open;
      s += "x";
      for (int i = 0; i < n; ++i) s += close;
      const auto e = parse_expr(s);
      EXPECT_EQ(bool(e), n == 100) << open;
      if (!e) {
        EXPECT_NE(e.error().why.find("nested deeper"), std::string::npos);
      }
    }
  }
}

TEST(ExprNodes, InternedAcrossThreads) {
  std::vector<Expr> got(8);
  std::vector<std::thread> threads;
  for (size_t t = 0; t < got.size(); ++t)
    threads.emplace_back([&got, t] {
      for (int round = 0; round < 40; ++round) {
        Expr e = Expr::var("x");
        for (int i = 0; i < 50; ++i) e = exp(e + Expr::constant(i + (round % 5)));
        got[t] = e;
      }
    });
  for (auto& t : threads) t.join();
  for (const Expr& e : got) EXPECT_EQ(e, got[0]);
}

TEST(ExprNodes, HashesAndOrderAreStable) {
  const Expr a = Expr::var("a"), b = Expr::var("b");
  EXPECT_NE((a + b)->hash, (b + a)->hash);
  EXPECT_EQ((a + b)->hash, (Expr::var("a") + Expr::var("b"))->hash);
  EXPECT_NE((a < b), (b < a));
  EXPECT_FALSE(a < a);
  EXPECT_TRUE(Expr() < a);
  EXPECT_NE(Expr::constant(0.0), Expr::constant(-0.0));
  EXPECT_EQ(Expr::constant(NAN), Expr::constant(-NAN));
}

TEST(ExprNodes, DeepExpressionsAreFreedWithoutRecursion) {
  Expr e = Expr::var("x");
  for (int i = 0; i < 100000; ++i) e = -e;
  EXPECT_EQ(e->depth, 100001u);
  e = Expr();
}

TEST(ExprNodes, SubstituteRetypes) {
  const Expr x = Expr::var("x", Type::I32), e = x + Expr::constant(1, Type::I32);
  EXPECT_EQ(e->type, Type::I32);
  const Expr s = substitute(e, {{"x", Expr::var("y", Type::F64)}});
  EXPECT_EQ(s->type, Type::F64);
  EXPECT_TRUE(contains_var(s, "y"));
  EXPECT_EQ(free_vars(s), std::vector<std::string>{"y"});
  // A shared DAG of 2^60 tree nodes is handled by distinct subterms.
  Expr d = Expr::var("x");
  for (int i = 0; i < 60; ++i) d = d + d;
  int count = 0;
  visit(d, [&](const Expr&) { ++count; });
  EXPECT_EQ(count, 61);
  EXPECT_EQ(evaluate(substitute(d, {{"x", Expr::constant(1)}}), {}), 0x1p60);
}

TEST(ExprSimplify, Rules) {
  const std::pair<const char*, const char*> cases[] = {{"x + 0", "x"},
                                                       {"0 + x", "x"},
                                                       {"x * 1", "x"},
                                                       {"1 * x", "x"},
                                                       {"x / 1", "x"},
                                                       {"-(-x)", "x"},
                                                       {"2 * 3 + x", "6 + x"},
                                                       {"x + -y", "x - y"},
                                                       {"x - -y", "x + y"},
                                                       {"select(1:bool, x, y)", "x"},
                                                       {"select(a < b, x, x)", "x"},
                                                       {"max(x, x)", "x"},
                                                       {"f32(x)", "x"},
                                                       {"f16(f32(x:f16))", "x:f16"},
                                                       {"x:f16 + 0", "f32(x:f16)"},
                                                       {"exp(0)", "1"},
                                                       {"x * 0", "x * 0"},
                                                       {"x - x", "x - x"},
                                                       {"1 / 0", "1 / 0"},
                                                       {"f16(f32(x:f64))", "f16(f32(x:f64))"},
                                                       {"not(not(a < b))", "a < b"},
                                                       {"a < b && 1:bool", "a < b"},
                                                       {"a < b || 1:bool", "1:bool"}};
  for (const auto& [in, out] : cases) EXPECT_EQ(to_string(simplify(*parse_expr(in))), out) << in;
}

// Simplification keeps values, on random expressions over finite inputs.
TEST(ExprSimplify, KeepsValues) {
  const uint64_t seed = 5;
  std::mt19937_64 rng(seed);
  for (int i = 0; i < 4000; ++i) {
    const Expr e = random_expr(rng, 5), s = simplify(e);
    // f32 arithmetic is evaluated in double, where a cast from f32 to f32 rounds though it does
    // nothing.
    bool idle_cast = false;
    visit(e, [&](const Expr& c) { idle_cast |= c->op == Op::Cast && c->args[0]->type == c->type; });
    if (idle_cast) continue;
    EvalEnv env;
    const double x = double(rng() % 2);  // a value of every type
    for (const auto& v : free_vars(e)) env.vars[v] = x;
    env.read = [](int k) { return double(k % 2); };
    env.index = [&](int k) { return double(k); };
    env.param = [&](const std::string&) { return 4.0; };
    const double a = evaluate(e, env), b = evaluate(s, env);
    ASSERT_TRUE(a == b || (std::isnan(a) && std::isnan(b)) ||
                std::abs(a - b) <= 1e-12 * std::abs(a))
        << "seed " << seed << ": " << to_string(e) << " = " << a << ", " << to_string(s) << " = "
        << b;
    ASSERT_EQ(e->type, s->type) << to_string(e);
  }
}

TEST(ExprEval, Semantics) {
  const auto v = [](const char* t) { return evaluate(*parse_expr(t), {}); };
  EXPECT_EQ(v("2147483647:i32 + 1:i32"), -2147483648.0);
  EXPECT_EQ(v("65536:i32 * 65537:i32"), 65536);
  EXPECT_EQ(v("1:i32 / 2:i32"), 0.5);
  EXPECT_EQ(v("max(nan, 3)"), 3);
  EXPECT_EQ(v("select(1 < 2, 5, 1 / 0)"), 5);
  EXPECT_EQ(v("f16(65520)"), INFINITY);
  EXPECT_EQ(v("sigmoid(0)"), 0.5);
  EXPECT_EQ(v("exp(-inf)"), 0);
  EXPECT_EQ(v("recip(4) + rsqrt(4)"), 0.75);
  EvalEnv env;
  env.round_casts = false;
  EXPECT_EQ(evaluate(*parse_expr("f16(0.1)"), env), 0.1);
}

TEST(Refusals, Text) {
  EXPECT_EQ((Refusal{"tile band 7", "S_m", "no such node", "see the tree"}.text()),
            "tile band 7: S_m: no such node (try: see the tree)");
  EXPECT_EQ((Refusal{"a", "", "b", ""}.text()), "a: b");
}
