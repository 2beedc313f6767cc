// Congruence, rewriting, extraction, limits; random merges against a closure computed by brute
// force.
#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <set>
#include <thread>

#include "polyhedral/egraph.h"

using namespace nautilus::egraph;

namespace {

const std::vector<Rewrite> kArithmetic = {
    {.name = "comm-add", .lhs = "(+ ?a ?b)", .rhs = "(+ ?b ?a)"},
    {.name = "comm-mul", .lhs = "(* ?a ?b)", .rhs = "(* ?b ?a)"},
    {.name = "assoc-add", .lhs = "(+ ?a (+ ?b ?c))", .rhs = "(+ (+ ?a ?b) ?c)"},
    {.name = "assoc-mul", .lhs = "(* ?a (* ?b ?c))", .rhs = "(* (* ?a ?b) ?c)"},
    {.name = "distribute", .lhs = "(* ?a (+ ?b ?c))", .rhs = "(+ (* ?a ?b) (* ?a ?c))"},
};

double cost_of_size(const ENode& n, const std::function<double(ClassId)>& child) {
  double sum = 1;
  for (ClassId c : n.children) sum += child(c);
  return sum;
}

}  // namespace

TEST(EGraph, HashConsesAndCloses) {
  EGraph g;
  const ClassId a = g.add("a"), b = g.add("b");
  const ClassId fa = g.add("f", {a}), fb = g.add("f", {b}), ffa = g.add("f", {fa}),
                ffb = g.add("f", {fb});
  EXPECT_EQ(fa, g.add("f", {a}));
  EXPECT_FALSE(g.same(ffa, ffb));
  EXPECT_TRUE(g.merge(a, b));
  EXPECT_FALSE(g.merge(b, a));
  g.rebuild();
  EXPECT_TRUE(g.same(fa, fb));
  EXPECT_TRUE(g.same(ffa, ffb));
  EXPECT_EQ(g.classes().size(), 3u);
  EXPECT_EQ(g.node_count(), 4u);  // a, b, f(a), f(f(a))
}

// f(f(a)) = a and f(f(f(a))) = a give f(a) = a.
TEST(EGraph, ClosesThroughCycles) {
  EGraph g;
  const ClassId a = g.add("a"), f1 = g.add("f", {a}), f2 = g.add("f", {f1}), f3 = g.add("f", {f2});
  g.merge(f2, a);
  g.merge(f3, a);
  g.rebuild();
  EXPECT_TRUE(g.same(f1, a));
  EXPECT_EQ(g.classes().size(), 1u);
}

TEST(EGraph, ProvesBySaturation) {
  EGraph g;
  const ClassId a = g.add("a"), b = g.add("b"), c = g.add("c");
  const ClassId left = g.add("*", {g.add("+", {a, b}), c});
  const ClassId right = g.add("+", {g.add("*", {c, b}), g.add("*", {a, c})});
  const ClassId wrong = g.add("+", {g.add("*", {c, b}), g.add("*", {a, b})});
  const RunReport r = saturate(g, kArithmetic);
  EXPECT_EQ(r.stop, Stop::Saturated);
  EXPECT_TRUE(g.same(left, right));
  EXPECT_FALSE(g.same(left, wrong));
  EXPECT_GT(r.fired.at("distribute"), 0);
}

TEST(EGraph, ConstantsFoldUpwards) {
  EGraph g;
  g.analysis.constant = [](const EGraph& e, const ENode& n) -> std::optional<double> {
    const std::string& s = symbol_name(n.symbol);
    if (s == "+" && n.children.size() == 2) {
      const auto a = e.constant(n.children[0]), b = e.constant(n.children[1]);
      if (a && b) return *a + *b;
      return std::nullopt;
    }
    if (n.children.empty() && std::isdigit(s[0])) return std::stod(s);
    return std::nullopt;
  };
  g.analysis.leaf = [](double v) { return ENode{intern(std::to_string(int(v))), {}}; };
  const ClassId x = g.add("x"), sum = g.add("+", {x, g.add("2")}), top = g.add("+", {sum, sum});
  EXPECT_FALSE(g.constant(top));
  g.merge(x, g.add("3"));
  g.rebuild();
  EXPECT_EQ(g.constant(sum), 5);
  EXPECT_EQ(g.constant(top), 10);
  EXPECT_TRUE(g.same(top, g.add("10")));
}

TEST(EGraph, ExtractsTheCheapest) {
  EGraph g;
  const ClassId a = g.add("a"), b = g.add("b"), c = g.add("c");
  const ClassId e = g.add("+", {g.add("*", {a, b}), g.add("*", {a, c})});
  std::vector<Rewrite> rules = kArithmetic;
  rules.push_back({.name = "factor", .lhs = "(+ (* ?a ?b) (* ?a ?c))", .rhs = "(* ?a (+ ?b ?c))"});
  saturate(g, rules);
  const Extractor x(g, cost_of_size);
  EXPECT_EQ(x.cost(e), 5);
  EXPECT_EQ(symbol_name(x.best(e).symbol), "*");
}

TEST(EGraph, ConditionsAndApply) {
  EGraph g;
  const ClassId x = g.add("x"), zero = g.add("0"), q = g.add("/", {x, x}),
                q0 = g.add("/", {zero, zero});
  const std::vector<Rewrite> rules = {
      {.name = "div-self",
       .lhs = "(/ ?a ?a)",
       .rhs = "1",
       .condition = [&](const EGraph& e, const Subst& s) { return !e.same(s.at("?a"), zero); }},
      {.name = "wrap", .lhs = "(/ ?a ?b)", .apply = [](EGraph& e, const Subst& s) {
         return e.add("div", {s.at("?a"), s.at("?b")});
       }}};
  saturate(g, rules);
  EXPECT_TRUE(g.same(q, g.add("1")));
  EXPECT_FALSE(g.same(q0, g.add("1")));
  EXPECT_TRUE(g.same(q0, g.add("div", {zero, zero})));
}

TEST(EGraph, LimitsStopTheRun) {
  EGraph g;
  ClassId e = g.add("x0");
  for (int i = 1; i < 14; ++i) e = g.add("+", {e, g.add("x" + std::to_string(i))});
  const RunReport nodes = saturate(g, kArithmetic, {.iterations = 30, .nodes = 500});
  EXPECT_EQ(nodes.stop, Stop::NodeLimit);
  EXPECT_LT(g.node_count(), 5000u);
  EGraph h;
  const ClassId a = h.add("a");
  h.add("f", {a});
  const std::vector<Rewrite> grow = {{.name = "grow", .lhs = "(f ?a)", .rhs = "(f (g ?a))"}};
  EXPECT_EQ(saturate(h, grow, {.iterations = 3, .nodes = 1000}).stop, Stop::IterationLimit);
}

TEST(EGraph, MalformedPatternsThrow) {
  EGraph g;
  g.add("a");
  for (const char* bad : {"(", "(f ?a", "f ?a", "", ")"})
    EXPECT_THROW(saturate(g, {{.name = "bad", .lhs = bad, .rhs = "a"}}), std::logic_error) << bad;
  EXPECT_THROW(saturate(g, {{.name = "unbound", .lhs = "(f ?a)", .rhs = "?b"}}), std::logic_error);
}

TEST(EGraph, SymbolsAreThreadSafe) {
  std::vector<std::thread> threads;
  for (int t = 0; t < 8; ++t)
    threads.emplace_back([] {
      for (int i = 0; i < 500; ++i) {
        const std::string name = "sym" + std::to_string(i);
        EXPECT_EQ(symbol_name(intern(name)), name);
      }
    });
  for (auto& t : threads) t.join();
}

// Random terms and merges: the classes equal the congruence closure computed by repeated scanning.
TEST(EGraph, AgreesWithBruteForceClosure) {
  const uint64_t seed = 17;
  std::mt19937_64 rng(seed);
  for (int round = 0; round < 200; ++round) {
    EGraph g;
    struct Term {
      int symbol;
      std::vector<size_t> args;
    };
    std::vector<Term> terms;
    std::vector<ClassId> ids;
    const auto add = [&](Term t) {
      std::vector<ClassId> args;
      for (size_t a : t.args) args.push_back(ids[a]);
      ids.push_back(g.add("s" + std::to_string(t.symbol), args));
      terms.push_back(std::move(t));
    };
    for (int i = 0; i < 4; ++i) add({i, {}});
    for (int i = 0; i < 24; ++i) {
      Term t{10 + int(rng() % 3), {rng() % terms.size()}};
      if (t.symbol > 10) t.args.push_back(rng() % terms.size());
      add(std::move(t));
    }
    std::vector<size_t> cls(terms.size());
    for (size_t i = 0; i < cls.size(); ++i) cls[i] = i;
    const auto join = [&](size_t a, size_t b) {
      const size_t from = cls[a], to = cls[b];
      for (size_t& c : cls)
        if (c == from) c = to;
      return from != to;
    };
    for (int i = 0; i < 4; ++i) {
      const size_t a = rng() % terms.size(), b = rng() % terms.size();
      join(a, b);
      g.merge(ids[a], ids[b]);
      if (i % 2) g.rebuild();
    }
    g.rebuild();
    for (bool changed = true; changed;) {
      changed = false;
      for (size_t i = 0; i < terms.size(); ++i)
        for (size_t j = 0; j < i; ++j) {
          bool eq =
              terms[i].symbol == terms[j].symbol && terms[i].args.size() == terms[j].args.size();
          for (size_t k = 0; eq && k < terms[i].args.size(); ++k)
            eq = cls[terms[i].args[k]] == cls[terms[j].args[k]];
          changed |= eq && join(i, j);
        }
    }
    for (size_t i = 0; i < terms.size(); ++i)
      for (size_t j = 0; j < i; ++j)
        ASSERT_EQ(g.same(ids[i], ids[j]), cls[i] == cls[j])
            << "seed " << seed << " round " << round;
    std::set<ClassId> distinct;
    for (ClassId c : ids) distinct.insert(g.find(c));
    ASSERT_EQ(distinct.size(), g.classes().size());
  }
}
