// What is computed: tensors, and statements over integer sets. (design: architecture.md stage 2)
#pragma once

#include <atomic>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "polyhedral/context.h"
#include "polyhedral/expr.h"

namespace nautilus::poly {

enum class TensorKind : uint8_t { Input, Output, Temp };

struct Tensor {
  std::string name;
  Type type = Type::F32;
  TensorKind kind = TensorKind::Temp;
  std::vector<isl::pw_aff> extents;  // over the parameters; empty for a scalar
  size_t rank() const { return extents.size(); }
};

// Which element of a tensor a statement instance touches.
struct Access {
  std::string tensor;
  isl::map map;  // { S[..] -> T[..] }; single-valued unless `indirect` is non-empty
  // Gathered dimensions: (tensor dim, k): the index is the value of the statement's k-th read (an
  // integer tensor). The map then is the over-approximation (every index on that dim).
  struct Gather {
    int dim;
    int read;
  };
  std::vector<Gather> gathers;
};

enum class ReduceOp : uint8_t { Sum, Prod, Max, Min, Any, All, User };
std::string_view reduce_op_name(ReduceOp op);
std::optional<ReduceOp> reduce_op_from_name(std::string_view s);

// T[w] is folded over the instances that write it, starting from the identity. Every element of the
// tensor that no instance writes keeps the identity (so an empty row has a value: -inf for max).
struct Reduction {
  ReduceOp op = ReduceOp::Sum;
  std::vector<int> dims;  // positions of the statement's reduced dimensions, ascending
  Expr combine;           // User only: over Var "a", "b"; declared associative and commutative
  Expr identity;          // User only: constant
};
double identity_value(const Reduction& r);
Expr combine_expr(const Reduction& r, Expr a, Expr b);  // a (op) b as an expression

struct SourceLoc {
  std::string file;
  int line = 0, column = 0;
};

// One statement: for each point of `domain`, write(point) = expr  or, for a reduction,
// write(point) (op)= expr. `expr` refers to reads by Op::Read and to affine values by Op::Index.
struct Statement {
  std::string name;  // also the tuple name of domain
  isl::set domain;   // [params] -> { S[i,...] : ... }, dims named
  Access write;
  std::vector<Access> reads;
  std::vector<isl::aff> indices;  // affine values used in expr, over the domain's space
  Expr expr;
  Expr guard;  // optional (null): data-dependent condition; false skips the instance
  std::optional<Reduction> reduction;
  SourceLoc loc;
  size_t n_dims() const { return n_dim(domain); }
};

// A hash computed at most once an object. Copies start empty: a copy is about to be changed.
class HashOnce {
 public:
  HashOnce() = default;
  HashOnce(const HashOnce&) {}
  HashOnce& operator=(const HashOnce&) { return value_ = 0, *this; }
  uint64_t get() const { return value_.load(std::memory_order_relaxed); }
  void set(uint64_t h) const { value_.store(h, std::memory_order_relaxed); }

 private:
  mutable std::atomic<uint64_t> value_ = 0;  // 0: not computed
};

// A whole operator. Values; copying shares isl objects. `original` is the defining order of
// execution (a sequence of one band a statement unless given otherwise).
struct Program {
  HeldContext context;  // first: dies last
  std::string name;
  std::vector<std::string> params;  // sizes, in order of declaration
  isl::set param_context;           // facts: sizes >= 0, multiples, upper bounds, bound sizes
  std::vector<Tensor> tensors;
  std::vector<Statement> statements;
  isl::schedule original;
  Sizes typical;                     // sizes the spec names as typical (defaults for run/explore)
  std::vector<std::string> scalars;  // scalar inputs (rank-0 Input tensors also listed in tensors)
  HashOnce hash;                     // see content_hash

  const Tensor* tensor(std::string_view name) const;
  const Statement* statement(std::string_view name) const;
  isl::union_set domain() const;             // union of the statements' domains
  isl::set elements(const Tensor& t) const;  // { T[..] : 0 <= .. < extent }
};
using ProgramPtr = std::shared_ptr<const Program>;

// The default order: statements one after the other, each in lexicographic order of its dims.
isl::schedule textual_order(const Program& p);

// Checks the invariants: names unique, accesses in bounds for every admissible size, reads covered
// by writes or inputs (partially defined temporaries may only be read where defined), write of a
// non-reduction single-valued and injective over its domain or ordered by `original`. First problem
// found.
std::optional<Refusal> validate(const Program& p);

// Same program with the parameters of every set, map and function in the order of `params`.
Program in_param_order(Program p);
// Same program with these sizes fixed in param_context. Refuses unknown names and negative values.
Expected<Program> bind_sizes(const Program& p, const Sizes& sizes);
// Same program with sizes substituted away (no parameter remains for those given).
Expected<Program> instantiate(const Program& p, const Sizes& sizes);

// Same program where a reduction that reads a partially defined temporary covers only the instances
// whose reads are all defined: terms outside are absent. Other statements keep their domains.
Program restrict_to_defined(const Program& p);

// First restrict_to_defined; then removes instances (and statements, temporaries) whose results no
// output needs: exact where tensors do not depend on themselves, else every instance of such a
// cycle stays. With `wanted`, only these output elements are needed: exact sampling for the
// reference.
Program restrict_to_demanded(const Program& p, const std::optional<isl::union_set>& wanted = {});

// Text form `.naut`; parse(print(p)) is equal to p, and errors carry line and column.
std::string print_naut(const Program& p);
Expected<Program> parse_naut(ContextPtr ctx, std::string_view text, const std::string& file = "");
bool equal(const Program& a,
           const Program& b);  // may be of different contexts (compares texts/sets)
ProgramPtr clone_into(ContextPtr ctx, const Program& p);  // for another worker
// Of the text form: equal across contexts and runs; programs that mean the same in other words
// differ. Kept with the object, so compute it only for one that will not change any more.
uint64_t content_hash(const Program& p);

// The straightforward evaluator: runs `original` instance by instance in double precision (or
// rounding each stored value to its tensor's type when round_stores). For tests and small sizes;
// sizes must bind every parameter. Inputs: row-major buffers by tensor name. Returns outputs (and
// temps if asked).
using Buffers = std::map<std::string, std::vector<double>>;
struct InterpretOptions {
  bool round_stores = false;
  bool keep_temps = false;
  uint64_t max_instances = 200'000'000;
};
Expected<Buffers> interpret(const Program& p, const Sizes& sizes, const Buffers& inputs,
                            const InterpretOptions& options = {});

std::string sizes_text(const Sizes& sizes);  // "M=3, N=2"
std::string with_sizes(const Sizes& sizes);  // " (with M=3, N=2)", or nothing

}  // namespace nautilus::poly
