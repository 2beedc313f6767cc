#include "polyhedral/legality_facts.h"

#include <algorithm>

#include "polyhedral/index_expr.h"

namespace nautilus::poly {

namespace {

// r -= factor * by; false on overflow.
bool subtract(std::vector<int64_t>& r, const std::vector<int64_t>& by, int64_t factor) {
  for (size_t k = 0; k < r.size(); ++k) {
    int64_t product;
    if (__builtin_mul_overflow(by[k], factor, &product) ||
        __builtin_sub_overflow(r[k], product, &r[k]))
      return false;
  }
  return true;
}

void append(std::string& key, int64_t v) {
  key.append(reinterpret_cast<const char*>(&v), sizeof v);
}

}  // namespace

// An affine function modulo the equalities: linear part, and divisions named by their own normal
// forms.
struct PairFacts::Normal {
  Row linear;
  int64_t denominator = 1;
  std::map<std::string, int64_t> divs;
  // When the function is floor(n/d) alone: n's terms, and d.
  std::optional<Row> floored;
  std::string floored_rest;
  int64_t floor_denominator = 0;
};

// Keeps the explicit equalities (without divisions) of the relation's affine hull.
PairFacts::PairFacts(const Dependence& d, const std::vector<std::string>& params)
    : params_(params) {
  n_source_ = n_in(d.relation);
  n_sink_ = n_out(d.relation);
  const isl::map hull =
      d.relation.n_basic_map() == 1 ? d.relation : isl::map(d.relation.affine_hull());
  const isl::set pairs = hull.wrap();
  const std::vector<std::string> names = param_names(pairs);
  const std::vector<LinearSet> pieces = linear_form(pairs);
  if (pieces.size() != 1) return;
  for (const LinearConstraint& c : pieces[0].constraints) {
    if (!c.equality || std::any_of(c.divs.begin(), c.divs.end(), [](int64_t v) { return v != 0; }))
      continue;
    Row r = c.dims;
    r.resize(n_source_ + n_sink_ + params_.size() + 1, 0);
    bool known = true;
    for (size_t k = 0; k < c.params.size(); ++k) {
      if (c.params[k] == 0) continue;
      auto at = std::find(params_.begin(), params_.end(), names[k]);
      if (at == params_.end())
        known = false;
      else
        r[n_source_ + n_sink_ + static_cast<size_t>(at - params_.begin())] = c.params[k];
    }
    r.back() = c.constant;
    if (known) add_equality(std::move(r));
  }
}

// Eliminates the known pivots from r.
bool PairFacts::reduce(Row& r) const {
  for (size_t k = 0; k < rows_.size(); ++k)
    if (r[pivots_[k]] != 0 && !subtract(r, rows_[k], r[pivots_[k]])) return false;
  return true;
}

// Takes r = 0 into the reduced rows if a unit coefficient can be its pivot (sink dims preferred).
void PairFacts::add_equality(Row r) {
  if (!reduce(r)) return;
  const size_t dims = n_source_ + n_sink_;
  std::optional<size_t> pivot;
  for (size_t k = dims; k-- > 0 && !pivot;)
    if (r[k] == 1 || r[k] == -1) pivot = k;
  if (!pivot) return;
  if (r[*pivot] == -1)
    for (int64_t& v : r) v = -v;
  for (Row& old : rows_) {
    Row without = old;
    if (old[*pivot] != 0 && !subtract(without, r, old[*pivot])) return;
    old = std::move(without);
  }
  rows_.push_back(std::move(r));
  pivots_.push_back(*pivot);
}

// A linear form of one end as a row over both ends.
std::optional<PairFacts::Row> PairFacts::row(const std::vector<int64_t>& dims,
                                             const std::vector<int64_t>& params,
                                             const std::vector<std::string>& names,
                                             int64_t constant, bool sink) const {
  Row r(n_source_ + n_sink_ + params_.size() + 1, 0);
  for (size_t k = 0; k < dims.size(); ++k) r[(sink ? n_source_ : 0) + k] = dims[k];
  for (size_t k = 0; k < params.size(); ++k) {
    if (params[k] == 0) continue;
    auto at = std::find(params_.begin(), params_.end(), names[k]);
    if (at == params_.end()) return std::nullopt;
    r[n_source_ + n_sink_ + static_cast<size_t>(at - params_.begin())] = params[k];
  }
  r.back() = constant;
  if (!reduce(r)) return std::nullopt;
  return r;
}

std::optional<PairFacts::Normal> PairFacts::normal(const MemberForm& f, bool sink) const {
  // Divisions first, innermost first: isl orders them so that each refers to earlier ones only.
  std::vector<std::string> keys;
  std::vector<Row> numerators;
  std::vector<std::string> rests;
  for (const LinearDiv& d : f.aff.div_defs) {
    if (!d.known) return std::nullopt;
    std::optional<Row> n = row(d.dims, d.params, f.params, d.constant, sink);
    if (!n) return std::nullopt;
    std::map<std::string, int64_t> inner;
    for (size_t k = 0; k < d.divs.size(); ++k)
      if (d.divs[k] != 0) {
        if (k >= keys.size()) return std::nullopt;
        inner[keys[k]] += d.divs[k];
      }
    std::string rest = "/";
    append(rest, d.denominator);
    for (const auto& [key, c] : inner) rest += "(" + key + ")", append(rest, c);
    std::string key = rest;
    for (int64_t v : *n) append(key, v);
    keys.push_back(std::move(key));
    rests.push_back(std::move(rest));
    numerators.push_back(std::move(*n));
  }
  std::optional<Row> linear = row(f.aff.dims, f.aff.params, f.params, f.aff.constant, sink);
  if (!linear) return std::nullopt;
  Normal out;
  out.linear = std::move(*linear);
  out.denominator = f.aff.denominator;
  int only = -1, used = 0;
  for (size_t k = 0; k < f.aff.divs.size(); ++k)
    if (f.aff.divs[k] != 0) {
      out.divs[keys[k]] += f.aff.divs[k];
      ++used;
      only = f.aff.divs[k] == 1 ? static_cast<int>(k) : -1;
    }
  if (used == 1 && only >= 0 && out.denominator == 1) {
    out.floored = numerators[static_cast<size_t>(only)];
    out.floored_rest = rests[static_cast<size_t>(only)];
    out.floor_denominator = f.aff.div_defs[static_cast<size_t>(only)].denominator;
  }
  return out;
}

PairFacts::Distance PairFacts::distance(const MemberForm& source, const MemberForm& sink) const {
  const std::optional<Normal> a = normal(source, false), b = normal(sink, true);
  if (!a || !b || a->denominator != b->denominator) return {};
  const bool same_terms = std::equal(a->linear.begin(), a->linear.end() - 1, b->linear.begin());
  if (!same_terms) return {};
  int64_t offset;
  if (__builtin_sub_overflow(b->linear.back(), a->linear.back(), &offset)) return {};
  if (a->divs == b->divs && offset % a->denominator == 0) {
    const int64_t c = offset / a->denominator;
    return {c, c};
  }
  if (a->floored && b->floored && a->floored_rest == b->floored_rest &&
      std::equal(a->floored->begin(), a->floored->end() - 1, b->floored->begin())) {
    int64_t numerator, least;
    if (__builtin_sub_overflow(b->floored->back(), a->floored->back(), &numerator) ||
        __builtin_add_overflow(floor_div(numerator, a->floor_denominator), offset, &least))
      return {};
    return {std::nullopt, least};
  }
  return {};
}

}  // namespace nautilus::poly
