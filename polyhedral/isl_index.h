// From isl's affine objects and AST expressions to the isl-free index expressions.
#pragma once

#include "polyhedral/context.h"
#include "polyhedral/index_expr.h"

namespace nautilus::poly {

// The affine expression with domain dims called dim_names and parameters by their names.
IndexExpr to_index(const isl::aff& a, const std::vector<std::string>& dim_names);

// One conjunction a disjoint piece of the set; divisions become floor terms. A Refusal if an
// existential variable has no explicit form.
Expected<Cond> to_cond(const isl::set& s, const std::vector<std::string>& dim_names);

// Names of AST identifiers are looked up in `names` first. A Refusal for operations that index
// expressions cannot hold (a choice between two values).
using NameMap = std::map<std::string, IndexExpr>;
Expected<IndexExpr> to_index(const isl::ast_expr& e, const NameMap& names = {});
Expected<Cond> to_cond(const isl::ast_expr& e, const NameMap& names = {});

Cond conjunction(const Cond& a, const Cond& b);
// The complement, by De Morgan; sizes stay small because loop conditions are.
Cond negation(const Cond& c);

}  // namespace nautilus::poly
