#include "polyhedral/isl_index.h"

namespace nautilus::poly {
namespace {

// coef * vars summed, plus the constant; columns whose coefficient is zero are not looked at.
IndexExpr combine(const std::vector<int64_t>& coef, const std::vector<IndexExpr>& vars,
                  IndexExpr sum) {
  for (size_t k = 0; k < coef.size(); ++k)
    if (coef[k] != 0) sum = sum + vars.at(k) * coef[k];
  return sum;
}

std::vector<IndexExpr> variables(const std::vector<std::string>& names) {
  std::vector<IndexExpr> out;
  for (const std::string& n : names) out.push_back(IndexExpr::var(n));
  return out;
}

struct Columns {
  std::vector<IndexExpr> dims, params, divs;
  IndexExpr value(const std::vector<int64_t>& d, const std::vector<int64_t>& p,
                  const std::vector<int64_t>& v, int64_t constant) const {
    return combine(v, divs, combine(p, params, combine(d, dims, IndexExpr(constant))));
  }
  // Divs refer only to earlier divs once isl has explicit forms for all of them.
  bool add_divs(const std::vector<LinearDiv>& defs) {
    for (const LinearDiv& d : defs) {
      if (!d.known) return false;
      for (size_t k = divs.size(); k < d.divs.size(); ++k)
        if (d.divs[k] != 0) return false;
      divs.push_back(
          IndexExpr::floordiv(value(d.dims, d.params, d.divs, d.constant), d.denominator));
    }
    return true;
  }
};

bool same_up_to_div(const LinearConstraint& c, const LinearDiv& d, size_t position, int64_t sign) {
  for (size_t k = 0; k < c.dims.size(); ++k)
    if (c.dims[k] != sign * d.dims[k]) return false;
  for (size_t k = 0; k < c.params.size(); ++k)
    if (c.params[k] != sign * d.params[k]) return false;
  for (size_t k = 0; k < c.divs.size(); ++k)
    if (c.divs[k] != sign * (k == position ? -d.denominator : d.divs[k])) return false;
  return true;
}

// 0 <= num - den*floor(num/den) <= den - 1 holds by definition of the div.
bool defines_a_div(const LinearConstraint& c, const std::vector<LinearDiv>& divs) {
  if (c.equality) return false;
  for (size_t k = 0; k < divs.size(); ++k) {
    if (same_up_to_div(c, divs[k], k, 1) && c.constant >= divs[k].constant) return true;
    if (same_up_to_div(c, divs[k], k, -1) &&
        c.constant >= divs[k].denominator - 1 - divs[k].constant)
      return true;
  }
  return false;
}

Refusal cannot(const std::string& why) { return Refusal{"index expression", "", why, ""}; }

}  // namespace

IndexExpr to_index(const isl::aff& a, const std::vector<std::string>& dim_names) {
  const LinearAff l = linear_form(a);
  Columns columns{variables(dim_names), variables(param_names(a.domain())), {}};
  columns.add_divs(l.div_defs);
  return IndexExpr::floordiv(columns.value(l.dims, l.params, l.divs, l.constant), l.denominator);
}

Expected<Cond> to_cond(const isl::set& s, const std::vector<std::string>& dim_names) {
  Cond out;
  const std::vector<IndexExpr> params = variables(param_names(s));
  for (const LinearSet& piece : linear_form(s)) {
    Columns columns{variables(dim_names), params, {}};
    if (!columns.add_divs(piece.divs))
      return cannot("an existential variable without explicit form");
    Cond::Conj conj;
    for (const LinearConstraint& c : piece.constraints) {
      if (defines_a_div(c, piece.divs)) continue;
      Cond::Atom atom{columns.value(c.dims, c.params, c.divs, c.constant), c.equality};
      if (atom.expr.is_const() &&
          (c.equality ? atom.expr.constant() == 0 : atom.expr.constant() >= 0))
        continue;
      conj.push_back(std::move(atom));
    }
    if (conj.empty()) return Cond::always();
    out.any.push_back(std::move(conj));
  }
  return out;
}

Cond conjunction(const Cond& a, const Cond& b) {
  if (a.is_always()) return b;
  if (b.is_always()) return a;
  Cond out;
  for (const Cond::Conj& x : a.any)
    for (const Cond::Conj& y : b.any) {
      Cond::Conj both = x;
      for (const Cond::Atom& atom : y)
        if (std::find(both.begin(), both.end(), atom) == both.end()) both.push_back(atom);
      out.any.push_back(std::move(both));
    }
  return out;
}

Cond negation(const Cond& c) {
  Cond out = Cond::always();
  for (const Cond::Conj& conj : c.any) {
    Cond either;
    for (const Cond::Atom& a : conj) {
      either.any.push_back({{IndexExpr(-1) - a.expr, false}});
      if (a.equality) either.any.push_back({{a.expr - IndexExpr(1), false}});
    }
    out = conjunction(out, either);
  }
  return out;
}

Expected<IndexExpr> to_index(const isl::ast_expr& e, const NameMap& names) {
  if (e.isa<isl::ast_expr_int>()) return IndexExpr(to_int(e.as<isl::ast_expr_int>().val()));
  if (e.isa<isl::ast_expr_id>()) {
    const std::string name = e.as<isl::ast_expr_id>().id().name();
    auto it = names.find(name);
    return it == names.end() ? IndexExpr::var(name) : it->second;
  }
  auto op = e.as<isl::ast_expr_op>();
  std::vector<IndexExpr> a;
  for (unsigned k = 0; k < op.n_arg(); ++k) {
    if (op.isa<isl::ast_expr_op_select>() || op.isa<isl::ast_expr_op_cond>()) break;
    auto x = to_index(op.arg(static_cast<int>(k)), names);
    if (!x) return x;
    a.push_back(*x);
  }
  auto constant = [&](size_t k) { return k < a.size() && a[k].is_const() && a[k].constant() > 0; };
  if (op.isa<isl::ast_expr_op_minus>()) return a[0] * -1;
  if (op.isa<isl::ast_expr_op_add>()) return a[0] + a[1];
  if (op.isa<isl::ast_expr_op_sub>()) return a[0] - a[1];
  if (op.isa<isl::ast_expr_op_mul>() && a[1].is_const()) return a[0] * a[1].constant();
  if (op.isa<isl::ast_expr_op_mul>() && a[0].is_const()) return a[1] * a[0].constant();
  if (op.isa<isl::ast_expr_op_max>() || op.isa<isl::ast_expr_op_min>()) {
    IndexExpr r = a[0];
    for (size_t k = 1; k < a.size(); ++k)
      r = op.isa<isl::ast_expr_op_max>() ? IndexExpr::max(r, a[k]) : IndexExpr::min(r, a[k]);
    return r;
  }
  const bool quotient = op.isa<isl::ast_expr_op_fdiv_q>() || op.isa<isl::ast_expr_op_pdiv_q>() ||
                        op.isa<isl::ast_expr_op_div>();
  if (quotient && constant(1)) return IndexExpr::floordiv(a[0], a[1].constant());
  if ((op.isa<isl::ast_expr_op_pdiv_r>() || op.isa<isl::ast_expr_op_zdiv_r>()) && constant(1))
    return IndexExpr::mod(a[0], a[1].constant());
  return cannot("isl's expression \"" + isl_text(e) +
                "\" is not a sum, division, minimum or maximum");
}

Expected<Cond> to_cond(const isl::ast_expr& e, const NameMap& names) {
  if (e.isa<isl::ast_expr_int>())
    return to_int(e.as<isl::ast_expr_int>().val()) != 0 ? Cond::always() : Cond{};
  if (!e.isa<isl::ast_expr_op>()) return cannot("isl's condition \"" + isl_text(e) + "\"");
  auto op = e.as<isl::ast_expr_op>();
  const bool both = op.isa<isl::ast_expr_op_and>() || op.isa<isl::ast_expr_op_and_then>();
  const bool either = op.isa<isl::ast_expr_op_or>() || op.isa<isl::ast_expr_op_or_else>();
  if (both || either) {
    Cond out = both ? Cond::always() : Cond{};
    for (unsigned k = 0; k < op.n_arg(); ++k) {
      auto c = to_cond(op.arg(static_cast<int>(k)), names);
      if (!c) return c;
      if (both)
        out = conjunction(out, *c);
      else if (c->is_always() || out.is_always())
        out = Cond::always();
      else
        out.any.insert(out.any.end(), c->any.begin(), c->any.end());
    }
    return out;
  }
  if (op.n_arg() != 2) return cannot("isl's condition \"" + isl_text(e) + "\"");
  auto l = to_index(op.arg(0), names), r = to_index(op.arg(1), names);
  if (!l) return l.error();
  if (!r) return r.error();
  auto single = [](IndexExpr x, bool eq) { return Cond{{{Cond::Atom{x, eq}}}}; };
  if (op.isa<isl::ast_expr_op_eq>()) return single(*l - *r, true);
  if (op.isa<isl::ast_expr_op_ge>()) return single(*l - *r, false);
  if (op.isa<isl::ast_expr_op_gt>()) return single(*l - *r - IndexExpr(1), false);
  if (op.isa<isl::ast_expr_op_le>()) return single(*r - *l, false);
  if (op.isa<isl::ast_expr_op_lt>()) return single(*r - *l - IndexExpr(1), false);
  return cannot("isl's condition \"" + isl_text(e) + "\"");
}

}  // namespace nautilus::poly
