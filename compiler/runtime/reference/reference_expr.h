// C++ text of scalar expressions and affine functions for the reference evaluator.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "compiler/runtime/reference/reference_text.h"

namespace nautilus::runtime {

// Leaves as text; reads and variables are doubles holding values of their type.
struct LeafText {
  std::function<std::string(int)> read, index;
  std::function<std::string(const std::string&)> var;
};
// Statements "const T x0 = ...;" (each distinct subterm once) into `lets`; the result is the
// value's text.
std::string expression_text(const Expr& e, Arithmetic arithmetic, const LeafText& leaves,
                            const std::string& prefix, std::string& lets);
// Type in which values of element type t are computed: "double", "float" or "int".
std::string c_type(Type t, Arithmetic arithmetic);
// Text of v (of C type c_type(t)) rounded to t.
std::string rounded(const std::string& v, Type t, Arithmetic arithmetic);
std::string number(double v);

// Affine functions over named dims and parameters.
std::string affine_text(const isl::aff& a, const std::vector<std::string>& dims);
std::string condition_text(const isl::set& s, const std::vector<std::string>& dims);

}  // namespace nautilus::runtime
