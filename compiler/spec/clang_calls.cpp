// Calls: functions with a body (the shorthands of spec.h, the user's own) are inlined by binding
// their parameters; the reader itself knows the primitives only.
#include "compiler/spec/clang_walk.h"

namespace nautilus::spec {

using namespace clang;

namespace {

constexpr int kMaxInlining = 64;

const std::map<std::string, std::pair<Apply, unsigned>>& functions() {
  static const std::map<std::string, std::pair<Apply, unsigned>> table = {
      {"select", {Apply::Select, 3}},   {"max", {Apply::Max, 2}},
      {"min", {Apply::Min, 2}},         {"pow", {Apply::Pow, 2}},
      {"abs", {Apply::Abs, 1}},         {"exp", {Apply::Exp, 1}},
      {"exp2", {Apply::Exp2, 1}},       {"log", {Apply::Log, 1}},
      {"log2", {Apply::Log2, 1}},       {"sqrt", {Apply::Sqrt, 1}},
      {"rsqrt", {Apply::Rsqrt, 1}},     {"recip", {Apply::Recip, 1}},
      {"tanh", {Apply::Tanh, 1}},       {"erf", {Apply::Erf, 1}},
      {"sigmoid", {Apply::Sigmoid, 1}}, {"floor", {Apply::Floor, 1}}};
  return table;
}

}  // namespace

Binding Walk::call(const CallExpr* c) {
  if (const auto* o = dyn_cast<CXXOperatorCallExpr>(c)) {
    if (o->getOperator() != OO_Call || class_of(o->getArg(0)->getType()) != ClassKind::None)
      return Binding{.term = operator_call(o), .over = {}, .monoid = nullptr};
    if (const FunctionDecl* f = c->getDirectCallee()) return inline_call(c, f, 1);
  }
  const FunctionDecl* f = c->getDirectCallee();
  if (!f || isa<CXXMethodDecl>(f) || f->getBuiltinID() != 0)
    return Binding{.term = bad(loc(c), "this call is not part of the spec language"),
                   .over = {},
                   .monoid = nullptr};
  if (!f->hasBody() && in_spec_namespace(f)) return primitive(c, f);
  return inline_call(c, f, 0);
}

// Replaces a call by the function's returned value: parameters and local values become bindings.
Binding Walk::inline_call(const CallExpr* c, const FunctionDecl* f, unsigned first_arg) {
  auto refuse = [&](Loc l, const std::string& m, const std::string& note) {
    return Binding{.term = bad(l, m, {{l, note}}), .over = {}, .monoid = nullptr};
  };
  const std::string name = f->getNameAsString();
  const FunctionDecl* def = nullptr;
  if (!f->hasBody(def))
    return refuse(loc(c), "'" + name + "' has no body here",
                  "a function used in a spec is defined in the same file or a header");
  if (inlining_ >= kMaxInlining)
    return refuse(loc(c), "'" + name + "' calls itself without end",
                  "a spec is finite mathematics; write the sum or recurrence out");
  const auto* body = dyn_cast_or_null<CompoundStmt>(def->getBody());
  if (!body || is_kernel(def))
    return refuse(loc(c), "'" + name + "' is not a function of values", "it must return a value");
  const auto saved = bound_;
  std::vector<std::pair<const ValueDecl*, Binding>> params;
  auto callable = [&](const Expr* a) {
    return a->getType().getNonReferenceType()->isRecordType() &&
           class_of(a->getType()) == ClassKind::None;
  };
  for (unsigned k = 0; k < def->getNumParams() && k + first_arg < c->getNumArgs(); ++k)
    if (!callable(c->getArg(k + first_arg)))
      params.emplace_back(def->getParamDecl(k), evaluate(c->getArg(k + first_arg)));
  for (auto& p : params) bound_[p.first] = std::move(p.second);
  const bool header = in_spec_namespace(f);
  if (header) header_calls_.push_back(loc(c));
  ++inlining_;
  std::optional<Binding> result;
  for (const Stmt* s : body->body()) {
    if (const auto* d = dyn_cast<DeclStmt>(s)) {
      for (const Decl* x : d->decls()) {
        const auto* v = dyn_cast<VarDecl>(x);
        if (!v) continue;
        if (!v->getInit()) {
          bad(loc(v->getLocation(), v->getSourceRange()),
              "'" + v->getName().str() + "' has no value");
          continue;
        }
        if (v->getType()->isRecordType() && class_of(v->getType()) == ClassKind::None)
          continue;  // a lambda
        Binding b = evaluate(v->getInit());
        if (b.term && class_of(v->getType()) == ClassKind::Value) b.term = named(v, b.term);
        bound_[v] = std::move(b);
      }
    } else if (const auto* r = dyn_cast<ReturnStmt>(s); r && r->getRetValue()) {
      result = evaluate(r->getRetValue());
      break;
    } else if (!isa<NullStmt>(s)) {
      result =
          Binding{.term = bad(loc(s->getBeginLoc(), s->getSourceRange()),
                              "a function used in a spec consists of named values and one return",
                              {{loc(c), "used here"}}),
                  .over = {},
                  .monoid = nullptr};
      break;
    }
  }
  --inlining_;
  if (header) header_calls_.pop_back();
  bound_ = saved;
  if (!result) return refuse(loc(c), "'" + name + "' returns no value", "it must end with return");
  return *result;
}

// The functions that spec.h declares without a body.
Binding Walk::primitive(const CallExpr* c, const FunctionDecl* f) {
  const std::string name = f->getNameAsString();
  Binding out;
  const ClassKind first =
      c->getNumArgs() ? class_of(f->getParamDecl(0)->getType()) : ClassKind::None;
  if (name == "where") {
    if (c->getNumArgs() == 1) return evaluate(c->getArg(0));
    Binding cond = evaluate(c->getArg(0));
    if (const TermPtr x = strip_lets(cond.term);
        x && x->kind == TermKind::Number && x->boolean && x->value != 0) {
      out.term = term(c->getArg(1));
      return out;
    }
    out.term = sealed(Term{.kind = TermKind::Where,
                           .loc = loc(c),
                           .args = {cond.term ? cond.term : bad(), term(c->getArg(1))}});
    return out;
  }
  if (first == ClassKind::Over || first == ClassKind::Monoid || first == ClassKind::Index) {
    Term t;
    t.kind = TermKind::Reduce;
    t.loc = loc(c);
    t.name = name == "reduce" ? "user" : name;
    t.in_helper = inlining_ > 0;
    unsigned k = 0;
    if (first == ClassKind::Monoid) {
      t.monoid = monoid(c->getArg(k++));
      if (!t.monoid) return Binding{.term = bad(), .over = {}, .monoid = nullptr};
    }
    t.over = over(c->getArg(k++));
    TermPtr cond;
    if (k < c->getNumArgs() && class_of(c->getArg(k)->getType()) == ClassKind::Where)
      cond = evaluate(c->getArg(k++)).term;
    if (const TermPtr x = strip_lets(cond);
        x && x->kind == TermKind::Number && x->boolean && x->value != 0)
      cond = nullptr;
    t.args = {name == "count"       ? make_number(1, true, t.loc)
              : k < c->getNumArgs() ? term(c->getArg(k))
                                    : bad(),
              cond};
    out.term = t.over.empty() ? bad() : sealed(std::move(t));
    return out;
  }
  auto it = functions().find(name);
  if (it == functions().end() || it->second.second != c->getNumArgs()) {
    out.term = bad(loc(c), "'" + name + "' cannot be used in an expression");
    return out;
  }
  Term t;
  t.kind = TermKind::Apply;
  t.op = it->second.first;
  t.loc = loc(c);
  for (const Expr* a : c->arguments()) t.args.push_back(term(a));
  out.term = sealed(std::move(t));
  return out;
}

const FunctionDecl* Walk::function_of(const Expr* e) {
  if (!e) return nullptr;
  e = peel(e);
  if (const auto* c = dyn_cast<CXXMemberCallExpr>(e))
    e = peel(c->getImplicitObjectArgument());  // lambda to pointer
  if (const auto* u = dyn_cast<UnaryOperator>(e);
      u && (u->getOpcode() == UO_AddrOf || u->getOpcode() == UO_Plus))
    return function_of(u->getSubExpr());
  if (const auto* l = dyn_cast<LambdaExpr>(e)) return l->getCallOperator();
  if (const auto* r = dyn_cast<DeclRefExpr>(e)) {
    if (const auto* f = dyn_cast<FunctionDecl>(r->getDecl())) return f;
    if (const auto* v = dyn_cast<VarDecl>(r->getDecl()); v && v->getInit())
      return function_of(v->getInit());
  }
  return nullptr;
}

std::shared_ptr<const MonoidDecl> Walk::monoid(const Expr* e) {
  const auto* r = dyn_cast<DeclRefExpr>(peel(e));
  if (r) {
    if (!bound_.count(r->getDecl()))
      if (const auto* v = dyn_cast<VarDecl>(r->getDecl())) declare(v);
    if (auto it = bound_.find(r->getDecl()); it != bound_.end()) return it->second.monoid;
  }
  if (!out_.broken) bad(loc(e), "name the monoid first: Monoid m(identity, combine);");
  return nullptr;
}

}  // namespace nautilus::spec
