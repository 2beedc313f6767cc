// Scalar arithmetic as C++ text. Values are computed in their wide type: bool, int, float or
// double; narrower elements (f16, bf16, 8 bits) are packed into 32-bit words where they are kept.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "compiler/backend/cuda/preamble.h"
#include "polyhedral/expr.h"

namespace nautilus::cuda {

Type wide(Type t);                        // Bool, I32, F32 or F64
bool packed(Type t);                      // kept in words of 32 bits, the lowest element first
int per_word(Type t);                     // elements of a packed type in a word
std::string wide_c(Type t);               // "float": of wide(t)
std::string literal(double v, Type t);    // of wide(t), v rounded to t
uint32_t element_bits(double v, Type t);  // of a packed type
std::string convert(const std::string& x, Type from, Type to);  // between wide types
// op on operands of these (wide) types; `result`: element type of the result.
std::string apply(Op op, const std::vector<std::string>& x, const std::vector<Type>& types,
                  Type result, Helpers& h);
// A scalar expression over variables a and b, all of one wide type.
std::string expression(const Expr& e, const std::map<std::string, std::string>& vars, Type t,
                       Helpers& h);

}  // namespace nautilus::cuda
