// Scalar expressions: hash-consed, immutable, free of isl. Shared by statements, by the algebra of
// repair, and by the tile rewriter.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "polyhedral/expected.h"

namespace nautilus {

// Element types. Arithmetic happens in F32 unless an operand is F64, and in I32 on integers; `/`,
// pow and the transcendental functions of integers are real (F32). Casts to integers truncate
// toward zero and saturate.
enum class Type : uint8_t { Bool, I8, I32, E4M3, E5M2, F16, BF16, F32, F64 };
std::string_view type_name(Type t);  // "bool" "i8" ... "f64"
std::optional<Type> type_from_name(std::string_view s);
int type_bytes(Type t);
bool is_float(Type t);
Type arithmetic_type(Type a, Type b);  // F16+F16 -> F32, F64+any float -> F64, I8+I32 -> I32

enum class Op : uint8_t {
  // leaves
  Const,  // value
  Var,    // name: a free scalar (algebra: r, r', t, c0 ...)
  Read,   // index: the k-th read access of the statement
  Index,  // index: the k-th affine index value of the statement (integer)
  Param,  // name: a size or scalar parameter, as a number
  // unary
  Neg,
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
  Floor,
  Not,
  Cast,
  // binary
  Add,
  Sub,
  Mul,
  Div,
  Pow,
  Min,
  Max,
  Lt,
  Le,
  Eq,
  Ne,
  And,
  Or,
  // ternary
  Select,  // cond, a, b
};
std::string_view op_name(Op op);  // "add", "exp2", ...
std::optional<Op> op_from_name(std::string_view s);
int op_arity(Op op);  // 0..3

class Expr;
struct ExprNode {
  Op op = Op::Const;
  Type type = Type::F32;  // of the result
  double value = 0;       // Const
  int index = -1;         // Read, Index
  std::string name;       // Var, Param
  std::vector<Expr> args;
  uint64_t hash = 0;   // structural; equal across runs
  uint32_t depth = 1;  // longest path to a leaf, in nodes
  uint32_t size =
      1;  // nodes of the expression as a tree (saturating): printing and plain recursion cost this
};

// A handle; copying is cheap. Structurally equal expressions share one node (interned,
// thread-safe), so == is a pointer comparison.
class Expr {
 public:
  Expr() = default;  // null; only assignable
  static Expr constant(double v, Type t = Type::F32);
  static Expr var(std::string name, Type t = Type::F32);
  static Expr read(int k, Type t);
  static Expr index(int k);
  static Expr param(std::string name);
  // Result type by the rules above; comparisons and logic give Bool. `type` overrides (Cast needs
  // it).
  static Expr make(Op op, std::vector<Expr> args);
  static Expr cast(Expr a, Type t);

  explicit operator bool() const { return node_ != nullptr; }
  const ExprNode& operator*() const { return *node_; }
  const ExprNode* operator->() const { return node_.get(); }
  bool operator==(const Expr& o) const { return node_ == o.node_; }
  bool operator<(const Expr& o) const;  // total structural order, equal across runs

 private:
  friend class ExprInterner;
  explicit Expr(std::shared_ptr<const ExprNode> n) : node_(std::move(n)) {}
  std::shared_ptr<const ExprNode> node_;
};
Expr operator+(Expr a, Expr b);
Expr operator-(Expr a, Expr b);
Expr operator*(Expr a, Expr b);
Expr operator/(Expr a, Expr b);
Expr operator-(Expr a);
Expr exp(Expr a);

// Infix text, exact round trip: "exp((r0 - $1)) * 0x1p-3:f32"; Read k prints $k, Index k prints #k,
// Param prints @N, Cast prints f16(x). Constants print shortest-exact, with :type when not f32 (so
// do Vars and Reads). Functions and casts are calls; names that are not identifiers are put in
// `backquotes`. parse_expr takes any bytes; nesting deeper than kMaxExprDepth is refused. Errors
// carry the column.
inline constexpr uint32_t kMaxExprDepth = 1000;
std::string to_string(const Expr& e);
Expected<Expr> parse_expr(std::string_view text);

// The same node with other arguments: Cast keeps its type, the others are typed anew.
Expr rebuild(const Expr& e, std::vector<Expr> args);
// Replaces leaves (by node equality) or any subterm; rebuilds and re-types what is above. Top down:
// what f returns is not visited again.
Expr substitute(const Expr& e, const std::function<std::optional<Expr>(const Expr&)>& f);
Expr substitute(const Expr& e, const std::map<std::string, Expr>& vars);
void visit(
    const Expr& e,
    const std::function<void(const Expr&)>& f);  // every distinct subterm once, arguments first
bool contains_var(const Expr& e, const std::string& name);
std::vector<std::string> free_vars(const Expr& e);  // sorted

// Values for evaluation in double precision. Casts round to the type's values when `round_casts`.
struct EvalEnv {
  std::map<std::string, double> vars;
  std::function<double(int)> read;
  std::function<double(int)> index;
  std::function<double(const std::string&)> param;
  bool round_casts = true;
};
double evaluate(const Expr& e, const EvalEnv& env);
double round_to_type(double v,
                     Type t);  // nearest-even; saturation as IEEE/OCP (e4m3: NaN beyond 464)
double apply_op(Op op, const double* args, Type result);  // the semantics of every non-leaf op

// Light, always-valid normal form: constant folding, x+0, x*1, select of constants, --x ...
Expr simplify(const Expr& e);

// The operands of a conjunction, nested ones too, appended; nothing for no expression.
void conjuncts(const Expr& e, std::vector<Expr>& out);

}  // namespace nautilus
