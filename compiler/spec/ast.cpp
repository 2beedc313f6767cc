#include "compiler/spec/ast.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <map>

namespace nautilus::spec {

namespace {

template <class T>
const T* by_name(const std::vector<T>& all, const std::string& n) {
  for (const T& x : all)
    if (x.name == n) return &x;
  return nullptr;
}

// Free indices of a DAG, memoized a node: terms share subterms heavily once helpers are inlined.
using FreeMemo = std::map<const Term*, std::set<std::string>>;
const std::set<std::string>& free_of(const TermPtr& t, FreeMemo& memo) {
  auto it = memo.find(t.get());
  if (it != memo.end()) return it->second;
  std::set<std::string> out;
  if (t->kind == TermKind::Index) out.insert(t->name);
  for (const TermPtr& a : t->args)
    if (a) {
      const auto& f = free_of(a, memo);
      out.insert(f.begin(), f.end());
    }
  if (t->kind == TermKind::Reduce)
    for (const OverIndex& o : t->over) out.erase(o.name);
  return memo[t.get()] = std::move(out);
}

void visit_once(const TermPtr& t, const std::function<void(const TermPtr&)>& f,
                std::set<const Term*>& seen) {
  if (!t || !seen.insert(t.get()).second) return;
  f(t);
  for (const TermPtr& a : t->args) visit_once(a, f, seen);
}

struct OpText {
  const char* text;
  int precedence;  // 0: written as a call
};
OpText op_text(Apply op) {
  switch (op) {
    case Apply::Add:
      return {" + ", 6};
    case Apply::Sub:
      return {" - ", 6};
    case Apply::Mul:
      return {" * ", 7};
    case Apply::Div:
      return {" / ", 7};
    case Apply::Mod:
      return {" % ", 7};
    case Apply::Lt:
      return {" < ", 5};
    case Apply::Le:
      return {" <= ", 5};
    case Apply::Gt:
      return {" > ", 5};
    case Apply::Ge:
      return {" >= ", 5};
    case Apply::Eq:
      return {" == ", 4};
    case Apply::Ne:
      return {" != ", 4};
    case Apply::And:
      return {" && ", 3};
    case Apply::Or:
      return {" || ", 2};
    case Apply::Neg:
      return {"-", 8};
    case Apply::Not:
      return {"!", 8};
    case Apply::Select:
      return {"select", 0};
    case Apply::Max:
      return {"max", 0};
    case Apply::Min:
      return {"min", 0};
    case Apply::Pow:
      return {"pow", 0};
    case Apply::Abs:
      return {"abs", 0};
    case Apply::Exp:
      return {"exp", 0};
    case Apply::Exp2:
      return {"exp2", 0};
    case Apply::Log:
      return {"log", 0};
    case Apply::Log2:
      return {"log2", 0};
    case Apply::Sqrt:
      return {"sqrt", 0};
    case Apply::Rsqrt:
      return {"rsqrt", 0};
    case Apply::Recip:
      return {"recip", 0};
    case Apply::Tanh:
      return {"tanh", 0};
    case Apply::Erf:
      return {"erf", 0};
    case Apply::Sigmoid:
      return {"sigmoid", 0};
    case Apply::Floor:
      return {"floor", 0};
  }
  return {"?", 0};
}

std::string list(const std::vector<TermPtr>& args, int depth);
std::string print(const TermPtr& t, int outer, int depth) {
  if (!t) return "";
  if (depth > 24) return "...";
  switch (t->kind) {
    case TermKind::Number: {
      if (t->boolean) return t->value != 0 ? "true" : "false";
      if (std::isinf(t->value)) return t->value > 0 ? "infinity" : "-infinity";
      char buf[40];
      std::snprintf(buf, sizeof buf, t->integer ? "%.0f" : "%.9g", t->value);
      return buf;
    }
    case TermKind::Size:
    case TermKind::Index:
    case TermKind::Var:
      return t->name;
    case TermKind::Element:
      return t->name + "(" + list(t->args, depth) + ")";
    case TermKind::Let:
      return print(t->args[0], outer, depth);
    case TermKind::Cast:
      return std::string(type_name(t->type)) + "(" + list(t->args, depth) + ")";
    case TermKind::Where:
      return "where(" + list(t->args, depth) + ")";
    case TermKind::Reduce: {
      std::string over;
      for (const OverIndex& o : t->over) over += (over.empty() ? "" : ", ") + o.name;
      if (t->over.size() != 1) over = "{" + over + "}";
      std::string cond = t->args[1] ? ", where(" + print(t->args[1], 0, depth + 1) + ")" : "";
      std::string body = t->name == "count" ? "" : ", " + print(t->args[0], 0, depth + 1);
      return (t->monoid ? "reduce(" + t->monoid->name + ", " : t->name + "(") + over + cond + body +
             ")";
    }
    case TermKind::Apply: {
      const OpText o = op_text(t->op);
      if (o.precedence == 0) return std::string(o.text) + "(" + list(t->args, depth) + ")";
      std::string s = t->args.size() == 1 ? o.text + print(t->args[0], o.precedence, depth + 1)
                                          : print(t->args[0], o.precedence, depth + 1) + o.text +
                                                print(t->args[1], o.precedence + 1, depth + 1);
      return o.precedence < outer ? "(" + s + ")" : s;
    }
    case TermKind::Bad:
      break;
  }
  return "?";
}
std::string list(const std::vector<TermPtr>& args, int depth) {
  std::string s;
  for (const TermPtr& a : args) s += (s.empty() ? "" : ", ") + print(a, 0, depth + 1);
  return s;
}

}  // namespace

const IndexDecl* KernelDecl::index(const std::string& n) const { return by_name(indices, n); }
const TensorDecl* KernelDecl::tensor(const std::string& n) const { return by_name(tensors, n); }
const SizeDecl* KernelDecl::size(const std::string& n) const { return by_name(sizes, n); }

TermPtr seal(Term t) {
  t.size = 1;
  t.depth = 1;
  for (const TermPtr& a : t.args)
    if (a) {
      t.size += a->size;
      t.depth = std::max(t.depth, a->depth + 1);
    }
  return std::make_shared<Term>(std::move(t));
}

TermPtr make_number(double v, bool integer, Loc loc) {
  Term t;
  t.kind = TermKind::Number;
  t.value = v;
  t.integer = integer;
  t.loc = loc;
  return std::make_shared<Term>(std::move(t));
}

TermPtr make_apply(Apply op, std::vector<TermPtr> args, Loc loc) {
  Term t;
  t.kind = TermKind::Apply;
  t.op = op;
  t.args = std::move(args);
  t.loc = loc;
  return seal(std::move(t));
}

std::set<std::string> free_indices(const TermPtr& t) {
  FreeMemo memo;
  return free_of(t, memo);
}

void visit_terms(const TermPtr& t, const std::function<void(const TermPtr&)>& f) {
  std::set<const Term*> seen;
  visit_once(t, f, seen);
}

void collect_tensors(const TermPtr& t, std::set<std::string>& out) {
  visit_terms(t, [&](const TermPtr& x) {
    if (x->kind == TermKind::Element) out.insert(x->name);
  });
}

TermPtr substitute_indices(const TermPtr& t, const std::map<std::string, TermPtr>& by) {
  if (!t || by.empty()) return t;
  if (t->kind == TermKind::Index) {
    auto it = by.find(t->name);
    return it == by.end() ? t : it->second;
  }
  std::map<std::string, TermPtr> inner = by;
  if (t->kind == TermKind::Reduce)
    for (const OverIndex& o : t->over) inner.erase(o.name);
  bool changed = false;
  std::vector<TermPtr> args;
  for (const TermPtr& a : t->args) {
    args.push_back(substitute_indices(a, inner));
    changed |= args.back() != a;
  }
  if (!changed) return t;
  Term copy = *t;
  copy.args = std::move(args);
  return seal(std::move(copy));
}

bool is_integer_term(const TermPtr& t) {
  if (!t) return false;
  switch (t->kind) {
    case TermKind::Number:
      return t->integer && !t->boolean;
    case TermKind::Size:
    case TermKind::Index:
      return true;
    case TermKind::Let:
      return is_integer_term(t->args[0]);
    case TermKind::Apply:
      if (t->op > Apply::Neg) return false;
      for (const TermPtr& a : t->args)
        if (!is_integer_term(a)) return false;
      return true;
    default:
      return false;
  }
}

bool reads_tensors(const TermPtr& t) {
  bool found = false;
  visit_terms(t, [&](const TermPtr& x) {
    found |=
        x->kind == TermKind::Element || x->kind == TermKind::Reduce || x->kind == TermKind::Bad;
  });
  return found;
}

std::string to_text(const TermPtr& t) { return print(t, 0, 0); }

TermPtr strip_lets(const TermPtr& t) {
  TermPtr r = t;
  while (r && r->kind == TermKind::Let) r = r->args[0];
  return r;
}

}  // namespace nautilus::spec
