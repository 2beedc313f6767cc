// Expressions of Clang's AST to terms. Functions with a body (the shorthands of spec.h, the user's
// own) are inlined by binding their parameters; the reader itself knows primitives only.
#include <cmath>

#include "compiler/spec/clang_walk.h"

namespace nautilus::spec {

using namespace clang;

namespace {

constexpr int kMaxNesting = 400;
constexpr int kMaxInlining = 64;
constexpr double kMaxTermSize = 50'000;

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

std::optional<nautilus::spec::Apply> binary_op(OverloadedOperatorKind k) {
  switch (k) {
    case OO_Plus:
      return Apply::Add;
    case OO_Minus:
      return Apply::Sub;
    case OO_Star:
      return Apply::Mul;
    case OO_Slash:
      return Apply::Div;
    case OO_Percent:
      return Apply::Mod;
    case OO_Less:
      return Apply::Lt;
    case OO_LessEqual:
      return Apply::Le;
    case OO_Greater:
      return Apply::Gt;
    case OO_GreaterEqual:
      return Apply::Ge;
    case OO_EqualEqual:
      return Apply::Eq;
    case OO_ExclaimEqual:
      return Apply::Ne;
    case OO_AmpAmp:
      return Apply::And;
    case OO_PipePipe:
      return Apply::Or;
    default:
      return {};
  }
}

bool in_spec_namespace(const Decl* d) {
  const auto* ns = dyn_cast<NamespaceDecl>(d->getDeclContext()->getRedeclContext());
  if (!ns || ns->getName() != "spec") return false;
  const auto* outer = dyn_cast<NamespaceDecl>(ns->getDeclContext()->getRedeclContext());
  return outer && outer->getName() == "nautilus" && outer->getDeclContext()->isTranslationUnit();
}

}  // namespace

// Through everything that Clang adds around what was written: conversions, temporaries, braces of
// one.
const clang::Expr* Walk::peel(const Expr* e) {
  while (e) {
    const Expr* next = nullptr;
    if (const auto* p = dyn_cast<ParenExpr>(e))
      next = p->getSubExpr();
    else if (const auto* i = dyn_cast<ImplicitCastExpr>(e))
      next = i->getSubExpr();
    else if (const auto* f = dyn_cast<FullExpr>(e))
      next = f->getSubExpr();
    else if (const auto* m = dyn_cast<MaterializeTemporaryExpr>(e))
      next = m->getSubExpr();
    else if (const auto* b = dyn_cast<CXXBindTemporaryExpr>(e))
      next = b->getSubExpr();
    else if (const auto* d = dyn_cast<CXXDefaultArgExpr>(e))
      next = d->getExpr();
    else if (const auto* x = dyn_cast<ExplicitCastExpr>(e)) {
      if (x->getType()->isRecordType()) next = x->getSubExpr();
    } else if (const auto* l = dyn_cast<InitListExpr>(e)) {
      if (l->getNumInits() == 1) next = l->getInit(0);
    } else if (const auto* c = dyn_cast<CXXConstructExpr>(e)) {
      const StringRef name = c->getConstructor()->getParent()->getName();
      if (c->getNumArgs() == 1 &&
          (name == "Value" || name == "Element" || c->getConstructor()->isCopyOrMoveConstructor()))
        next = c->getArg(0);
    }
    if (!next) break;
    e = next;
  }
  return e;
}

ClassKind Walk::class_of(QualType t) const {
  t = t.getNonReferenceType();
  const CXXRecordDecl* r = t->getAsCXXRecordDecl();
  if (!r || !r->getIdentifier() || !in_spec_namespace(r)) return ClassKind::None;
  static const std::map<std::string, ClassKind> table = {
      {"Value", ClassKind::Value},         {"Element", ClassKind::Value},
      {"Index", ClassKind::Index},         {"Size", ClassKind::Size},
      {"SizeFacts", ClassKind::SizeFacts}, {"ElementType", ClassKind::ElementType},
      {"Shape", ClassKind::Shape},         {"Tensor", ClassKind::Tensor},
      {"Input", ClassKind::Input},         {"Output", ClassKind::Output},
      {"Where", ClassKind::Where},         {"Over", ClassKind::Over},
      {"Monoid", ClassKind::Monoid},       {"Kernel", ClassKind::Kernel}};
  auto it = table.find(r->getName().str());
  return it == table.end() ? ClassKind::None : it->second;
}

Loc Walk::loc(SourceLocation caret, SourceRange range) const {
  if (!header_calls_.empty()) return header_calls_.back();
  Loc l;
  l.caret = caret.getRawEncoding();
  l.begin = range.getBegin().getRawEncoding();
  l.end = range.getEnd().getRawEncoding();
  const PresumedLoc p =
      ctx_.getSourceManager().getPresumedLoc(ctx_.getSourceManager().getExpansionLoc(caret));
  if (p.isValid()) {
    l.line = static_cast<int>(p.getLine());
    l.column = static_cast<int>(p.getColumn());
  }
  return l;
}
Loc Walk::loc(const Expr* e) const { return loc(e->getExprLoc(), e->getSourceRange()); }

TermPtr Walk::bad() {
  out_.broken = true;
  return seal(Term{});
}
TermPtr Walk::bad(Loc l, const std::string& message,
                  std::vector<std::pair<Loc, std::string>> notes) {
  diags_.push_back(Diag{true, l, message, std::move(notes)});
  return bad();
}
TermPtr Walk::sealed(Term t) {
  TermPtr p = seal(std::move(t));
  if (p->size > kMaxTermSize || p->depth > kMaxNesting)
    return bad(p->loc,
               "this expression is too large once functions and named values are written out",
               {{p->loc, "assign a part of it to a Tensor"}});
  return p;
}
TermPtr Walk::named(const VarDecl* v, TermPtr value) {
  Term t;
  t.kind = TermKind::Let;
  t.name = v->getName().str();
  while (!t.name.empty() && t.name.back() == '_') t.name.pop_back();
  t.in_helper = inlining_ > 0;
  t.loc = value->loc;
  t.args = {std::move(value)};
  return sealed(std::move(t));
}

// A C++ constant: numbers, constexpr variables, arithmetic of them.
std::optional<TermPtr> Walk::constant(const Expr* e) {
  if (!e->getType()->isArithmeticType() || e->isValueDependent()) return {};
  Expr::EvalResult r;
  if (!e->EvaluateAsRValue(r, ctx_) || r.HasSideEffects) return {};
  Term t;
  t.kind = TermKind::Number;
  t.loc = loc(e);
  if (r.Val.isInt()) {
    t.integer = true;
    t.boolean = e->getType()->isBooleanType();
    const llvm::APSInt& v = r.Val.getInt();
    if (v.getSignificantBits() > 62) return bad(t.loc, "this number is too large");
    t.value = static_cast<double>(v.getExtValue());
    if (std::fabs(t.value) > 9e15) return bad(t.loc, "this number is too large");
    if (const auto* b = dyn_cast<BinaryOperator>(e->IgnoreParenImpCasts()))
      if (b->getOpcode() == BO_Div) {
        Expr::EvalResult left, right;
        if (b->getLHS()->EvaluateAsInt(left, ctx_) && b->getRHS()->EvaluateAsInt(right, ctx_) &&
            right.Val.getInt() != 0 &&
            left.Val.getInt().getExtValue() % right.Val.getInt().getExtValue() != 0)
          diags_.push_back(
              Diag{false,
                   t.loc,
                   "in C++ this is an integer division with a remainder; its value is " +
                       std::to_string(v.getExtValue()),
                   {{t.loc, "write one of the numbers with a decimal point"}}});
      }
  } else if (r.Val.isFloat()) {
    llvm::APFloat v = r.Val.getFloat();
    bool lost = false;
    // 0.1f means 0.1 to the reader of a spec, whose arithmetic is f32 anyway.
    v.convert(llvm::APFloat::IEEEdouble(), llvm::APFloat::rmNearestTiesToEven, &lost);
    t.value = v.convertToDouble();
  } else {
    return {};
  }
  return seal(std::move(t));
}

TermPtr Walk::term(const Expr* e) {
  if (e->containsErrors() || budget_ < 0) return bad();
  if (--budget_ < 0)
    return bad(out_.loc, "kernel '" + out_.name + "' is too large once functions are written out",
               {{loc(e), "while reading this; assign parts of it to Tensors"}});
  if (nesting_ >= kMaxNesting)
    return bad(loc(e), "expression nested too deeply; assign a part of it to a Tensor");
  ++nesting_;
  TermPtr t = term_of(e);
  --nesting_;
  return t;
}

TermPtr Walk::term_of(const Expr* e) {
  if (auto c = constant(e)) return *c;
  if (const Expr* p = peel(e); p != e) return term(p);
  if (e->isTypeDependent() || e->isValueDependent())
    return bad(loc(e), "a spec cannot be a template; its meaning depends on template parameters");
  if (const auto* r = dyn_cast<DeclRefExpr>(e)) return reference(r);
  if (const auto* c = dyn_cast<CXXOperatorCallExpr>(e)) return operator_call(c);
  if (const auto* c = dyn_cast<CallExpr>(e)) {
    Binding b = call(c);
    return b.term ? b.term : bad(loc(e), "this is not a value");
  }
  if (const auto* b = dyn_cast<BinaryOperator>(e)) {
    auto op = binary_op(BinaryOperator::getOverloadedOperator(b->getOpcode()));
    if (op)
      return sealed(Term{.kind = TermKind::Apply,
                         .loc = loc(e),
                         .op = *op,
                         .args = {term(b->getLHS()), term(b->getRHS())}});
  }
  if (const auto* u = dyn_cast<UnaryOperator>(e)) {
    if (u->getOpcode() == UO_Plus) return term(u->getSubExpr());
    if (u->getOpcode() == UO_Minus || u->getOpcode() == UO_LNot)
      return sealed(Term{.kind = TermKind::Apply,
                         .loc = loc(e),
                         .op = u->getOpcode() == UO_Minus ? Apply::Neg : Apply::Not,
                         .args = {term(u->getSubExpr())}});
  }
  if (isa<ConditionalOperator>(e))
    return bad(loc(e), "?: cannot choose between values here",
               {{loc(e), "write select(condition, if_true, if_false)"}});
  if (const auto* c = dyn_cast<CXXConstructExpr>(e);
      c && class_of(c->getType()) == ClassKind::Value)
    return bad(loc(e), "a value is missing here");
  return bad(loc(e), "this C++ is not part of the spec language",
             {{loc(e),
               "a spec consists of declarations, definitions 'T(i, j) = ...', and functions that "
               "return a value"}});
}

TermPtr Walk::reference(const DeclRefExpr* r) {
  const ValueDecl* d = r->getDecl();
  if (auto it = bound_.find(d); it != bound_.end()) {
    if (it->second.alias) {
      Term t;
      t.kind = TermKind::Element;
      t.name = it->second.alias->getName().str();
      t.loc = loc(r);
      return sealed(std::move(t));
    }
    if (it->second.term) return it->second.term;
    if (it->second.over.size() == 1 && class_of(d->getType()) == ClassKind::Over) {
      Term t;
      t.kind = TermKind::Index;
      t.name = it->second.over[0].name;
      t.loc = loc(r);
      return sealed(std::move(t));
    }
    return bad(loc(r), "'" + d->getName().str() + "' is not a value");
  }
  const auto* v = dyn_cast<VarDecl>(d);
  if (!v) return bad(loc(r), "'" + d->getNameAsString() + "' is not a value");
  const ClassKind k = class_of(v->getType());
  if (k == ClassKind::ElementType)
    return bad(loc(r), "'" + v->getName().str() + "' is a type, not a value",
               {{loc(r), "a cast is written " + v->getName().str() + "(x)"}});
  Term t;
  t.name = v->getName().str();
  t.loc = loc(r);
  switch (k) {
    case ClassKind::Size:
      t.kind = TermKind::Size;
      break;
    case ClassKind::Index:
      t.kind = TermKind::Index;
      break;
    case ClassKind::Tensor:
    case ClassKind::Input:
    case ClassKind::Output:
      t.kind = TermKind::Element;
      break;
    case ClassKind::Value:
      if (!declare(v) || !bound_.count(d)) return bad(loc(r), "'" + t.name + "' has no value here");
      return bound_[d].term ? bound_[d].term : bad();
    default:
      // A number: nothing in a kernel can change it after its initialization.
      if (v->getType()->isArithmeticType() && v->isLocalVarDecl() && v->getInit())
        return term(v->getInit());
      return bad(loc(r), "the value of '" + t.name + "' is not known when the spec is read",
                 {{loc(r), "make it a constexpr, a Size or an Input"}});
  }
  if (!declare(v)) return bad();
  return sealed(std::move(t));
}

TermPtr Walk::operator_call(const CXXOperatorCallExpr* c) {
  const OverloadedOperatorKind k = c->getOperator();
  if (k == OO_Call) {
    const Expr* callee = c->getArg(0);
    switch (class_of(callee->getType())) {
      case ClassKind::ElementType: {
        auto type = element_type(callee);
        if (!type) return bad(loc(callee), "this element type is not known when the spec is read");
        return sealed(Term{
            .kind = TermKind::Cast, .loc = loc(c), .type = *type, .args = {term(c->getArg(1))}});
      }
      case ClassKind::Tensor:
      case ClassKind::Input:
      case ClassKind::Output:
        return element(callee, c);
      default: {
        const FunctionDecl* f = c->getDirectCallee();
        if (!f) return bad(loc(c), "this call is not part of the spec language");
        Binding b = inline_call(c, f, 1);
        return b.term ? b.term : bad(loc(c), "this is not a value");
      }
    }
  }
  const FunctionDecl* f = c->getDirectCallee();
  if (f && !in_spec_namespace(f) && f->hasBody()) {
    Binding b = inline_call(c, f, 0);
    return b.term ? b.term : bad(loc(c), "this is not a value");
  }
  if (c->getNumArgs() == 2)
    if (auto op = binary_op(k))
      return sealed(Term{.kind = TermKind::Apply,
                         .loc = loc(c),
                         .op = *op,
                         .args = {term(c->getArg(0)), term(c->getArg(1))}});
  if (c->getNumArgs() == 1) {
    if (k == OO_Plus) return term(c->getArg(0));
    if (k == OO_Minus || k == OO_Exclaim)
      return sealed(Term{.kind = TermKind::Apply,
                         .loc = loc(c),
                         .op = k == OO_Minus ? Apply::Neg : Apply::Not,
                         .args = {term(c->getArg(0))}});
  }
  if (k == OO_Equal) return bad(loc(c), "a definition cannot stand inside an expression");
  return bad(loc(c), "this operator is not part of the spec language");
}

const VarDecl* Walk::tensor_variable(const Expr* e) {
  const auto* r = dyn_cast<DeclRefExpr>(peel(e));
  if (!r) return nullptr;
  if (auto it = bound_.find(r->getDecl()); it != bound_.end()) return it->second.alias;
  return dyn_cast<VarDecl>(r->getDecl());
}

TermPtr Walk::element(const Expr* callee, const CXXOperatorCallExpr* c) {
  const VarDecl* v = tensor_variable(callee);
  if (!v) return bad(loc(callee), "which tensor this is is not known when the spec is read");
  if (!declare(v)) return bad();
  Term t;
  t.kind = TermKind::Element;
  t.name = v->getName().str();
  t.loc = loc(callee->getExprLoc(), c->getSourceRange());
  for (unsigned k = 1; k < c->getNumArgs(); ++k) {
    if (isa<CXXDefaultArgExpr>(c->getArg(k)->IgnoreImplicit())) break;
    t.args.push_back(term(c->getArg(k)));
  }
  return sealed(std::move(t));
}

std::optional<nautilus::Type> Walk::element_type(const Expr* e) {
  const auto* r = dyn_cast<DeclRefExpr>(peel(e));
  if (!r || !in_spec_namespace(r->getDecl())) return {};
  const std::string n = r->getDecl()->getNameAsString();
  return type_from_name(n == "boolean" ? "bool" : n);
}

std::vector<OverIndex> Walk::over(const Expr* e) {
  if (e->containsErrors()) return bad(), std::vector<OverIndex>{};
  e = peel(e);
  if (const auto* r = dyn_cast<DeclRefExpr>(e)) {
    if (auto it = bound_.find(r->getDecl()); it != bound_.end() && !it->second.over.empty())
      return it->second.over;
    TermPtr t = reference(r);
    if (t->kind == TermKind::Index) return {OverIndex{t->name, loc(r)}};
    if (t->kind != TermKind::Bad) bad(loc(r), "a reduction runs over an Index");
    return {};
  }
  if (const auto* c = dyn_cast<CXXConstructExpr>(e);
      c && class_of(c->getType()) == ClassKind::Over) {
    std::vector<OverIndex> out;
    for (const Expr* a : c->arguments())
      for (OverIndex& o : over(a)) out.push_back(std::move(o));
    return out;
  }
  if (const auto* l = dyn_cast<InitListExpr>(e)) {
    std::vector<OverIndex> out;
    for (const Expr* a : l->inits())
      for (OverIndex& o : over(a)) out.push_back(std::move(o));
    return out;
  }
  bad(loc(e), "a reduction runs over an Index or {i, j}");
  return {};
}

// What an expression stands for, by its type.
Binding Walk::evaluate(const Expr* e) {
  Binding b;
  switch (class_of(e->getType())) {
    case ClassKind::Over:
      b.over = over(e);
      break;
    case ClassKind::Monoid:
      b.monoid = monoid(e);
      break;
    case ClassKind::Tensor:
    case ClassKind::Input:
    case ClassKind::Output:
      b.alias = tensor_variable(e);
      if (!b.alias)
        bad(loc(e), "which tensor this is is not known when the spec is read");
      else
        declare(b.alias);
      break;
    case ClassKind::Where: {
      const Expr* p = peel(e);
      if (p->containsErrors())
        b.term = bad();
      else if (const auto* c = dyn_cast<CallExpr>(p))
        b = call(c);
      else if (const auto* r = dyn_cast<DeclRefExpr>(p)) {
        if (!bound_.count(r->getDecl()))
          if (const auto* v = dyn_cast<VarDecl>(r->getDecl())) declare(v);
        b.term = bound_.count(r->getDecl()) ? bound_[r->getDecl()].term : nullptr;
      }
      if (!b.term)
        b.term = bad(loc(e), "this is not a restriction", {{loc(e), "write where(condition)"}});
      break;
    }
    default:
      b.term = term(e);
  }
  return b;
}

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
