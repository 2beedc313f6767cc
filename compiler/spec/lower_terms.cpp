// Scalar terms to expressions of a statement: classes of values, casts, restrictions, reads, named
// values.
#include <algorithm>

#include "compiler/spec/lower_kernel.h"

namespace nautilus::spec {

namespace {

ScalarClass class_of_type(Type t) {
  return t == Type::Bool ? ScalarClass::Bool : is_float(t) ? ScalarClass::Float : ScalarClass::Int;
}
bool is_comparison(Apply op) { return op >= Apply::Lt && op <= Apply::Ne; }

std::optional<Op> unary_float(Apply op) {
  switch (op) {
    case Apply::Exp:
      return Op::Exp;
    case Apply::Exp2:
      return Op::Exp2;
    case Apply::Log:
      return Op::Log;
    case Apply::Log2:
      return Op::Log2;
    case Apply::Sqrt:
      return Op::Sqrt;
    case Apply::Rsqrt:
      return Op::Rsqrt;
    case Apply::Recip:
      return Op::Recip;
    case Apply::Tanh:
      return Op::Tanh;
    case Apply::Erf:
      return Op::Erf;
    case Apply::Sigmoid:
      return Op::Sigmoid;
    case Apply::Floor:
      return Op::Floor;
    default:
      return {};
  }
}

}  // namespace

std::nullopt_t Lowering::error(const Loc& loc, const std::string& message,
                               std::vector<std::pair<Loc, std::string>> notes) {
  failed_ = true;
  for (const Diag& d :
       diags_)  // one report a place and reason: shared terms are visited more than once
    if (d.error && d.loc.caret == loc.caret && d.message == message) return std::nullopt;
  diags_.push_back(Diag{true, loc, message, std::move(notes)});
  return std::nullopt;
}
void Lowering::warn(const Loc& loc, const std::string& message,
                    std::vector<std::pair<Loc, std::string>> notes) {
  for (const Diag& d : diags_)
    if (d.loc.caret == loc.caret && d.message == message) return;
  diags_.push_back(Diag{false, loc, message, std::move(notes)});
}

// An integer term of sizes as a number: sizes are exact in f32 up to 2^24, and products must not
// wrap.
std::optional<Expr> Lowering::size_value(const TermPtr& t) {
  if (t->kind == TermKind::Number) return Expr::constant(t->value);
  if (t->kind == TermKind::Size) return Expr::param(t->name);
  if (t->kind == TermKind::Let) return size_value(t->args[0]);
  if (t->kind != TermKind::Apply || t->op > Apply::Neg)
    return error(t->loc, "'" + to_text(t) + "' is not a number");
  if (auto c = const_int(t)) return Expr::constant(static_cast<double>(*c));
  auto a = size_value(t->args[0]);
  if (!a) return {};
  const Expr x = (*a)->op == Op::Param ? Expr::cast(*a, Type::F32) : *a;
  if (t->op == Apply::Neg) return -x;
  auto b = size_value(t->args[1]);
  if (!b) return {};
  const Expr y = (*b)->op == Op::Param ? Expr::cast(*b, Type::F32) : *b;
  if (t->op == Apply::Add) return x + y;
  if (t->op == Apply::Sub) return x - y;
  if (t->op == Apply::Mul) return x * y;
  const auto divisor = const_int(t->args[1]);
  if (!divisor || *divisor <= 0)
    return error(t->loc,
                 "between sizes, " + std::string(t->op == Apply::Div ? "/" : "%") +
                     " needs a positive constant on its right",
                 {{t->loc, "for a real quotient write f32(" + to_text(t->args[0]) + ") / " +
                               to_text(t->args[1])}});
  const Expr q = Expr::make(Op::Floor, {x / y});
  return t->op == Apply::Div ? q : x - q * y;
}

std::optional<Expr> Lowering::as_float(Builder& b, const Scalar& s, Type type) {
  (void)b;
  switch (s.cls) {
    case ScalarClass::Float:
    case ScalarClass::Real:
      return s.e;
    case ScalarClass::Adaptive: {
      auto v = size_value(s.term);
      if (!v) return {};
      return type == Type::F64 && (*v)->op != Op::Const ? Expr::cast(*v, Type::F64) : *v;
    }
    case ScalarClass::Bool:
      return error(s.term->loc, "a truth value is not a number",
                   {{s.term->loc, "write select(condition, a, b), or f32(...) for 0 and 1"}});
    case ScalarClass::IndexValue:
      return error(s.term->loc, "an index value among real numbers needs a cast",
                   {{s.term->loc, "write f32(" + to_text(s.term) + ")"}});
    case ScalarClass::Int:
      return error(s.term->loc, "an integer among real numbers needs a cast",
                   {{s.term->loc, "write f32(" + to_text(s.term) + ")"}});
  }
  return {};
}

std::optional<Expr> Lowering::as_int(Builder& b, const Scalar& s) {
  switch (s.cls) {
    case ScalarClass::Int:
      return s.e;
    case ScalarClass::Adaptive:
      if (auto c = const_int(s.term)) return Expr::constant(static_cast<double>(*c), Type::I32);
      [[fallthrough]];
    case ScalarClass::IndexValue: {
      auto text = affine(&b, s.term);
      if (!text) return {};
      auto it = std::find(b.indices.begin(), b.indices.end(), *text);
      if (it == b.indices.end()) it = b.indices.insert(b.indices.end(), *text);
      return Expr::index(static_cast<int>(it - b.indices.begin()));
    }
    case ScalarClass::Bool:
      return error(s.term->loc, "a truth value is not a number",
                   {{s.term->loc, "write select(condition, a, b), or i32(...) for 0 and 1"}});
    case ScalarClass::Float:
    case ScalarClass::Real:
      return error(s.term->loc, "a real number among integers needs a cast",
                   {{s.term->loc, "cast the integers to f32, or this one with i32(...)"}});
  }
  return {};
}

std::optional<Expr> Lowering::as_bool(Builder& b, const Scalar& s) {
  (void)b;
  if (s.cls == ScalarClass::Bool) return s.e;
  return error(s.term->loc, "a condition is needed here",
               {{s.term->loc, "compare: " + to_text(s.term) + " != 0"}});
}

// Two operands brought to one class. Sizes and integer numbers follow the other operand.
std::optional<Lowering::Pair> Lowering::pair(Builder& b, const Scalar& x, const Scalar& y,
                                             const TermPtr& at) {
  auto integral = [](const Scalar& s) {
    return s.cls == ScalarClass::Int || s.cls == ScalarClass::IndexValue;
  };
  auto real = [](const Scalar& s) {
    return s.cls == ScalarClass::Float || s.cls == ScalarClass::Real;
  };
  if ((integral(x) && real(y)) || (real(x) && integral(y))) {
    const Scalar& i = integral(x) ? x : y;
    const char* what = i.cls == ScalarClass::IndexValue ? "an index value" : "an integer";
    return error(i.term->loc, std::string(what) + " among real numbers needs a cast",
                 {{i.term->loc, "write f32(" + to_text(i.term) + ")"}});
  }
  (void)at;
  if (integral(x) || integral(y)) {
    auto p = as_int(b, x), q = as_int(b, y);
    if (!p || !q) return {};
    return Pair{*p, *q, ScalarClass::Int};
  }
  const bool wide = (x.e && x.e->type == Type::F64) || (y.e && y.e->type == Type::F64);
  auto p = as_float(b, x, wide ? Type::F64 : Type::F32),
       q = as_float(b, y, wide ? Type::F64 : Type::F32);
  if (!p || !q) return {};
  return Pair{*p, *q, ScalarClass::Float};
}

std::optional<Scalar> Lowering::scalar(Builder& b, const TermPtr& t) {
  switch (t->kind) {
    case TermKind::Bad:
      failed_ = true;
      return {};
    case TermKind::Number:
      if (t->boolean) return Scalar{Expr::constant(t->value, Type::Bool), ScalarClass::Bool, t};
      if (t->integer) return Scalar{{}, ScalarClass::Adaptive, t};
      return Scalar{Expr::constant(t->value), ScalarClass::Real, t};
    case TermKind::Size:
      return Scalar{{}, ScalarClass::Adaptive, t};
    case TermKind::Index:
      return Scalar{{}, ScalarClass::IndexValue, t};
    case TermKind::Element:
      return read(b, t);
    case TermKind::Reduce:
      return reduce(b, t);
    case TermKind::Cast:
      return cast(b, t);
    case TermKind::Where: {
      // Undefined where the condition does not hold; so is everything computed from it.
      if (!restrict(b, t->args[0])) return {};
      return scalar(b, t->args[1]);
    }
    case TermKind::Var: {
      const Type type = b.var_type.value_or(Type::F32);
      return Scalar{Expr::var(t->name, type), class_of_type(type), t};
    }
    case TermKind::Let:
      return let(b, t);
    case TermKind::Apply:
      return apply(b, t);
  }
  return {};
}

std::optional<Scalar> Lowering::apply(Builder& b, const TermPtr& t) {
  if (is_integer_term(t))
    return Scalar{{}, free_indices(t).empty() ? ScalarClass::Adaptive : ScalarClass::IndexValue, t};
  std::vector<Scalar> args;
  for (const TermPtr& a : t->args) {
    auto s = scalar(b, a);
    if (!s) return {};
    args.push_back(*s);
  }
  auto made = [&](Op op, std::vector<Expr> e, ScalarClass c) {
    return Scalar{Expr::make(op, std::move(e)), c, t};
  };
  if (auto op = unary_float(t->op)) {
    auto x = as_float(b, args[0]);
    if (!x) return {};
    return made(*op, {*x}, ScalarClass::Float);
  }
  switch (t->op) {
    case Apply::Neg:
    case Apply::Abs: {
      const Op op = t->op == Apply::Neg ? Op::Neg : Op::Abs;
      if (args[0].cls == ScalarClass::Int || args[0].cls == ScalarClass::IndexValue) {
        auto x = as_int(b, args[0]);
        if (!x) return {};
        return made(op, {*x}, ScalarClass::Int);
      }
      auto x = as_float(b, args[0]);
      if (!x) return {};
      if (t->op == Apply::Neg && (*x)->op == Op::Const)  // -infinity is a number, not an operation
        return Scalar{Expr::constant(-(*x)->value, (*x)->type), ScalarClass::Real, t};
      return made(op, {*x}, ScalarClass::Float);
    }
    case Apply::And:
    case Apply::Or: {
      auto x = as_bool(b, args[0]), y = as_bool(b, args[1]);
      if (!x || !y) return {};
      return made(t->op == Apply::And ? Op::And : Op::Or, {*x, *y}, ScalarClass::Bool);
    }
    case Apply::Not: {
      auto x = as_bool(b, args[0]);
      if (!x) return {};
      return made(Op::Not, {*x}, ScalarClass::Bool);
    }
    case Apply::Select: {
      auto c = as_bool(b, args[0]);
      if (!c) return {};
      if (args[1].cls == ScalarClass::Bool && args[2].cls == ScalarClass::Bool)
        return made(Op::Select, {*c, args[1].e, args[2].e}, ScalarClass::Bool);
      auto p = pair(b, args[1], args[2], t);
      if (!p) return {};
      return made(Op::Select, {*c, p->a, p->b}, p->cls);
    }
    case Apply::Mod:
      return error(t->loc, "% is for indices and sizes, by a positive constant",
                   {{t->loc, "the remainder of values is x - y * floor(x / y)"}});
    default:
      break;
  }
  if (is_comparison(t->op) && (t->op == Apply::Eq || t->op == Apply::Ne) &&
      args[0].cls == ScalarClass::Bool && args[1].cls == ScalarClass::Bool)
    return made(t->op == Apply::Eq ? Op::Eq : Op::Ne, {args[0].e, args[1].e}, ScalarClass::Bool);
  auto p = pair(b, args[0], args[1], t);
  if (!p) return {};
  if (is_comparison(t->op) && args[0].cls == ScalarClass::Adaptive &&
      args[1].cls == ScalarClass::Adaptive) {
    auto x = as_int(b, args[0]), y = as_int(b, args[1]);  // sizes compare as integers
    if (!x || !y) return {};
    p->a = *x;
    p->b = *y;
  }
  switch (t->op) {
    case Apply::Lt:
      return made(Op::Lt, {p->a, p->b}, ScalarClass::Bool);
    case Apply::Le:
      return made(Op::Le, {p->a, p->b}, ScalarClass::Bool);
    case Apply::Gt:
      return made(Op::Lt, {p->b, p->a}, ScalarClass::Bool);
    case Apply::Ge:
      return made(Op::Le, {p->b, p->a}, ScalarClass::Bool);
    case Apply::Eq:
      return made(Op::Eq, {p->a, p->b}, ScalarClass::Bool);
    case Apply::Ne:
      return made(Op::Ne, {p->a, p->b}, ScalarClass::Bool);
    case Apply::Add:
      return made(Op::Add, {p->a, p->b}, p->cls);
    case Apply::Sub:
      return made(Op::Sub, {p->a, p->b}, p->cls);
    case Apply::Mul:
      return made(Op::Mul, {p->a, p->b}, p->cls);
    case Apply::Max:
      return made(Op::Max, {p->a, p->b}, p->cls);
    case Apply::Min:
      return made(Op::Min, {p->a, p->b}, p->cls);
    case Apply::Div:
    case Apply::Pow:
      if (p->cls == ScalarClass::Int)
        return error(t->loc,
                     std::string(t->op == Apply::Div ? "/" : "pow") + " of integers needs a cast",
                     {{t->loc, "write f32(...) around the operands"}});
      return made(t->op == Apply::Div ? Op::Div : Op::Pow, {p->a, p->b}, ScalarClass::Float);
    default:
      break;
  }
  return error(t->loc, "this operation is not possible here",
               {{t->loc,
                 "write it with + - * /, comparisons, select and the functions of "
                 "nautilus/spec.h"}});
}

std::optional<Scalar> Lowering::cast(Builder& b, const TermPtr& t) {
  auto s = scalar(b, t->args[0]);
  if (!s) return {};
  std::optional<Expr> e;
  if (s->cls == ScalarClass::Bool)
    e = s->e;
  else if (s->cls == ScalarClass::Int || s->cls == ScalarClass::IndexValue)
    e = as_int(b, *s);
  else
    e = as_float(b, *s, t->type);
  if (!e) return {};
  if (t->type == Type::Bool && s->cls != ScalarClass::Bool)
    return error(t->loc, "a number is not cast to a truth value",
                 {{t->loc, "compare: " + to_text(t->args[0]) + " != 0"}});
  if ((*e)->type == t->type && (*e)->op != Op::Const) return Scalar{*e, class_of_type(t->type), t};
  return Scalar{Expr::cast(*e, t->type), class_of_type(t->type), t};
}

// What a store to a tensor of this type holds: floats narrow silently (a Cast node), everything
// else asks.
std::optional<Expr> Lowering::stored(Builder& b, const Scalar& s, Type type, const Loc& loc,
                                     const std::string& tensor) {
  const std::string name(type_name(type));
  auto needs_cast = [&](const char* what) {
    return error(
        loc, "'" + tensor + "' holds " + name + ", but this is " + what + ": it needs a cast",
        {{s.term->loc, type == Type::Bool ? "compare: " + to_text(s.term) + " != 0"
                                          : "write " + name + "(" + to_text(s.term) + ")"}});
  };
  if (type == Type::Bool)
    return s.cls == ScalarClass::Bool ? std::optional<Expr>(s.e) : needs_cast("a number");
  if (s.cls == ScalarClass::Bool) return needs_cast("a truth value");
  if (is_float(type)) {
    if (s.cls == ScalarClass::Int) return needs_cast("an integer");
    if (s.cls == ScalarClass::IndexValue) return needs_cast("an index value");
    auto e = as_float(b, s, type);
    if (!e) return {};
    const Type from = (*e)->type;
    const bool widens = (type == Type::F32 && from != Type::F64) || type == Type::F64;
    return from == type || widens ? *e : Expr::cast(*e, type);
  }
  if (s.cls == ScalarClass::Float || s.cls == ScalarClass::Real) return needs_cast("a real number");
  auto e = as_int(b, s);
  if (!e) return {};
  if (type == Type::I8 && (*e)->type != Type::I8) {
    if ((*e)->op != Op::Const) return needs_cast("an i32");
    return Expr::constant((*e)->value, Type::I8);
  }
  return *e;
}

// Conjuncts that read no tensor restrict the domain; the others become the statement's guard.
bool Lowering::restrict(Builder& b, const TermPtr& condition_term) {
  const TermPtr t = strip_lets(condition_term);
  if (t->kind == TermKind::Bad) {
    failed_ = true;
    return false;
  }
  if (t->kind == TermKind::Apply && t->op == Apply::And)
    return restrict(b, t->args[0])&& restrict(b, t->args[1]);
  if (t->kind == TermKind::Number && t->boolean && t->value != 0) return true;
  auto keep = [&](std::vector<TermPtr>& list) {
    for (const TermPtr& x : list)
      if (x == t || to_text(x) == to_text(t)) return;
    list.push_back(t);
  };
  if (reads_tensors(t)) {
    keep(b.guard);
    return true;
  }
  auto text = condition(&b, t);
  if (!text) return false;
  if (std::find(b.conditions.begin(), b.conditions.end(), *text) == b.conditions.end())
    b.conditions.push_back(*text);
  keep(b.restrictions);
  return true;
}

TermPtr Lowering::element_term(const std::string& tensor, const std::vector<std::string>& dims,
                               const Loc& loc) const {
  Term t;
  t.kind = TermKind::Element;
  t.name = tensor;
  t.loc = loc;
  for (const std::string& d : dims) {
    Term i;
    i.kind = TermKind::Index;
    i.name = d;
    i.loc = loc;
    t.args.push_back(seal(std::move(i)));
  }
  return seal(std::move(t));
}

// A named value: written out, or computed once as a tensor over the indices it depends on.
std::optional<Scalar> Lowering::let(Builder& b, const TermPtr& t) {
  if (!materialize_[t.get()]) return scalar(b, t->args[0]);
  if (auto it = lets_.find(t.get()); it != lets_.end())
    return read(b, element_term(it->second.tensor, it->second.dims, t->loc));
  const std::set<std::string> free = free_indices(t);
  Builder inner;
  for (const std::string& d : b.dims)
    if (free.count(d)) inner.dims.push_back(d);
  inner.n_free = inner.dims.size();
  auto s = scalar(inner, t->args[0]);
  if (!s) return {};
  Type type = Type::F32;
  if (s->cls == ScalarClass::Bool)
    type = Type::Bool;
  else if (s->cls == ScalarClass::Int || s->cls == ScalarClass::IndexValue)
    type = Type::I32;
  else if (s->e && s->e->type == Type::F64)
    type = Type::F64;
  auto e = stored(inner, *s, type, t->loc, t->name);
  if (!e) return {};
  const std::string name =
      new_tensor(t->in_helper ? target_ + "_" + t->name : t->name, type, inner.dims);
  isl::set written;
  if (!finish(inner, name, inner.dims, *e, {}, t->loc, &written)) return {};
  TensorState& state = state_.at(name);
  state.defined = written;
  state.total = state.elements.is_subset(written);
  state.guard = inner.guard;
  state.guard_dims = inner.dims;
  lets_[t.get()] = Made{name, inner.dims};
  return read(b, element_term(name, inner.dims, t->loc));
}

}  // namespace nautilus::spec
