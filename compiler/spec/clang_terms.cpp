// Expressions of Clang's AST to terms. Calls of functions are in clang_calls.cpp.
#include <cmath>

#include "compiler/spec/clang_walk.h"

namespace nautilus::spec {

using namespace clang;

namespace {

constexpr int kMaxNesting = 400;
constexpr double kMaxTermSize = 50'000;

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

}  // namespace

bool Walk::in_spec_namespace(const Decl* d) {
  const auto* ns = dyn_cast<NamespaceDecl>(d->getDeclContext()->getRedeclContext());
  if (!ns || ns->getName() != "spec") return false;
  const auto* outer = dyn_cast<NamespaceDecl>(ns->getDeclContext()->getRedeclContext());
  return outer && outer->getName() == "nautilus" && outer->getDeclContext()->isTranslationUnit();
}

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
    const auto too_large = [&] {
      return bad(
          t.loc, "this number is too large",
          {{t.loc, "as a value write it with a decimal point (1e18); integers lie below 9e15"}});
    };
    if (v.getSignificantBits() > 62) return too_large();
    t.value = static_cast<double>(v.getExtValue());
    if (std::fabs(t.value) > 9e15) return too_large();
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

}  // namespace nautilus::spec
