// From a kernel's terms to a Program: checks, reduction splitting, restriction of domains. Free of
// Clang.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "compiler/spec/ast.h"

namespace nautilus::spec {

// Nothing when an error was reported (or the kernel is broken already); warnings may be reported
// either way.
std::optional<poly::Program> lower_kernel(poly::ContextPtr ctx, const KernelDecl& k,
                                          const std::string& file, std::vector<Diag>& diags);

// What a scalar term is: integers written as such and sizes adapt to what they meet; index values
// need a cast.
enum class ScalarClass : uint8_t { Float, Int, Bool, Real, Adaptive, IndexValue };
struct Scalar {
  Expr e;  // null for Adaptive and IndexValue until as_float / as_int
  ScalarClass cls = ScalarClass::Float;
  TermPtr term;
};

// A statement in the making: text until its name is known.
struct Builder {
  std::vector<std::string> dims;        // index names, in order
  size_t n_free = 0;                    // the first ones are free, the rest is reduced
  std::vector<std::string> conditions;  // isl conditions over dims and sizes
  std::vector<TermPtr>
      restrictions;            // the terms of these conditions (inherited by reductions inside)
  std::vector<TermPtr> guard;  // data-dependent conjuncts
  struct ReadText {
    std::string tensor;
    std::vector<std::string> args;  // isl text; "" where gathered
    std::vector<poly::Access::Gather> gathers;
    TermPtr term;
    bool operator==(const ReadText& o) const { return key() == o.key(); }
    std::string key() const;
  };
  std::vector<ReadText> reads;
  std::vector<std::string> indices;  // isl text
  TermPtr write_term;                // the left-hand side of a definition; null: generated
  std::optional<Type> var_type;      // of Var terms, inside a monoid
  bool failed = false;
  bool has_dim(const std::string& n) const;
  std::string key() const;  // equal for builders that make the same statement
};

// One tensor while its kernel is lowered.
struct TensorState {
  poly::Tensor tensor;
  std::vector<std::string> extents;  // isl text over sizes
  const TensorDecl* decl = nullptr;  // null: generated
  std::vector<const Definition*> definitions;
  isl::set elements, defined;  // over the tensor's tuple
  bool total = false;          // defined everywhere
  bool broken = false;         // an error in its definition was reported
  std::vector<std::string>
      guard_dims;  // data-dependent definedness: conjuncts over these index names
  std::vector<TermPtr> guard;
};

class Lowering {
 public:
  Lowering(poly::ContextPtr ctx, const KernelDecl& k, const std::string& file,
           std::vector<Diag>& diags);
  std::optional<poly::Program> run();

 private:
  // lower_kernel.cpp: declarations, order, definitions
  void sizes();
  void indices();
  void tensors();
  void check_name(const std::string& name, const Loc& loc);
  std::vector<std::string> order();
  void define(TensorState& t, const Definition& d);
  void check_coverage(TensorState& t);
  void warn_unused();
  void plan_lets();
  std::vector<std::string> left_indices(const Definition& d) const;

  // lower_statement.cpp: from builders to statements
  bool finish(Builder& b, const std::string& tensor, const std::vector<std::string>& write,
              Expr value, std::optional<poly::Reduction> reduction, const Loc& loc,
              isl::set* written = nullptr);
  bool check_range(const isl::set& domain, const isl::map& map, const Builder::ReadText& r,
                   bool write);
  std::string new_tensor(const std::string& wish, Type type, const std::vector<std::string>& dims);
  std::string unique_name(const std::string& wish);
  std::string params_prefix() const;
  isl::set parse_set(const std::string& body) const;

  // lower_terms.cpp: scalars, reads, reductions
  std::optional<Scalar> scalar(Builder& b, const TermPtr& t);
  std::optional<Scalar> apply(Builder& b, const TermPtr& t);
  std::optional<Scalar> cast(Builder& b, const TermPtr& t);
  std::optional<Scalar> read(Builder& b, const TermPtr& t);
  std::optional<Scalar> reduce(Builder& b, const TermPtr& t);
  std::optional<Scalar> let(Builder& b, const TermPtr& t);
  std::optional<Expr> as_float(Builder& b, const Scalar& s, Type type = Type::F32);
  std::optional<Expr> as_int(Builder& b, const Scalar& s);
  std::optional<Expr> as_bool(Builder& b, const Scalar& s);
  std::optional<Expr> size_value(const TermPtr& t);
  struct Pair {
    Expr a, b;
    ScalarClass cls;
  };
  std::optional<Pair> pair(Builder& b, const Scalar& x, const Scalar& y, const TermPtr& at);
  std::optional<Expr> stored(Builder& b, const Scalar& s, Type type, const Loc& loc,
                             const std::string& tensor);
  bool restrict(Builder& b, const TermPtr& condition);
  // A reduction's statement, lowered but not yet named.
  struct ReduceParts {
    Builder b;
    Expr e;
    poly::Reduction reduction;
    Type type = Type::F32;  // of the accumulator
  };
  std::optional<ReduceParts> reduce_parts(const Builder& outer, const TermPtr& t);
  bool check_monoid(const MonoidDecl& m, Type type, poly::Reduction& r);
  TermPtr element_term(const std::string& tensor, const std::vector<std::string>& dims,
                       const Loc& loc) const;

  // affine.cpp: integer terms as isl text
  std::optional<std::string> affine(const Builder* b, const TermPtr& t);
  std::optional<std::string> condition(const Builder* b, const TermPtr& t);
  std::optional<int64_t> const_int(const TermPtr& t) const;

  std::nullopt_t wrong_rank(const TensorState& t, const TermPtr& element);
  std::nullopt_t error(const Loc& loc, const std::string& message,
                       std::vector<std::pair<Loc, std::string>> notes = {});
  void warn(const Loc& loc, const std::string& message,
            std::vector<std::pair<Loc, std::string>> notes = {});

  poly::ContextPtr ctx_;
  const KernelDecl& k_;
  std::string file_;
  std::vector<Diag>& diags_;
  bool failed_ = false;
  poly::Program p_;
  std::map<std::string, std::string> extent_;  // index -> isl text
  std::map<std::string, TensorState> state_;
  std::vector<std::string> tensor_order_;    // as printed: declared ones, then generated ones
  std::map<const Term*, bool> materialize_;  // Lets that become tensors
  struct Made {
    std::string tensor;
    std::vector<std::string> dims;
  };
  std::map<const Term*, Made> lets_;
  std::map<std::string, Made> reductions_;  // by Builder::key: one statement for equal reductions
  std::string target_;                      // tensor being defined: names its intermediates
  std::set<std::string> used_indices_;
};

}  // namespace nautilus::spec
