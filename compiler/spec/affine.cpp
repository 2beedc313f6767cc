// Integer terms and conditions as isl text, with the reasons why some are not affine.
#include <cmath>

#include "compiler/spec/lower_kernel.h"

namespace nautilus::spec {

namespace {

constexpr int64_t kMaxConstant = int64_t{1} << 40;  // said so where it is exceeded

const char* compare_text(Apply op) {
  switch (op) {
    case Apply::Lt:
      return " < ";
    case Apply::Le:
      return " <= ";
    case Apply::Gt:
      return " > ";
    case Apply::Ge:
      return " >= ";
    case Apply::Eq:
      return " = ";
    case Apply::Ne:
      return " != ";
    default:
      return nullptr;
  }
}

}  // namespace

// The value of an integer term without sizes and indices.
std::optional<int64_t> Lowering::const_int(const TermPtr& t) const {
  if (!t) return {};
  if (t->kind == TermKind::Let) return const_int(t->args[0]);
  if (t->kind == TermKind::Number) {
    if (!t->integer || std::fabs(t->value) > static_cast<double>(kMaxConstant)) return {};
    return static_cast<int64_t>(t->value);
  }
  if (t->kind != TermKind::Apply || t->op > Apply::Neg) return {};
  auto a = const_int(t->args[0]);
  if (!a) return {};
  if (t->op == Apply::Neg) return -*a;
  auto b = const_int(t->args[1]);
  if (!b) return {};
  int64_t r = 0;
  switch (t->op) {
    case Apply::Add:
      r = *a + *b;
      break;
    case Apply::Sub:
      r = *a - *b;
      break;
    case Apply::Mul:
      if (__builtin_mul_overflow(*a, *b, &r)) return {};
      break;
    case Apply::Div:
    case Apply::Mod: {
      if (*b <= 0) return {};
      const int64_t q = *a >= 0 ? *a / *b : -((-*a + *b - 1) / *b);
      r = t->op == Apply::Div ? q : *a - q * *b;
      break;
    }
    default:
      return {};
  }
  if (r > kMaxConstant || r < -kMaxConstant) return {};
  return r;
}

// `b`: the statement whose dims may occur; null: sizes only.
std::optional<std::string> Lowering::affine(const Builder* b, const TermPtr& t) {
  if (auto c = const_int(t)) return std::to_string(*c);
  switch (t->kind) {
    case TermKind::Bad:
      failed_ = true;
      return {};
    case TermKind::Number:
      if (t->integer && !t->boolean)
        return error(t->loc, "this number is too large for an index",
                     {{t->loc,
                       "numbers of indices and sizes lie below 2^40; a larger one can be a value, "
                       "with a decimal point"}});
      return error(t->loc, "an index must be an integer, not " + to_text(t));
    case TermKind::Size:
      return t->name;
    case TermKind::Index:
      if (!b)
        return error(t->loc,
                     "index '" + t->name + "' cannot be used here: only sizes and numbers can");
      if (!b->has_dim(t->name))
        return error(t->loc, "index '" + t->name + "' is used outside its reduction",
                     {{t->loc,
                       "it must stand on the left of the definition, or be run over by a reduction "
                       "around this term: sum(" +
                           t->name + ", ...)"}});
      used_indices_.insert(t->name);
      return t->name;
    case TermKind::Let:
      return affine(b, t->args[0]);
    case TermKind::Apply: {
      if (t->op > Apply::Neg) break;
      auto x = affine(b, t->args[0]);
      if (!x) return {};
      if (t->op == Apply::Neg) return "(-(" + *x + "))";
      auto y = affine(b, t->args[1]);
      if (!y) return {};
      if (t->op == Apply::Add) return "(" + *x + " + " + *y + ")";
      if (t->op == Apply::Sub) return "(" + *x + " - (" + *y + "))";
      const auto cx = const_int(t->args[0]), cy = const_int(t->args[1]);
      if (t->op == Apply::Mul) {
        if (cx) return "(" + std::to_string(*cx) + "*(" + *y + "))";
        if (cy) return "(" + std::to_string(*cy) + "*(" + *x + "))";
        return error(t->loc, "'" + to_text(t) + "' is not affine: it multiplies two symbols",
                     {{t->loc,
                       "give the tensor one dimension more instead of linearizing by hand; as a "
                       "value write f32(" +
                           to_text(t->args[0]) + ") * f32(" + to_text(t->args[1]) + ")"}});
      }
      if (!cy || *cy <= 0)
        return error(t->args[1]->loc,
                     std::string(t->op == Apply::Div ? "/" : "%") +
                         " in an index needs a positive constant on its right",
                     {{t->loc, "use a number instead of '" + to_text(t->args[1]) +
                                   "', or one more dimension"}});
      return t->op == Apply::Div ? "floor((" + *x + ")/" + std::to_string(*cy) + ")"
                                 : "((" + *x + ") mod " + std::to_string(*cy) + ")";
    }
    default:
      break;
  }
  return error(t->loc, "'" + to_text(t) + "' is not an affine expression of indices and sizes",
               {{t->loc,
                 "+, -, * and / and % by constants are allowed; an element of an integer tensor "
                 "may index directly"}});
}

std::optional<std::string> Lowering::condition(const Builder* b, const TermPtr& t) {
  if (t->kind == TermKind::Let) return condition(b, t->args[0]);
  if (t->kind == TermKind::Bad) {
    failed_ = true;
    return {};
  }
  if (t->kind == TermKind::Number && t->boolean) return t->value != 0 ? "0 = 0" : "0 = 1";
  if (t->kind == TermKind::Apply) {
    if (t->op == Apply::And || t->op == Apply::Or) {
      auto x = condition(b, t->args[0]), y = condition(b, t->args[1]);
      if (!x || !y) return {};
      return "(" + *x + (t->op == Apply::And ? " and " : " or ") + *y + ")";
    }
    if (t->op == Apply::Not) {
      auto x = condition(b, t->args[0]);
      if (!x) return {};
      return "(not (" + *x + "))";
    }
    if (const char* op = compare_text(t->op)) {
      for (const TermPtr& a : t->args)
        if (strip_lets(a)->kind == TermKind::Apply && strip_lets(a)->op >= Apply::Lt &&
            strip_lets(a)->op <= Apply::Not)
          return error(a->loc, "a comparison cannot be compared again",
                       {{t->loc, "write a <= b && b <= c"}});
      auto x = affine(b, t->args[0]), y = affine(b, t->args[1]);
      if (!x || !y) return {};
      return "(" + *x + op + *y + ")";
    }
  }
  return error(t->loc, "'" + to_text(t) + "' is not a condition",
               {{t->loc, "compare with < <= > >= == !="}});
}

}  // namespace nautilus::spec
