// Exact counting of integer points by variable elimination: independent groups are multiplied, a
// chosen variable of a coupled group is enumerated, and the last variable of every group is counted
// in closed form.
#include <algorithm>
#include <numeric>
#include <set>

#include "polyhedral/footprint.h"
#include "polyhedral/index_expr.h"

namespace nautilus::poly {
namespace {

// sum coef[v] * x_v + constant >= 0 (or == 0).
struct Row {
  bool equality = false;
  std::vector<int64_t> coef;
  int64_t constant = 0;
};

struct Overflow {};
struct Unbounded {
  int var;
};
struct TooMany {};

int64_t narrow(__int128 v) {
  if (v > INT64_MAX || v < INT64_MIN) throw Overflow{};
  return static_cast<int64_t>(v);
}
int64_t ceil_div(int64_t a, int64_t b) { return -floor_div(-a, b); }

bool involves(const Row& r, int v) { return r.coef[v] != 0; }
bool constant_row(const Row& r) {
  return std::all_of(r.coef.begin(), r.coef.end(), [](int64_t c) { return c == 0; });
}

// Divides by the gcd of the coefficients; an inequality's constant is rounded inwards. False: no
// integer solution.
bool normalize(Row& r) {
  int64_t g = 0;
  for (int64_t c : r.coef) g = std::gcd(g, c);
  if (g == 0) return r.equality ? r.constant == 0 : r.constant >= 0;
  if (r.equality && r.constant % g != 0) return false;
  for (int64_t& c : r.coef) c /= g;
  r.constant = floor_div(r.constant, g);
  return true;
}

// Keeps, of rows with equal coefficients, the tightest. False: a constant row is violated.
bool tidy(std::vector<Row>& rows) {
  std::map<std::pair<std::vector<int64_t>, bool>, int64_t> best;
  for (Row& r : rows) {
    if (!normalize(r)) return false;
    if (constant_row(r)) continue;
    auto [it, fresh] = best.try_emplace({r.coef, r.equality}, r.constant);
    if (fresh) continue;
    if (r.equality && it->second != r.constant) return false;
    it->second = std::min(it->second, r.constant);
  }
  rows.clear();
  for (auto& [key, c] : best) rows.push_back({key.second, key.first, c});
  return true;
}

// a*p + b*q with positive multipliers chosen so that variable v cancels.
Row cancel(const Row& a, const Row& b, int v) {
  int64_t g = std::gcd(a.coef[v], b.coef[v]);
  int64_t ma = std::abs(b.coef[v]) / g, mb = std::abs(a.coef[v]) / g;
  if ((a.coef[v] > 0) == (b.coef[v] > 0)) mb = -mb;  // only for an equality b
  Row r;
  r.coef.resize(a.coef.size());
  for (size_t i = 0; i < r.coef.size(); ++i)
    r.coef[i] =
        narrow(static_cast<__int128>(a.coef[i]) * ma + static_cast<__int128>(b.coef[i]) * mb);
  r.constant =
      narrow(static_cast<__int128>(a.constant) * ma + static_cast<__int128>(b.constant) * mb);
  r.equality = a.equality && b.equality;
  return r;
}

// Projects variable v out over the rationals (Fourier-Motzkin): a superset of the integer
// projection.
bool eliminate(std::vector<Row>& rows, int v) {
  std::vector<Row> keep, lower, upper;
  const Row* eq = nullptr;
  for (const Row& r : rows)
    if (r.equality && involves(r, v) && (!eq || std::abs(r.coef[v]) < std::abs(eq->coef[v])))
      eq = &r;
  if (eq) {
    for (const Row& r : rows)
      if (&r != eq) keep.push_back(involves(r, v) ? cancel(r, *eq, v) : r);
  } else {
    for (const Row& r : rows) {
      if (!involves(r, v))
        keep.push_back(r);
      else
        (r.coef[v] > 0 ? lower : upper).push_back(r);
    }
    for (const Row& l : lower)
      for (const Row& u : upper) keep.push_back(cancel(l, u, v));
  }
  rows = std::move(keep);
  return tidy(rows);
}

// The order of elimination: `var` is enumerated (or, without children, counted in closed form)
// given its ancestors; `rows` bound it; children are independent of each other once var is fixed.
struct Tree {
  int var = -1;
  bool exists = false;  // contributes min(1, count): an existential without explicit form
  std::vector<Row> rows;
  std::vector<Tree> children;
};

struct Interval {
  int64_t lo, hi;
};

class Counter {
 public:
  Counter(std::vector<Row> rows, int n_vars, int n_counted, int64_t& budget)
      : rows_(std::move(rows)),
        n_(n_vars),
        counted_(n_counted),
        budget_(budget),
        value_(n_vars, 0) {}

  int64_t count() {
    if (!tidy(rows_)) return 0;
    std::vector<bool> gone(n_, false);
    if (!substitute_equalities(gone)) return 0;
    std::vector<int> vars;
    for (int v = 0; v < n_; ++v)
      if (!gone[v]) vars.push_back(v);
    std::vector<Tree> forest;
    if (!build(vars, rows_, forest)) return 0;
    __int128 total = 1;
    for (const Tree& t : forest) {
      total *= run(t);
      if (total == 0) return 0;
      if (total > INT64_MAX) throw Overflow{};
    }
    return static_cast<int64_t>(total);
  }

 private:
  // Removes variables that an equality with unit coefficient determines (integer-exact, so the
  // count is kept).
  bool substitute_equalities(std::vector<bool>& gone) {
    for (bool again = true; again;) {
      again = false;
      for (size_t k = 0; k < rows_.size() && !again; ++k) {
        const Row eq = rows_[k];
        if (!eq.equality) continue;
        bool existential = false;
        for (int v = counted_; v < n_; ++v) existential |= involves(eq, v);
        for (int v = n_ - 1; v >= 0 && !again; --v) {
          if (std::abs(eq.coef[v]) != 1 || (existential && v < counted_)) continue;
          std::vector<Row> next;
          for (size_t i = 0; i < rows_.size(); ++i)
            if (i != k) next.push_back(involves(rows_[i], v) ? cancel(rows_[i], eq, v) : rows_[i]);
          rows_ = std::move(next);
          gone[v] = true;
          if (!tidy(rows_)) return false;
          again = true;
        }
      }
    }
    return true;
  }

  // Variables connected through rows.
  static std::vector<std::vector<int>> components(const std::vector<int>& vars,
                                                  const std::vector<Row>& rows) {
    std::map<int, int> group;
    for (int v : vars) group[v] = v;
    std::function<int(int)> find = [&](int v) {
      return group[v] == v ? v : group[v] = find(group[v]);
    };
    for (const Row& r : rows) {
      int first = -1;
      for (int v : vars) {
        if (!involves(r, v)) continue;
        if (first < 0)
          first = v;
        else
          group[find(v)] = find(first);
      }
    }
    std::map<int, std::vector<int>> by_root;
    for (int v : vars) by_root[find(v)].push_back(v);
    std::vector<std::vector<int>> out;
    for (auto& [root, members] : by_root) out.push_back(members);
    return out;
  }

  // Constant bounds of each variable by propagating intervals; a missing bound is +-2^40.
  std::map<int, double> ranges(const std::vector<int>& vars, const std::vector<Row>& rows) const {
    const double big = static_cast<double>(1LL << 40);
    std::map<int, std::pair<double, double>> b;
    for (int v : vars) b[v] = {-big, big};
    for (int round = 0; round < 6; ++round)
      for (const Row& r : rows)
        for (int v : vars) {
          if (!involves(r, v)) continue;
          double rest_max = static_cast<double>(r.constant), rest_min = rest_max;
          bool known = true;
          for (int u = 0; u < n_; ++u) {
            if (u == v || !involves(r, u)) continue;
            auto it = b.find(u);
            if (it == b.end()) {
              known = false;
              break;
            }
            double c = static_cast<double>(r.coef[u]);
            rest_max += std::max(c * it->second.first, c * it->second.second);
            rest_min += std::min(c * it->second.first, c * it->second.second);
          }
          if (!known) continue;
          double c = static_cast<double>(r.coef[v]);  // c*v >= -rest_max
          if (c > 0)
            b[v].first = std::max(b[v].first, -rest_max / c);
          else
            b[v].second = std::min(b[v].second, -rest_max / c);
          if (r.equality) {  // and c*v <= -rest_min
            if (c > 0)
              b[v].second = std::min(b[v].second, -rest_min / c);
            else
              b[v].first = std::max(b[v].first, -rest_min / c);
          }
        }
    std::map<int, double> out;
    for (int v : vars) out[v] = std::max(1.0, b[v].second - b[v].first + 1);
    return out;
  }

  // Estimated steps of the best tree over `vars`; `pick` gets the variable to enumerate first.
  double plan(const std::vector<int>& vars, const std::vector<Row>& rows,
              const std::map<int, double>& range,
              std::map<std::vector<int>, std::pair<double, int>>& memo, int depth) const {
    if (vars.size() == 1) return 1;
    if (auto it = memo.find(vars); it != memo.end()) return it->second.first;
    std::pair<double, int> best{-1, -1};
    std::vector<int> candidates;
    for (int v : vars)
      if (v < counted_) candidates.push_back(v);
    if (candidates.empty()) candidates = vars;
    if (vars.size() > 7 || depth > 7) {  // greedy: the smallest range
      candidates = {*std::min_element(candidates.begin(), candidates.end(),
                                      [&](int a, int b) { return range.at(a) < range.at(b); })};
    }
    for (int v : candidates) {
      std::vector<int> rest;
      for (int u : vars)
        if (u != v) rest.push_back(u);
      double cost = 0;
      for (const auto& c : components(rest, rows)) cost += plan(c, rows, range, memo, depth + 1);
      cost *= range.at(v);
      if (best.second < 0 || cost < best.first) best = {cost, v};
    }
    memo[vars] = best;
    return best.first;
  }

  bool build(const std::vector<int>& vars, const std::vector<Row>& rows,
             std::vector<Tree>& out) const {
    std::map<std::vector<int>, std::pair<double, int>> memo;
    const auto range = ranges(vars, rows);
    for (const auto& c : components(vars, rows)) {
      plan(c, rows, range, memo, 0);
      Tree t;
      std::vector<Row> mine;
      for (const Row& r : rows)
        if (std::any_of(c.begin(), c.end(), [&](int v) { return involves(r, v); }))
          mine.push_back(r);
      if (!build_tree(c, mine, memo, t)) return false;
      out.push_back(std::move(t));
    }
    return true;
  }

  // rows: constraints over c and its ancestors. On return t.rows bound t.var by ancestors only.
  bool build_tree(const std::vector<int>& c, std::vector<Row>& rows,
                  const std::map<std::vector<int>, std::pair<double, int>>& memo, Tree& t) const {
    auto it = memo.find(c);
    t.var = c.size() == 1 ? c[0] : it->second.second;
    t.exists = std::all_of(c.begin(), c.end(), [&](int v) { return v >= counted_; });
    std::vector<int> rest;
    for (int v : c)
      if (v != t.var) rest.push_back(v);
    std::vector<Row> all;
    for (const Row& r : rows)
      if (std::none_of(rest.begin(), rest.end(), [&](int v) { return involves(r, v); }))
        all.push_back(r);
    for (const auto& sub : components(rest, rows)) {
      std::vector<Row> mine;
      for (const Row& r : rows)
        if (std::any_of(sub.begin(), sub.end(), [&](int v) { return involves(r, v); }))
          mine.push_back(r);
      Tree child;
      if (!build_tree(sub, mine, memo, child)) return false;
      all.insert(all.end(), mine.begin(), mine.end());
      t.children.push_back(std::move(child));
    }
    if (!tidy(all)) return false;
    for (const Row& r : all)
      if (involves(r, t.var)) t.rows.push_back(r);
    rows = all;
    return eliminate(rows, t.var);
  }

  // Values of t.var allowed by its rows once the ancestors are fixed; empty when lo > hi.
  Interval bounds(const Tree& t) {
    bool has_lo = false, has_hi = false;
    Interval b{0, -1};
    for (const Row& r : t.rows) {
      __int128 rest = r.constant;
      for (int v = 0; v < n_; ++v)
        if (v != t.var && r.coef[v] != 0) rest += static_cast<__int128>(r.coef[v]) * value_[v];
      const int64_t k = narrow(rest), c = r.coef[t.var];
      if (r.equality && k % c != 0) return {0, -1};
      if (c > 0 || r.equality) {
        int64_t lo = c > 0 ? ceil_div(-k, c) : k / -c;
        b.lo = has_lo ? std::max(b.lo, lo) : lo;
        has_lo = true;
      }
      if (c < 0 || r.equality) {
        int64_t hi = c < 0 ? floor_div(k, -c) : -k / c;
        b.hi = has_hi ? std::min(b.hi, hi) : hi;
        has_hi = true;
      }
    }
    if (!has_lo || !has_hi) throw Unbounded{t.var};
    return b;
  }

  int64_t run(const Tree& t) {
    if (--budget_ < 0) throw TooMany{};
    const Interval b = bounds(t);
    if (b.lo > b.hi) return 0;
    if (t.children.empty()) return t.exists ? 1 : narrow(static_cast<__int128>(b.hi) - b.lo + 1);
    __int128 total = 0;
    for (int64_t v = b.lo; v <= b.hi; ++v) {
      value_[t.var] = v;
      __int128 product = 1;
      for (const Tree& child : t.children) {
        product *= run(child);
        if (product == 0) break;
        if (product > INT64_MAX) throw Overflow{};
      }
      total += product;
      if (t.exists && total > 0) return 1;
    }
    return narrow(total);
  }

  std::vector<Row> rows_;
  int n_, counted_;
  int64_t& budget_;
  std::vector<int64_t> value_;
};

// Rows of one piece over [dims, explicit divs, existentials]; explicit divs are determined by the
// dims, so counting them along keeps the count.
int64_t count_piece(const LinearSet& piece, size_t n_dims, int64_t& budget) {
  const size_t n_divs = piece.divs.size();
  std::vector<int> position(n_divs);
  std::vector<bool> explicit_form(n_divs);
  size_t next = n_dims;
  for (size_t d = 0; d < n_divs; ++d) {
    explicit_form[d] = piece.divs[d].known;
    for (size_t e = 0; e < piece.divs[d].divs.size(); ++e)
      if (piece.divs[d].divs[e] != 0 && e < d && !explicit_form[e]) explicit_form[d] = false;
    if (explicit_form[d]) position[d] = static_cast<int>(next++);
  }
  const int counted = static_cast<int>(next);
  for (size_t d = 0; d < n_divs; ++d)
    if (!explicit_form[d]) position[d] = static_cast<int>(next++);
  const size_t n = next;
  auto row_of = [&](const std::vector<int64_t>& dims, const std::vector<int64_t>& divs,
                    int64_t constant) {
    Row r;
    r.coef.assign(n, 0);
    for (size_t i = 0; i < dims.size(); ++i) r.coef[i] = dims[i];
    for (size_t i = 0; i < divs.size(); ++i) r.coef[position[i]] += divs[i];
    r.constant = constant;
    return r;
  };
  std::vector<Row> rows;
  for (const LinearConstraint& c : piece.constraints) {
    rows.push_back(row_of(c.dims, c.divs, c.constant));
    rows.back().equality = c.equality;
  }
  for (size_t d = 0; d < n_divs; ++d) {  // 0 <= num - den*q <= den - 1
    const LinearDiv& div = piece.divs[d];
    if (!div.known) continue;
    Row lo = row_of(div.dims, div.divs, div.constant);
    lo.coef[position[d]] -= div.denominator;
    Row hi = lo;
    for (int64_t& c : hi.coef) c = -c;
    hi.constant = div.denominator - 1 - lo.constant;
    rows.push_back(lo);
    rows.push_back(hi);
  }
  return Counter(std::move(rows), static_cast<int>(n), counted, budget).count();
}

}  // namespace

Expected<int64_t> count_points(const isl::set& s, const Sizes& sizes, int64_t max_steps) {
  Refusal refusal{"count the points of a set", tuple_name(s), "", ""};
  std::vector<std::string> names = dim_names(s);
  isl::set bound = substitute_params(s, sizes);
  for (const std::string& p : param_names(bound)) {
    refusal.why = "the size " + p + " is not bound";
    refusal.suggest = "give " + p + " a value";
    return refusal;
  }
  int64_t budget = max_steps;
  __int128 total = 0;
  try {
    for (const LinearSet& piece : linear_form(bound))
      total += count_piece(piece, names.size(), budget);
    return narrow(total);
  } catch (const Unbounded& u) {
    const size_t v = static_cast<size_t>(u.var);
    refusal.why = "the set is unbounded" + (v < names.size() ? " in " + names[v] : std::string());
  } catch (const TooMany&) {
    refusal.why = "more than " + std::to_string(max_steps) + " steps would be enumerated";
  } catch (const Overflow&) {
    refusal.why = "the count or a coefficient exceeds 64 bits";
  }
  return refusal;
}

}  // namespace nautilus::poly
