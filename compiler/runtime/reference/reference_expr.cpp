#include "compiler/runtime/reference/reference_expr.h"

#include <cmath>
#include <cstdio>
#include <map>

namespace nautilus::runtime {
namespace {

// Calls of the prelude by operation; integer results wrap as 32-bit.
const char* function_name(Op op) {
  switch (op) {
    case Op::Abs:
      return "n_abs";
    case Op::Exp:
      return "n_exp";
    case Op::Exp2:
      return "n_exp2";
    case Op::Log:
      return "n_log";
    case Op::Log2:
      return "n_log2";
    case Op::Sqrt:
      return "n_sqrt";
    case Op::Rsqrt:
      return "n_rsqrt";
    case Op::Recip:
      return "n_recip";
    case Op::Tanh:
      return "n_tanh";
    case Op::Erf:
      return "n_erf";
    case Op::Sigmoid:
      return "n_sigmoid";
    case Op::Floor:
      return "n_floor";
    case Op::Pow:
      return "n_pow";
    case Op::Min:
      return "n_min";
    case Op::Max:
      return "n_max";
    default:
      return "";
  }
}

const char* infix(Op op) {
  switch (op) {
    case Op::Add:
      return "+";
    case Op::Sub:
      return "-";
    case Op::Mul:
      return "*";
    case Op::Div:
      return "/";
    case Op::Lt:
      return "<";
    case Op::Le:
      return "<=";
    case Op::Eq:
      return "==";
    case Op::Ne:
      return "!=";
    default:
      return "";
  }
}

class Writer {
 public:
  Writer(Arithmetic arithmetic, const LeafText& leaves, const std::string& prefix,
         std::string& lets)
      : arithmetic_(arithmetic), leaves_(leaves), prefix_(prefix), lets_(lets) {}

  std::string value(const Expr& e) {
    if (e->op == Op::Const) return "(" + type(e->type) + ")" + number(e->value);
    if (auto it = done_.find(&*e); it != done_.end()) return it->second;
    const std::string text = body(e);
    const std::string name = prefix_ + std::to_string(done_.size());
    lets_ += "const " + type(e->type) + " " + name + " = " + text + ";\n";
    done_[&*e] = name;
    return name;
  }

 private:
  std::string type(Type t) const { return c_type(t, arithmetic_); }
  // Operand k converted to the type the operation computes in.
  std::string operand(const Expr& e, size_t k, Type in) {
    return "(" + type(in) + ")" + value(e->args[k]);
  }
  Type operand_type(const Expr& e) const {
    const bool compares = e->op == Op::Lt || e->op == Op::Le || e->op == Op::Eq || e->op == Op::Ne;
    return compares ? arithmetic_type(e->args[0]->type, e->args[1]->type) : e->type;
  }
  std::string body(const Expr& e) {
    switch (e->op) {
      case Op::Read:
        return "(" + type(e->type) + ")" + leaves_.read(e->index);
      case Op::Index:
        return "(" + type(e->type) + ")" + leaves_.index(e->index);
      case Op::Var:
      case Op::Param:
        return "(" + type(e->type) + ")" + leaves_.var(e->name);
      case Op::Neg:
        return "-" + operand(e, 0, e->type);
      case Op::Not:
        return value(e->args[0]) + " == 0";
      case Op::And:
        return value(e->args[0]) + " != 0 && " + value(e->args[1]) + " != 0";
      case Op::Or:
        return value(e->args[0]) + " != 0 || " + value(e->args[1]) + " != 0";
      case Op::Select:
        return value(e->args[0]) + " != 0 ? " + operand(e, 1, e->type) + " : " +
               operand(e, 2, e->type);
      case Op::Cast:
        return rounded("(" + type(e->type) + ")" + clamped(e), e->type, arithmetic_);
      default:
        break;
    }
    const Type in = operand_type(e);
    if (const std::string f = function_name(e->op); !f.empty())
      return f + "(" + operand(e, 0, in) + (e->args.size() > 1 ? ", " + operand(e, 1, in) : "") +
             ")";
    return operand(e, 0, in) + " " + infix(e->op) + " " + operand(e, 1, in);
  }
  // A float cast to an integer type truncates in range.
  std::string clamped(const Expr& e) {
    const std::string v = value(e->args[0]);
    return is_float(e->type) || e->type == Type::Bool ? v : "to_i32(" + v + ")";
  }

  Arithmetic arithmetic_;
  const LeafText& leaves_;
  std::string prefix_;
  std::string& lets_;
  std::map<const ExprNode*, std::string> done_;
};

std::string sum_text(const std::vector<std::pair<int64_t, std::string>>& terms, int64_t constant) {
  std::string out;
  for (const auto& [c, name] : terms) {
    if (c == 0) continue;
    out += (out.empty() ? "" : " + ") + (c == 1 ? name : "(" + std::to_string(c) + "L) * " + name);
  }
  if (constant != 0 || out.empty())
    out += (out.empty() ? "" : " + ") + std::string("(") + std::to_string(constant) + "L)";
  return "(" + out + ")";
}

// Texts of integer divisions, each over dims, parameters and earlier divisions.
std::vector<std::string> div_texts(const std::vector<poly::LinearDiv>& divs,
                                   const std::vector<std::string>& dims,
                                   const std::vector<std::string>& params) {
  std::vector<std::string> out;
  for (const auto& d : divs) {
    if (!d.known)
      isl::exception::throw_invalid("existential without explicit form", __FILE__, __LINE__);
    std::vector<std::pair<int64_t, std::string>> terms;
    for (size_t i = 0; i < d.dims.size(); ++i) terms.emplace_back(d.dims[i], dims.at(i));
    for (size_t i = 0; i < d.params.size(); ++i) terms.emplace_back(d.params[i], params.at(i));
    for (size_t i = 0; i < d.divs.size() && i < out.size(); ++i)
      terms.emplace_back(d.divs[i], out[i]);
    out.push_back("floord(" + sum_text(terms, d.constant) + ", " + std::to_string(d.denominator) +
                  "L)");
  }
  return out;
}

template <class Row>
std::string row_text(const Row& row, const std::vector<std::string>& dims,
                     const std::vector<std::string>& params, const std::vector<std::string>& divs) {
  std::vector<std::pair<int64_t, std::string>> terms;
  for (size_t i = 0; i < row.dims.size(); ++i) terms.emplace_back(row.dims[i], dims.at(i));
  for (size_t i = 0; i < row.params.size(); ++i) terms.emplace_back(row.params[i], params.at(i));
  for (size_t i = 0; i < row.divs.size(); ++i) terms.emplace_back(row.divs[i], divs.at(i));
  return sum_text(terms, row.constant);
}

}  // namespace

std::string number(double v) {
  if (std::isnan(v)) return "__builtin_nan(\"\")";
  if (std::isinf(v)) return v > 0 ? "__builtin_inf()" : "(-__builtin_inf())";
  char text[64];
  std::snprintf(text, sizeof text, "(%a)", v);
  return text;
}

std::string c_type(Type t, Arithmetic arithmetic) {
  if (!is_float(t)) return "int";
  return arithmetic == Arithmetic::Double || t == Type::F64 ? "double" : "float";
}

std::string rounded(const std::string& v, Type t, Arithmetic arithmetic) {
  switch (t) {
    case Type::Bool:
      return "to_bool(" + v + ")";
    case Type::I8:
      return "to_i8(" + v + ")";
    case Type::I32:
      return "to_i32(" + v + ")";
    case Type::F64:
      return v;
    case Type::F32:
      return arithmetic == Arithmetic::Double ? "(double)(float)" + v : v;
    case Type::F16:
      return "decode_f16(encode_f16(" + v + "))";
    default:
      return "round_" + std::string(type_name(t)) + "((float)" + v + ")";
  }
}

std::string expression_text(const Expr& e, Arithmetic arithmetic, const LeafText& leaves,
                            const std::string& prefix, std::string& lets) {
  return Writer(arithmetic, leaves, prefix, lets).value(e);
}

std::string affine_text(const isl::aff& a, const std::vector<std::string>& dims) {
  const auto f = poly::linear_form(a);
  const auto params = poly::param_names(isl::pw_aff(a).domain());
  const auto divs = div_texts(f.div_defs, dims, params);
  const std::string text = row_text(f, dims, params, divs);
  return f.denominator == 1 ? text : "floord(" + text + ", " + std::to_string(f.denominator) + "L)";
}

std::string condition_text(const isl::set& s, const std::vector<std::string>& dims) {
  std::string out;
  for (const auto& piece : poly::linear_form(s)) {
    const auto divs = div_texts(piece.divs, dims, poly::param_names(s));
    std::string all;
    for (const auto& c : piece.constraints)
      all += (all.empty() ? "" : " && ") + row_text(c, dims, poly::param_names(s), divs) +
             (c.equality ? " == 0" : " >= 0");
    out += (out.empty() ? "(" : " || (") + (all.empty() ? "true" : all) + ")";
  }
  return out.empty() ? "false" : "(" + out + ")";
}

}  // namespace nautilus::runtime
