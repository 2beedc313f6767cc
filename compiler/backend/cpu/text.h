// Small pieces of C++ text.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "compiler/backend/cpu/cpu.h"

namespace nautilus::cpu {

using Names = std::map<std::string, std::string>;  // index variable -> C text

std::string identifier(const std::string& name);  // a C identifier, injective up to '_'
std::string literal(double v, Type t);            // of the C type of computed values
std::string index_text(const IndexExpr& e, const Names& names);
std::string condition_text(const Cond& c, const Names& names);  // on 64-bit integers
// One scalar operation on operands of element types `in`, giving element type `out`.
std::string operation_text(Op op, Type out, const std::vector<std::string>& args,
                           const std::vector<Type>& in);
std::string cast_text(const std::string& v, Type from, Type to);
std::string convert_text(const std::string& v, Type from,
                         Type to);  // C conversion between computed types
std::string decode_text(const std::string& memory, Type t);
std::string encode_text(const std::string& v, Type t);  // v: computed value of element type t
// acc (op) x, both of element type t; "" for User.
std::string combine_text(poly::ReduceOp op, Type t, const std::string& acc, const std::string& x);
std::string expression_text(const Expr& e, const Names& vars, Type var_type);

}  // namespace nautilus::cpu
