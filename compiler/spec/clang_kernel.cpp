// Statements of a kernel function: declarations of sizes, indices, tensors and named values, and
// definitions.
#include "compiler/spec/clang_walk.h"

namespace nautilus::spec {

using namespace clang;

bool Walk::is_kernel(const FunctionDecl* f) {
  if (f->getNumParams() != 1) return false;
  const CXXRecordDecl* r = f->getParamDecl(0)->getType()->getAsCXXRecordDecl();
  return r && r->getQualifiedNameAsString() == "nautilus::spec::Kernel";
}

KernelDecl Walk::kernel(const FunctionDecl* f) {
  out_ = KernelDecl{};
  out_.name = f->getNameAsString();
  out_.loc = loc(f->getLocation(), SourceRange(f->getLocation()));
  if (f->isInvalidDecl() || f->isTemplated()) out_.broken = true;
  if (f->isTemplated()) {
    bad(out_.loc, "a kernel cannot be a template");
    return std::move(out_);
  }
  const auto* body = dyn_cast_or_null<CompoundStmt>(f->getBody());
  if (!body) {
    bad(out_.loc, "a kernel needs a plain body { ... }");
    return std::move(out_);
  }
  for (const Stmt* s : body->body()) statement(s);
  return std::move(out_);
}

void Walk::statement(const Stmt* s) {
  if (isa<NullStmt>(s)) return;
  if (const auto* d = dyn_cast<DeclStmt>(s)) {
    for (const Decl* x : d->decls()) declaration(x);
    return;
  }
  const Loc where = loc(s->getBeginLoc(), s->getSourceRange());
  if (const auto* e = dyn_cast<Expr>(s)) {
    if (e->containsErrors()) {
      bad();
      return;
    }
    if (!definition(e))
      bad(loc(e), "this statement defines nothing",
          {{loc(e), "a definition is written T(i, j) = ..."}});
    return;
  }
  if (isa<ForStmt, WhileStmt, DoStmt, CXXForRangeStmt>(s))
    bad(where, "a spec has no loops",
        {{where,
          "an equation T(i, j) = ... already holds for all index values; sum, max ... run over an "
          "index"}});
  else if (isa<IfStmt, SwitchStmt>(s))
    bad(where, "a spec has no branches",
        {{where, "use where(condition, x) or select(condition, a, b)"}});
  else
    bad(where, "this C++ is not part of the spec language",
        {{where, "a kernel consists of declarations and definitions 'T(i, j) = ...'"}});
}

// T(i, j) = term. False when e is something else.
bool Walk::definition(const Expr* e) {
  const Expr* p = peel(e);
  const auto* c = dyn_cast<CXXOperatorCallExpr>(p);
  if (!c || c->getOperator() != OO_Equal || c->getNumArgs() != 2) return false;
  if (class_of(c->getArg(0)->getType()) != ClassKind::Value) return false;
  const Expr* left = peel(c->getArg(0));
  TermPtr lhs = term(left);
  if (lhs->kind == TermKind::Bad) {
    term(c->getArg(1));
    return true;
  }
  if (lhs->kind != TermKind::Element) {
    bad(loc(left), "only an element of a tensor can be defined",
        {{loc(left), "declare a Tensor and write T(i, j) = ..."}});
    return true;
  }
  out_.definitions.push_back(Definition{loc(c), lhs, term(c->getArg(1))});
  return true;
}

void Walk::declaration(const Decl* d) {
  if (isa<UsingDirectiveDecl, UsingDecl, UsingShadowDecl, UsingEnumDecl, TypedefNameDecl,
          StaticAssertDecl, EmptyDecl>(d))
    return;
  const auto* v = dyn_cast<VarDecl>(d);
  const Loc where = loc(d->getLocation(), d->getSourceRange());
  if (!v) {
    bad(where, "this declaration is not part of the spec language");
    return;
  }
  if (v->isInvalidDecl() || (v->getInit() && v->getInit()->containsErrors())) {
    bad();
    return;
  }
  if (declare(v)) return;
  if (v->getType()->isArithmeticType() || function_of(v->getInit())) return;  // read where used
  bad(where, "'" + v->getNameAsString() + "' has a type that is not part of the spec language",
      {{where, "use Size, Index, Input, Output, Tensor, Value, Monoid, or numbers"}});
}

void Walk::claim_name(const VarDecl* v) {
  const std::string n = v->getNameAsString();
  auto [it, fresh] = names_.emplace(n, v);
  if (!fresh && it->second != v)
    bad(loc(v->getLocation(), SourceRange(v->getLocation())),
        "the name '" + n + "' is used twice in this kernel",
        {{loc(it->second->getLocation(), SourceRange(it->second->getLocation())), "first here"}});
}

bool Walk::declare(const VarDecl* v) {
  v = v->getCanonicalDecl();
  if (const VarDecl* def = v->getDefinition()) v = def;
  if (auto it = declared_.find(v); it != declared_.end()) return it->second;
  const ClassKind kind = class_of(v->getType());
  if (kind == ClassKind::None || kind == ClassKind::ElementType || kind == ClassKind::Kernel)
    return false;
  const auto saved_calls =
      header_calls_;  // a declaration's own place, even when first used inside a shorthand
  header_calls_.clear();
  declared_[v] = true;
  const Expr* init = v->getInit();
  const auto* ctor = init ? dyn_cast<CXXConstructExpr>(init->IgnoreImplicit()) : nullptr;
  const Loc where = loc(v->getLocation(), SourceRange(v->getLocation()));
  bool ok = true;
  if (v->getType()->isReferenceType() || v->getType()->isPointerType() || isa<ParmVarDecl>(v)) {
    bad(where, "'" + v->getNameAsString() + "' must be declared by value");
    ok = false;
  } else {
    if (kind != ClassKind::Value && kind != ClassKind::Where && kind != ClassKind::Over &&
        kind != ClassKind::Shape && kind != ClassKind::SizeFacts)
      claim_name(v);
    switch (kind) {
      case ClassKind::Size:
        declare_size(v, init);
        break;
      case ClassKind::Index: {
        TermPtr extent = ctor && ctor->getNumArgs() == 1 ? term(ctor->getArg(0)) : nullptr;
        if (!extent)
          extent = bad(where, "an index needs its extent: Index " + v->getNameAsString() + "(N);");
        out_.indices.push_back(IndexDecl{v->getNameAsString(), where, extent});
        break;
      }
      case ClassKind::Tensor:
      case ClassKind::Input:
      case ClassKind::Output:
        declare_tensor(v, kind, ctor);
        break;
      case ClassKind::Monoid:
        declare_monoid(v, ctor);
        break;
      case ClassKind::Value:
      case ClassKind::Where:
      case ClassKind::Over: {
        if (!init || (ctor && ctor->getNumArgs() == 0)) {
          bad(where, "'" + v->getNameAsString() + "' has no value",
              {{where, "a named value is written Value x = ...;"}});
          ok = false;
          break;
        }
        Binding b = evaluate(init);
        if (b.term && kind == ClassKind::Value) b.term = named(v, b.term);
        bound_[v] = std::move(b);
        break;
      }
      default:
        bad(where, "'" + v->getNameAsString() + "' cannot be named in a spec");
        ok = false;
    }
  }
  header_calls_ = saved_calls;
  return declared_[v] = ok;
}

// multiple_of(16).typical(128): the chain of calls, innermost first.
std::vector<Fact> Walk::facts(const Expr* e) {
  e = peel(e);
  std::vector<Fact> out;
  const CallExpr* call = dyn_cast<CallExpr>(e);
  const FunctionDecl* f = call ? call->getDirectCallee() : nullptr;
  if (!f || call->getNumArgs() != 1) {
    bad(loc(e), "a size is described by facts",
        {{loc(e), "Size D = multiple_of(16).typical(128);"}});
    return out;
  }
  if (const auto* m = dyn_cast<CXXMemberCallExpr>(call))
    out = facts(m->getImplicitObjectArgument());
  static const std::map<std::string, FactKind> kinds = {{"multiple_of", FactKind::MultipleOf},
                                                        {"at_least", FactKind::AtLeast},
                                                        {"at_most", FactKind::AtMost},
                                                        {"equal_to", FactKind::EqualTo},
                                                        {"typical", FactKind::Typical}};
  auto it = kinds.find(f->getNameAsString());
  if (it == kinds.end())
    bad(loc(call), "'" + f->getNameAsString() + "' is not a fact about a size");
  else
    out.push_back(Fact{it->second, term(call->getArg(0)), loc(call->getArg(0))});
  return out;
}

void Walk::declare_size(const VarDecl* v, const Expr* init) {
  SizeDecl s;
  s.name = v->getNameAsString();
  s.loc = loc(v->getLocation(), SourceRange(v->getLocation()));
  // Size N; is a constructor call without arguments; Size N = facts or Size N(facts) one with one.
  const Expr* e = init ? peel(init) : nullptr;
  for (const CXXConstructExpr* c = e ? dyn_cast<CXXConstructExpr>(e) : nullptr; c;) {
    e = c->getNumArgs() == 1 ? peel(c->getArg(0)) : nullptr;
    c = e ? dyn_cast<CXXConstructExpr>(e) : nullptr;
  }
  if (e) s.facts = facts(e);
  out_.sizes.push_back(std::move(s));
}

void Walk::declare_tensor(const VarDecl* v, ClassKind kind, const CXXConstructExpr* init) {
  TensorDecl t;
  t.name = v->getNameAsString();
  t.loc = loc(v->getLocation(), SourceRange(v->getLocation()));
  t.kind = kind == ClassKind::Input    ? poly::TensorKind::Input
           : kind == ClassKind::Output ? poly::TensorKind::Output
                                       : poly::TensorKind::Temp;
  if (!init || init->getNumArgs() == 0 ||
      class_of(init->getArg(0)->getType()) != ClassKind::ElementType) {
    bad(t.loc, "a tensor is declared with its element type: Tensor " + t.name + "(f32);");
    return;
  }
  if (auto type = element_type(init->getArg(0)))
    t.type = *type;
  else
    bad(loc(init->getArg(0)),
        "the element type must be one of f64 f32 f16 bf16 e4m3 e5m2 i8 i32 boolean");
  t.shaped = init->getNumArgs() == 2 || t.kind != poly::TensorKind::Temp;
  if (init->getNumArgs() == 2) {
    const Expr* s = peel(init->getArg(1));
    std::vector<const Expr*> extents;
    if (const auto* c = dyn_cast<CXXConstructExpr>(s);
        c && class_of(c->getType()) == ClassKind::Shape) {
      for (const Expr* a : c->arguments()) {
        if (isa<CXXDefaultArgExpr>(a->IgnoreImplicit())) break;
        extents.push_back(a);
      }
    } else if (const auto* l = dyn_cast<InitListExpr>(s)) {
      for (const Expr* a : l->inits()) extents.push_back(a);
    } else if (class_of(s->getType()) == ClassKind::Shape) {
      bad(loc(s), "write the shape out here: {N, M}");
    } else {
      extents.push_back(s);
    }
    for (const Expr* a : extents) t.shape.push_back(term(a));
  }
  out_.tensors.push_back(std::move(t));
}

void Walk::declare_monoid(const VarDecl* v, const CXXConstructExpr* init) {
  const Loc where = loc(v->getLocation(), SourceRange(v->getLocation()));
  const std::string name = v->getNameAsString();
  if (!init || init->getNumArgs() != 2) {
    bad(where,
        "a monoid is declared with its identity and its operation: Monoid m(0, [](Value a, Value "
        "b) { return ...; });");
    return;
  }
  auto m = std::make_shared<MonoidDecl>();
  m->name = name;
  m->loc = where;
  m->identity = term(init->getArg(0));
  const FunctionDecl* f = function_of(init->getArg(1));
  const FunctionDecl* def = nullptr;
  const CompoundStmt* body =
      f && f->hasBody(def) ? dyn_cast_or_null<CompoundStmt>(def->getBody()) : nullptr;
  const auto* ret = body && body->size() == 1 ? dyn_cast<ReturnStmt>(body->body_front()) : nullptr;
  if (!ret || !ret->getRetValue() || def->getNumParams() != 2) {
    bad(loc(init->getArg(1)),
        "the operation of a monoid is a function of two values with a single return");
    return;
  }
  const auto saved = bound_;
  for (unsigned k = 0; k < 2; ++k) {
    Term t;
    t.kind = TermKind::Var;
    t.name = k == 0 ? "a" : "b";
    t.loc = where;
    bound_[def->getParamDecl(k)] =
        Binding{.term = seal(std::move(t)), .over = {}, .monoid = nullptr};
  }
  m->combine = term(ret->getRetValue());
  bound_ = saved;
  bound_[v].monoid = std::move(m);
}

}  // namespace nautilus::spec
