// isl AST operations missing from isl/cpp.h (with context.h, the only place of raw isl pointers).
#pragma once

#include <optional>
#include <string>

#include "polyhedral/context.h"

namespace nautilus::poly {

// Attaches a text to an AST node (kept when isl wraps the node in loops), and reads it back ("" if
// none).
isl::ast_node annotate(const isl::ast_node& n, const std::string& text);
std::string annotation(const isl::ast_node& n);

// The map as one quasi-affine tuple, if it is single-valued and isl finds a single piece.
std::optional<isl::multi_aff> as_single_affine(const isl::map& m);

// The first n dims of the set become parameters with these names (which must be new) and disappear.
isl::set dims_to_params(const isl::set& s, const std::vector<std::string>& names);

// One basic set that contains the set, bounded by (translated) constraints of its pieces.
isl::set simple_hull(const isl::set& s);

// Smallest or largest value of a dim as a function of the parameters.
isl::pw_aff dim_bound(const isl::set& s, unsigned dim, bool largest);

// One dim, or a constant, as an affine expression on a set space.
isl::aff dim_aff(const isl::space& set_space, unsigned dim);
isl::aff constant_aff(const isl::space& set_space, int64_t c);

}  // namespace nautilus::poly
