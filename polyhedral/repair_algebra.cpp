// Real algebra by equality saturation: proofs of identities and rewriting of names out of
// expressions.
#include <charconv>
#include <cmath>
#include <limits>
#include <mutex>
#include <unordered_map>

#include "polyhedral/egraph.h"
#include "polyhedral/repair_internal.h"

namespace nautilus::poly::algebra {
namespace {

using egraph::ClassId;
using egraph::EGraph;
using egraph::ENode;
using egraph::Rewrite;
using egraph::Subst;

// Subtraction, division and the like are written with neg and inv, so that few rules suffice.
// Leaves: "#<hex float>", "v:<name>" (with its type after a blank), "@<size>".
std::string constant_symbol(double v) {
  char buf[64];
  const auto r = std::to_chars(buf, buf + sizeof buf, v, std::chars_format::hex);
  return "#" + std::string(buf, r.ptr);
}

double constant_of(std::string_view symbol) {
  double v = 0;
  std::from_chars(symbol.data() + 1, symbol.data() + symbol.size(), v, std::chars_format::hex);
  if (symbol == "#inf") v = std::numeric_limits<double>::infinity();
  if (symbol == "#-inf") v = -std::numeric_limits<double>::infinity();
  return v;
}

std::optional<double> fold(const EGraph& g, const ENode& n) {
  const std::string& s = egraph::symbol_name(n.symbol);
  if (s[0] == '#') return constant_of(s);
  double a[2] = {0, 0};
  if (n.children.empty() || n.children.size() > 2) return std::nullopt;
  for (size_t i = 0; i < n.children.size(); ++i) {
    const auto c = g.constant(n.children[i]);
    if (!c) return std::nullopt;
    a[i] = *c;
  }
  double v = std::numeric_limits<double>::quiet_NaN();
  if (s == "add")
    v = a[0] + a[1];
  else if (s == "mul")
    v = a[0] * a[1];
  else if (s == "neg")
    v = -a[0];
  else if (s == "inv")
    v = 1 / a[0];
  else if ((s == "exp" || s == "exp2") && a[0] == 0)
    v = 1;
  else if ((s == "log" || s == "log2") && a[0] == 1)
    v = 0;
  if (!std::isfinite(v)) return std::nullopt;
  return v == 0 ? 0 : v;  // no negative zero
}

class Algebra {
 public:
  explicit Algebra(const Ranges& ranges) : ranges_(ranges) {
    graph.analysis.constant = fold;
    graph.analysis.leaf = [](double v) { return ENode{egraph::intern(constant_symbol(v)), {}}; };
  }
  EGraph graph;

  ClassId add(const Expr& e) {
    if (auto it = ids_.find(&*e); it != ids_.end()) return it->second;
    const ClassId c = add_new(e);
    ids_.emplace(&*e, c);
    return c;
  }

  bool positive(ClassId c, int depth = 4) const { return holds(c, depth, true); }
  bool nonzero(ClassId c, int depth = 4) const { return holds(c, depth, false); }

  std::vector<Rewrite> rules() const;
  Expr read_back(const egraph::Extractor& x, ClassId c) const;

 private:
  const Ranges& ranges_;
  std::map<const ExprNode*, ClassId> ids_;

  ClassId constant(double v) { return graph.add(constant_symbol(v)); }

  ClassId add_new(const Expr& e) {
    switch (e->op) {
      case Op::Const:
        return constant(e->value);
      case Op::Var:
        return graph.add("v:" + std::string(type_name(e->type)) + " " + e->name);
      case Op::Param:
        return graph.add("@" + e->name);
      default:
        break;
    }
    std::vector<ClassId> a;
    for (const Expr& x : e->args) a.push_back(add(x));
    switch (e->op) {
      case Op::Sub:
        return graph.add("add", {a[0], graph.add("neg", {a[1]})});
      case Op::Div:
        return graph.add("mul", {a[0], graph.add("inv", {a[1]})});
      case Op::Recip:
        return graph.add("inv", a);
      case Op::Rsqrt:
        return graph.add("inv", {graph.add("sqrt", a)});
      case Op::Sigmoid:
        return graph.add(
            "inv", {graph.add("add", {constant(1), graph.add("exp", {graph.add("neg", {a[0]})})})});
      case Op::Cast: {
        const Type from = e->args[0]->type;
        const bool widening = is_float(e->type) && type_bytes(e->type) >= 4 &&
                              type_bytes(e->type) >= type_bytes(from);
        return widening ? a[0] : graph.add("cast:" + std::string(type_name(e->type)), a);
      }
      case Op::Pow: {
        const Expr& n = e->args[1];
        if (n->op != Op::Const || n->value != std::floor(n->value) || n->value < 1 || n->value > 4)
          break;
        ClassId p = a[0];
        for (int i = 1; i < static_cast<int>(n->value); ++i) p = graph.add("mul", {a[0], p});
        return p;
      }
      default:
        break;
    }
    return graph.add(op_name(e->op), a);
  }

  // Positive (or merely nonzero) for every value in range, judged from any of the class's forms.
  bool holds(ClassId c, int depth, bool pos) const {
    if (const auto k = graph.constant(c)) return pos ? *k > 0 : *k != 0;
    if (depth == 0) return false;
    for (const ENode& n : graph.nodes(graph.find(c))) {
      const std::string& s = egraph::symbol_name(n.symbol);
      const auto all = [&](bool want_positive) {
        for (ClassId k : n.children)
          if (!holds(k, depth - 1, want_positive)) return false;
        return true;
      };
      if (s == "exp" || s == "exp2") return true;
      if (s[0] == 'v' && s[1] == ':' && fact(s.substr(s.find(' ') + 1), pos)) return true;
      if (s[0] == '@' && (fact(s, pos) || !ranges_.contains(s)))
        return true;  // sizes of what is not empty
      if ((s == "mul" || s == "inv" || s == "sqrt") && all(pos)) return true;
      if (s == "neg" && !pos && all(false)) return true;
      if (s == "add" && all(true)) return true;
    }
    return false;
  }

  bool fact(const std::string& name, bool pos) const {
    const auto it = ranges_.find(name);
    if (it == ranges_.end()) return false;
    const ValueRange& r = it->second;
    return pos ? r.lo > 0 || (r.lo >= 0 && r.excludes_zero)
               : r.excludes_zero || r.lo > 0 || r.hi < 0;
  }
};

std::vector<Rewrite> Algebra::rules() const {
  const auto if_positive = [this](std::vector<std::string> vars) {
    return [this, vars](const EGraph&, const Subst& s) {
      for (const auto& v : vars)
        if (!positive(s.at(v))) return false;
      return true;
    };
  };
  const auto if_nonzero = [this](const std::string& v) {
    return [this, v](const EGraph&, const Subst& s) { return nonzero(s.at(v)); };
  };
  const std::string zero = constant_symbol(0), one = constant_symbol(1);
  std::vector<Rewrite> r;
  const auto rule = [&](std::string name, std::string lhs, std::string rhs) {
    r.push_back({.name = std::move(name), .lhs = std::move(lhs), .rhs = std::move(rhs)});
  };
  const auto rule_if = [&](std::string name, std::string lhs, std::string rhs,
                           std::function<bool(const EGraph&, const Subst&)> cond) {
    r.push_back({.name = std::move(name),
                 .lhs = std::move(lhs),
                 .rhs = std::move(rhs),
                 .condition = std::move(cond)});
  };
  rule("add-0", "(add ?a " + zero + ")", "?a");
  rule("mul-1", "(mul ?a " + one + ")", "?a");
  rule("mul-0", "(mul ?a " + zero + ")", zero);
  rule("cancel-add", "(add ?a (neg ?a))", zero);
  rule_if("cancel-mul", "(mul ?a (inv ?a))", one, if_nonzero("?a"));
  rule("neg-neg", "(neg (neg ?a))", "?a");
  rule("inv-inv", "(inv (inv ?a))", "?a");
  rule("neg-add", "(neg (add ?a ?b))", "(add (neg ?a) (neg ?b))");
  rule("neg-mul", "(neg (mul ?a ?b))", "(mul (neg ?a) ?b)");
  rule("mul-neg", "(mul (neg ?a) ?b)", "(neg (mul ?a ?b))");
  rule("inv-mul", "(inv (mul ?a ?b))", "(mul (inv ?a) (inv ?b))");
  rule("mul-inv", "(mul (inv ?a) (inv ?b))", "(inv (mul ?a ?b))");
  rule("inv-neg", "(inv (neg ?a))", "(neg (inv ?a))");
  for (const char* f : {"exp", "exp2"}) {
    const std::string e = f, l = e == "exp" ? "log" : "log2";
    rule(e + "-add", "(" + e + " (add ?a ?b))", "(mul (" + e + " ?a) (" + e + " ?b))");
    rule(e + "-mul", "(mul (" + e + " ?a) (" + e + " ?b))", "(" + e + " (add ?a ?b))");
    rule(e + "-neg", "(inv (" + e + " ?a))", "(" + e + " (neg ?a))");
    rule(e + "-inv", "(" + e + " (neg ?a))", "(inv (" + e + " ?a))");
    rule(l + "-" + e, "(" + l + " (" + e + " ?a))", "?a");
    rule_if(e + "-" + l, "(" + e + " (" + l + " ?a))", "?a", if_positive({"?a"}));
    rule_if(l + "-mul", "(" + l + " (mul ?a ?b))", "(add (" + l + " ?a) (" + l + " ?b))",
            if_positive({"?a", "?b"}));
    rule_if(l + "-inv", "(" + l + " (inv ?a))", "(neg (" + l + " ?a))", if_positive({"?a"}));
  }
  rule_if("sqrt-square", "(mul (sqrt ?a) (sqrt ?a))", "?a", if_positive({"?a"}));
  rule_if("square-sqrt", "(sqrt (mul ?a ?a))", "?a", if_positive({"?a"}));
  rule_if("sqrt-mul", "(sqrt (mul ?a ?b))", "(mul (sqrt ?a) (sqrt ?b))", if_positive({"?a", "?b"}));
  rule_if("mul-sqrt", "(mul (sqrt ?a) (sqrt ?b))", "(sqrt (mul ?a ?b))", if_positive({"?a", "?b"}));
  rule_if("sqrt-inv", "(inv (sqrt ?a))", "(sqrt (inv ?a))", if_positive({"?a"}));
  rule_if("inv-sqrt", "(sqrt (inv ?a))", "(inv (sqrt ?a))", if_positive({"?a"}));
  for (const char* m : {"max", "min"}) {
    const std::string f = m;
    rule("comm-" + f, "(" + f + " ?a ?b)", "(" + f + " ?b ?a)");
    rule(f + "-add", "(" + f + " (add ?a ?c) (add ?b ?c))", "(add (" + f + " ?a ?b) ?c)");
    rule("add-" + f, "(add (" + f + " ?a ?b) ?c)", "(" + f + " (add ?a ?c) (add ?b ?c))");
    rule_if(f + "-mul", "(" + f + " (mul ?a ?c) (mul ?b ?c))", "(mul (" + f + " ?a ?b) ?c)",
            if_positive({"?c"}));
    rule_if("mul-" + f, "(mul (" + f + " ?a ?b) ?c)", "(" + f + " (mul ?a ?c) (mul ?b ?c))",
            if_positive({"?c"}));
  }
  rule("mul-select", "(mul (select ?p ?a ?b) ?c)", "(select ?p (mul ?a ?c) (mul ?b ?c))");
  rule("select-mul", "(select ?p (mul ?a ?c) (mul ?b ?c))", "(mul (select ?p ?a ?b) ?c)");
  rule("neg-select", "(neg (select ?p ?a ?b))", "(select ?p (neg ?a) (neg ?b))");
  rule("mul-minus", "(mul " + constant_symbol(-1) + " ?a)", "(neg ?a)");
  rule("select-same", "(select ?p ?a ?a)", "?a");
  rule("double", "(add ?a ?a)", "(mul " + constant_symbol(2) + " ?a)");
  rule("distribute", "(mul ?a (add ?b ?c))", "(add (mul ?a ?b) (mul ?a ?c))");
  rule("factor", "(add (mul ?a ?b) (mul ?a ?c))", "(mul ?a (add ?b ?c))");
  rule("comm-add", "(add ?a ?b)", "(add ?b ?a)");
  rule("comm-mul", "(mul ?a ?b)", "(mul ?b ?a)");
  rule("assoc-add", "(add ?a (add ?b ?c))", "(add (add ?a ?b) ?c)");
  rule("assoc-mul", "(mul ?a (mul ?b ?c))", "(mul (mul ?a ?b) ?c)");
  return r;
}

// neg and inv become - and / again where they meet a sum or product.
Expr Algebra::read_back(const egraph::Extractor& x, ClassId c) const {
  const ENode& n = x.best(c);
  const std::string& s = egraph::symbol_name(n.symbol);
  const auto child = [&](size_t i) { return read_back(x, n.children[i]); };
  if (s[0] == '#') return Expr::constant(constant_of(s));
  if (s[0] == '@') return Expr::param(s.substr(1));
  if (s[0] == 'v' && s[1] == ':') {
    const size_t blank = s.find(' ');
    return Expr::var(s.substr(blank + 1), *type_from_name(s.substr(2, blank - 2)));
  }
  if (s.starts_with("cast:")) return Expr::cast(child(0), *type_from_name(s.substr(5)));
  if (s == "inv") {
    const ENode& k = x.best(n.children[0]);
    if (egraph::symbol_name(k.symbol) == "sqrt")
      return Expr::make(Op::Rsqrt, {read_back(x, k.children[0])});
    return Expr::constant(1) / child(0);
  }
  if (s == "add" || s == "mul") {
    const std::string undo = s == "add" ? "neg" : "inv";
    const Op op = s == "add" ? Op::Sub : Op::Div;
    for (size_t i : {1u, 0u}) {
      const ENode& k = x.best(n.children[i]);
      if (egraph::symbol_name(k.symbol) == undo)
        return Expr::make(op, {child(1 - i), read_back(x, k.children[0])});
    }
  }
  std::vector<Expr> args;
  for (size_t i = 0; i < n.children.size(); ++i) args.push_back(child(i));
  return Expr::make(*op_from_name(s), std::move(args));
}

double node_cost(const std::string& s) {
  if (s[0] == '#' || s[0] == '@' || (s[0] == 'v' && s[1] == ':')) return 1;
  if (s == "exp" || s == "exp2" || s == "log" || s == "log2" || s == "pow" || s == "tanh" ||
      s == "erf")
    return 16;
  if (s == "inv" || s == "sqrt") return 6;
  return s == "neg" ? 1.5 : 2;
}

constexpr egraph::Limits kLimits{.iterations = 10, .nodes = 2500};

}  // namespace

namespace {

// Answers by question; one question is asked for many candidate schedules.
template <class Answer>
class Memo {
 public:
  template <class Compute>
  Answer get(const std::string& question, Compute&& compute) {
    {
      std::lock_guard lock(mutex_);
      if (auto it = known_.find(question); it != known_.end()) return it->second;
    }
    Answer a = compute();
    std::lock_guard lock(mutex_);
    if (known_.size() >= 8192) known_.clear();
    known_.emplace(question, a);
    return a;
  }

 private:
  std::mutex mutex_;
  std::unordered_map<std::string, Answer> known_;
};

// The expression with the facts about what is in it.
std::string question(const Expr& e, const Ranges& ranges) {
  std::string q = to_string(e);
  visit(e, [&](const Expr& x) {
    if (x->op != Op::Var && x->op != Op::Param) return;
    const auto it = ranges.find(x->op == Op::Param ? "@" + x->name : x->name);
    if (it == ranges.end()) return;
    const ValueRange& r = it->second;
    q += "|" + it->first + constant_symbol(r.lo) + constant_symbol(r.hi) +
         (r.excludes_zero ? "!" : "");
  });
  return q;
}

// Operations at which a function may change its form: points on one side say nothing about the
// other.
bool piecewise(const Expr& x) {
  switch (x->op) {
    case Op::Select:
    case Op::Min:
    case Op::Max:
    case Op::Abs:
    case Op::Floor:
    case Op::Lt:
    case Op::Le:
    case Op::Eq:
    case Op::Ne:
    case Op::And:
    case Op::Or:
    case Op::Not:
      return true;
    case Op::Cast:
      return !is_float(x->type);
    default:
      return false;
  }
}

std::optional<Expr> piecewise_part(const Expr& e) {
  std::optional<Expr> found;
  visit(e, [&](const Expr& x) {
    if (!found && piecewise(x)) found = x;
  });
  return found;
}

// Points prove an equality of smooth functions only. Largest subterms that change their form become
// free names, equal ones the same: an equality for all values of these names holds for those that
// the subterms take.
Proof by_points(const Expr& a, const Expr& b, Ranges ranges) {
  const Proof sampled{true, "randomized (200 points, 50 digits)"};
  const auto part = piecewise_part(a) ? piecewise_part(a) : piecewise_part(b);
  if (!part) return sampled;
  std::vector<std::pair<Expr, Expr>> names;
  const Ranges facts = ranges;
  const auto name = [&](const Expr& x) -> std::optional<Expr> {
    if (!piecewise(x)) return std::nullopt;
    for (const auto& [meaning, v] : names)
      if (meaning == x) return v;
    const Expr v = Expr::var("piece" + std::to_string(names.size()) + "'", x->type);
    ranges[v->name] = range_of(x, facts);
    names.emplace_back(x, v);
    return v;
  };
  const Expr left = substitute(a, name), right = substitute(b, name);
  if (!refute_equal(left, right, ranges, 200, 3)) return sampled;
  return {false, "points do not decide where " + to_string(*part) +
                     " changes its form, and the rules of algebra do not either"};
}

Proof prove(const Expr& a, const Expr& b, const Ranges& ranges) {
  if (auto point = refute_equal(a, b, ranges, 200, 1)) return {false, *point};
  Algebra algebra(ranges);
  const ClassId ca = algebra.add(a), cb = algebra.add(b);
  const auto done = [&](const EGraph& g) { return g.same(ca, cb); };
  const egraph::RunReport run = egraph::saturate(algebra.graph, algebra.rules(), kLimits, done);
  if (!algebra.graph.same(ca, cb)) return by_points(a, b, ranges);
  int steps = 0;
  for (const auto& [rule, n] : run.fired) steps += n;
  return {true, "e-graph, " + std::to_string(steps) + " steps"};
}

std::optional<Expr> rewrite(const Expr& e, const std::set<std::string>& forbidden,
                            const Ranges& ranges) {
  Algebra algebra(ranges);
  const ClassId c = algebra.add(e);
  egraph::saturate(algebra.graph, algebra.rules(), kLimits);
  const egraph::Extractor x(algebra.graph,
                            [&](const ENode& n, const std::function<double(ClassId)>& child) {
                              const std::string& s = egraph::symbol_name(n.symbol);
                              const bool leaf = s[0] == 'v' && s[1] == ':';
                              double sum = node_cost(s);
                              if (leaf && forbidden.contains(s.substr(s.find(' ') + 1)))
                                sum = std::numeric_limits<double>::infinity();
                              for (ClassId k : n.children) sum += child(k);
                              return sum;
                            });
  if (!std::isfinite(x.cost(c))) return std::nullopt;
  return simplify(algebra.read_back(x, c));
}

}  // namespace

Proof prove_equal(const Expr& a, const Expr& b, const Ranges& ranges) {
  static auto& memo = *new Memo<Proof>;
  if (a == b) return {true, "identity"};
  return memo.get(question(a, ranges) + " = " + question(b, ranges),
                  [&] { return prove(a, b, ranges); });
}

std::optional<Expr> rewrite_without(const Expr& e, const std::set<std::string>& forbidden,
                                    const Ranges& ranges) {
  static auto& memo = *new Memo<std::optional<Expr>>;
  std::string q = question(e, ranges) + " without";
  for (const std::string& f : forbidden) q += " " + f;
  return memo.get(q, [&] { return rewrite(e, forbidden, ranges); });
}

}  // namespace nautilus::poly::algebra
