// What a spec says, freed from Clang: kernels of sizes, indices, tensors and definitions, whose
// right-hand sides are terms. Made by clang_terms, checked and lowered to Programs by lower_kernel.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "polyhedral/expr.h"
#include "polyhedral/program.h"

namespace nautilus::spec {

// A place in the source. The raw numbers are Clang's encodings: opaque here, handed back for
// carets.
struct Loc {
  uint32_t caret = 0, begin = 0, end = 0;
  int line = 0, column = 0;
};

struct Diag {
  bool error = true;
  Loc loc;
  std::string message;
  std::vector<std::pair<Loc, std::string>> notes;
};

enum class TermKind : uint8_t {
  Number,   // value; integer: written as an integer; boolean: true/false
  Size,     // name
  Index,    // name
  Element,  // name: the tensor; args: its indices
  Apply,    // op, args
  Cast,     // type, args[0]
  Where,    // args[0]: condition, args[1]: the term
  Reduce,   // name: "sum" .. "all", "count", "user"; over; args[0]: the term, args[1]: condition or
            // null
  Let,      // name, args[0]: a named intermediate
  Var,      // name: "a", "b" in a monoid's combine
  Bad,      // already reported
};
// Operations of Apply: those of Op by arity, and the ones that exist only before lowering.
enum class Apply : uint8_t {
  Add,
  Sub,
  Mul,
  Div,
  Mod,
  Neg,
  Lt,
  Le,
  Gt,
  Ge,
  Eq,
  Ne,
  And,
  Or,
  Not,
  Select,
  Max,
  Min,
  Pow,
  Abs,
  Exp,
  Exp2,
  Log,
  Log2,
  Sqrt,
  Rsqrt,
  Recip,
  Tanh,
  Erf,
  Sigmoid,
  Floor
};

struct MonoidDecl;
struct OverIndex {
  std::string name;
  Loc loc;
};
struct Term;
using TermPtr = std::shared_ptr<const Term>;
struct Term {
  TermKind kind = TermKind::Bad;
  Loc loc{};
  double value = 0;
  bool integer = false, boolean = false;
  std::string name{};
  Apply op = Apply::Add;
  Type type = Type::F32;
  std::vector<TermPtr> args{};
  std::vector<OverIndex> over{};
  std::shared_ptr<const MonoidDecl> monoid{};
  bool in_helper =
      false;  // Reduce, Let: written inside a function (softmax ..), so it binds its own index
  double size = 1;  // nodes when written out; the reader refuses what is too large or too deep, so
  int depth = 1;    // walks over terms may recurse
};
TermPtr seal(Term t);  // computes size and depth

struct MonoidDecl {
  std::string name;
  Loc loc;
  TermPtr identity, combine;  // combine: over Var a, b
};
enum class FactKind : uint8_t { MultipleOf, AtLeast, AtMost, EqualTo, Typical };
struct Fact {
  FactKind kind;
  TermPtr value;
  Loc loc;
};
struct SizeDecl {
  std::string name;
  Loc loc;
  std::vector<Fact> facts;
};
struct IndexDecl {
  std::string name;
  Loc loc;
  TermPtr extent;
};
struct TensorDecl {
  std::string name;
  Loc loc;
  poly::TensorKind kind = poly::TensorKind::Temp;
  Type type = Type::F32;
  bool shaped = false;
  std::vector<TermPtr> shape;
};
struct Definition {
  Loc loc;  // of the =
  TermPtr lhs, rhs;
};
struct KernelDecl {
  std::string name;
  Loc loc;
  std::vector<SizeDecl> sizes;
  std::vector<IndexDecl> indices;
  std::vector<TensorDecl> tensors;
  std::vector<Definition> definitions;
  bool broken = false;  // Clang or the reader already reported an error inside
  const IndexDecl* index(const std::string& n) const;
  const TensorDecl* tensor(const std::string& n) const;
  const SizeDecl* size(const std::string& n) const;
};
struct SpecFile {
  std::string file;
  std::vector<KernelDecl> kernels;
};

TermPtr make_number(double v, bool integer, Loc loc);
TermPtr make_apply(Apply op, std::vector<TermPtr> args, Loc loc);
// Index names that occur free (not bound by a reduction inside), tensors that are read.
std::set<std::string> free_indices(const TermPtr& t);
void collect_tensors(const TermPtr& t, std::set<std::string>& out);
void visit_terms(const TermPtr& t,
                 const std::function<void(const TermPtr&)>& f);  // each distinct node once
// Replaces free Index terms by name; the rest is shared.
TermPtr substitute_indices(const TermPtr& t, const std::map<std::string, TermPtr>& by);
// Built only of integer numbers, sizes, indices and + - * / % on them (so: an index or extent).
bool is_integer_term(const TermPtr& t);
bool reads_tensors(const TermPtr& t);   // an element or a reduction occurs in it
std::string to_text(const TermPtr& t);  // as one would write it
TermPtr strip_lets(const TermPtr& t);   // through outer Let nodes

}  // namespace nautilus::spec
