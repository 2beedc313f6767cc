// The spec language: mathematics in valid C++20 (spec-language.md). A spec is parsed by nautilusc
// and never executed, so nothing here has a body except the shorthands at the end: they are their
// textbook formulas, and the reader inlines them like any function of your own. No standard header
// is included.
//
//   #include <nautilus/spec.h>
//   using namespace nautilus::spec;
//   NAUTILUS_KERNEL(row_softmax) {
//     Size N = typical(64), M = multiple_of(8).typical(256);
//     Input X(f32, {N, M});
//     Output Y(f32, {N, M});
//     Index i(N), j(M);
//     Y(i, j) = softmax(j, X(i, j));
//   }
#pragma once

namespace nautilus::spec {

class Index;
class Size;
class Tensor;

// A scalar of the mathematics: an element, an index value, a number, a truth value. Partial: it may
// be undefined at some index values (see where); an operation is defined where all its operands
// are. A local `Value v = ...;` names an intermediate; one that several reductions read is computed
// once.
class Value {
 public:
  Value();
  Value(int);
  Value(long);
  Value(long long);
  Value(unsigned);
  Value(unsigned long);
  Value(float);
  Value(double);
  Value(bool);
  Value(const Index&);
  Value(const Size&);
  Value(const Tensor&);  // a scalar (rank 0) tensor

 protected:
  struct Nothing {};
  Value(Nothing);
  friend struct None;
};
struct None : Value {
  None() : Value(Nothing{}) {}
};
#define NAUTILUS_SPEC_ARGUMENTS                                                                   \
  Value = None(), Value = None(), Value = None(), Value = None(), Value = None(), Value = None(), \
  Value = None(), Value = None(), Value = None(), Value = None()

// Facts about a size, that the compiler may use; `typical` is the default for run and explore.
class SizeFacts {
 public:
  SizeFacts multiple_of(long) const;
  SizeFacts at_least(Value) const;  // a number or an affine expression of sizes declared before
  SizeFacts at_most(Value) const;
  SizeFacts equal_to(Value) const;
  SizeFacts typical(long) const;
};
SizeFacts multiple_of(long);
SizeFacts at_least(Value);
SizeFacts at_most(Value);
SizeFacts equal_to(Value);
SizeFacts typical(long);

// A symbolic size >= 0, bound on the command line. Size D = multiple_of(16).typical(128);
class Size {
 public:
  Size();
  Size(SizeFacts);
};

// An index that runs over 0 .. extent-1.
class Index {
 public:
  explicit Index(Value extent);
};

// Element types; called, they are casts: f16(x). Arithmetic is in f32 (f64 if an operand is f64,
// i32 on integers).
class ElementType {
 public:
  Value operator()(Value) const;
};
inline constexpr ElementType f64{}, f32{}, f16{}, bf16{}, e4m3{}, e5m2{}, i8{}, i32{}, boolean{};

class Shape {
 public:
  Shape();
  Shape(Value, NAUTILUS_SPEC_ARGUMENTS);
};

// An element of a tensor: read in expressions, defined by assignment.
class Element : public Value {
 public:
  void operator=(Value) const;
  void operator=(const Element&) const;
};

// An intermediate. Without a shape it has that of the indices in its definition.
class Tensor {
 public:
  explicit Tensor(ElementType);
  Tensor(ElementType, Shape);
  Element operator()(Value = None(), NAUTILUS_SPEC_ARGUMENTS) const;
};
class Input : public Tensor {
 public:
  explicit Input(ElementType);  // a scalar
  Input(ElementType, Shape);
};
class Output : public Tensor {
 public:
  explicit Output(ElementType);  // a scalar
  Output(ElementType, Shape);
};

// A restriction. where(c): terms of a reduction that do not fulfil c are absent. where(c, x): x,
// undefined elsewhere; what is defined by it is defined on c only. Conditions are affine
// comparisons of indices and sizes joined by && || !, or data-dependent ones that read tensors
// (ragged lengths).
class Where {};
Where where(Value condition);
Value where(Value condition, Value x);
Value where(Where w, Value x);

// The indices of a reduction: sum(j, ...) or sum({i, j}, ...).
class Over {
 public:
  Over(Index);
  Over(Index, Index);
  Over(Index, Index, Index);
  Over(Index, Index, Index, Index);
  Over(Index, Index, Index, Index, Index);
  Over(Index, Index, Index, Index, Index, Index);
};
#define NAUTILUS_SPEC_REDUCTION(name) \
  Value name(Over, Value);            \
  Value name(Over, Where, Value);
NAUTILUS_SPEC_REDUCTION(sum)
NAUTILUS_SPEC_REDUCTION(prod)
NAUTILUS_SPEC_REDUCTION(max)
NAUTILUS_SPEC_REDUCTION(min)
NAUTILUS_SPEC_REDUCTION(any)
NAUTILUS_SPEC_REDUCTION(all)
#undef NAUTILUS_SPEC_REDUCTION
Value max(Index, Value);
Value min(Index, Value);
Value count(Over);         // how many index values there are
Value count(Over, Where);  // how many fulfil the condition

// A reduction of your own; `combine` must be associative and commutative, which is checked by
// samples.
//   Monoid absmax(0, [](Value a, Value b) { return max(abs(a), abs(b)); });
//   Y(i) = reduce(absmax, j, X(i, j));
class Monoid {
 public:
  Monoid(Value identity, Value (*combine)(Value, Value));
};
Value reduce(const Monoid&, Over, Value);
Value reduce(const Monoid&, Over, Where, Value);

// Point-wise mathematics. On indices and sizes / is the floor of the quotient and % its remainder,
// both by a positive constant only.
Value operator+(Value, Value);
Value operator-(Value, Value);
Value operator*(Value, Value);
Value operator/(Value, Value);
Value operator%(Value, Value);
Value operator-(Value);
Value operator+(Value);
Value operator<(Value, Value);
Value operator<=(Value, Value);
Value operator>(Value, Value);
Value operator>=(Value, Value);
Value operator==(Value, Value);
Value operator!=(Value, Value);
Value operator&&(Value, Value);
Value operator||(Value, Value);
Value operator!(Value);
Value select(Value condition, Value if_true, Value if_false);
Value max(Value, Value);
Value min(Value, Value);
Value pow(Value, Value);
Value abs(Value);
Value exp(Value);
Value exp2(Value);
Value log(Value);
Value log2(Value);
Value sqrt(Value);
Value rsqrt(Value);
Value recip(Value);
Value tanh(Value);
Value erf(Value);
Value sigmoid(Value);
Value floor(Value);
inline constexpr double infinity = __builtin_huge_val();
inline constexpr double pi = 3.14159265358979323846;

// What NAUTILUS_KERNEL marks a function with.
class Kernel {};
#define NAUTILUS_KERNEL(name) [[maybe_unused]] static void name(::nautilus::spec::Kernel)

// --- shorthands: textbook formulas over the primitive reductions -----------------------------
inline Value softmax(Over j, Where w, Value x) {
  Value x_ = where(w, x);
  Value exp_ = exp(x_ - max(j, x_));
  return exp_ / sum(j, exp_);
}
inline Value logsumexp(Over j, Where w, Value x) {
  Value x_ = where(w, x);
  Value max_ = max(j, x_);
  return max_ + log(sum(j, exp(x_ - max_)));
}
inline Value mean(Over j, Where w, Value x) { return sum(j, w, x) / count(j, w); }
inline Value variance(Over j, Where w, Value x) {
  Value x_ = where(w, x);
  Value mean_ = mean(j, w, x_);
  Value centred = x_ - mean_;
  return mean(j, w, centred * centred);
}
inline Value rms(Over j, Where w, Value x) { return sqrt(mean(j, w, x * x)); }
inline Value softmax(Over j, Value x) { return softmax(j, where(true), x); }
inline Value logsumexp(Over j, Value x) { return logsumexp(j, where(true), x); }
inline Value mean(Over j, Value x) { return mean(j, where(true), x); }
inline Value variance(Over j, Value x) { return variance(j, where(true), x); }
inline Value rms(Over j, Value x) { return rms(j, where(true), x); }

}  // namespace nautilus::spec
