// Branches that do the same. isl splits a loop where a set of full tiles is not empty, and makes
// the rest once for both cases; where the other case is a single value of a loop variable the two
// are one piece of code, written with that value and without it.
#include <algorithm>
#include <optional>

#include "polyhedral/loops_isl.h"

namespace nautilus::poly {
namespace {

struct Range {  // inclusive; unknown ends are absent
  std::optional<int64_t> low, high;
};
using Ranges = std::map<std::string, Range>;

bool same(const LoopPtr& a, const LoopPtr& b, const std::map<std::string, IndexExpr>& by) {
  if (a->kind != b->kind || a->children.size() != b->children.size() || a->iv != b->iv ||
      a->step != b->step || a->mapping != b->mapping || a->node != b->node ||
      a->depth != b->depth || a->stmt != b->stmt || a->axis != b->axis || a->extent != b->extent ||
      a->partial != b->partial || a->leaf != b->leaf || a->base.size() != b->base.size() ||
      a->times.size() != b->times.size())
    return false;
  auto equal = [&](const IndexExpr& x, const IndexExpr& y) {
    return x.substitute(by) == y.substitute(by);
  };
  if (!equal(a->lower, b->lower) || !equal(a->upper, b->upper) ||
      !(a->condition.substitute(by) == b->condition.substitute(by)) ||
      !(a->mask.substitute(by) == b->mask.substitute(by)) ||
      !std::equal(a->base.begin(), a->base.end(), b->base.begin(), equal) ||
      !std::equal(a->times.begin(), a->times.end(), b->times.begin(), equal))
    return false;
  for (size_t k = 0; k < a->children.size(); ++k)
    if (!same(a->children[k], b->children[k], by)) return false;
  return true;
}

// The one value that a loop variable has where the condition does not hold.
std::optional<std::pair<std::string, int64_t>> value_without(const Cond& c, const Ranges& ranges) {
  if (c.any.size() != 1 || c.any[0].size() != 1 || c.any[0][0].equality) return std::nullopt;
  const IndexExpr& e = c.any[0][0].expr;  // >= 0
  std::vector<std::string> vars;
  e.collect_vars(vars);
  if (vars.size() != 1 || !ranges.count(vars[0])) return std::nullopt;
  const int64_t factor = e.coefficient(vars[0]);
  const IndexExpr rest = e - IndexExpr::var(vars[0]) * factor;
  if ((factor != 1 && factor != -1) || !rest.is_const()) return std::nullopt;
  const Range& r = ranges.at(vars[0]);
  // Not v + k >= 0: v <= -k - 1. Not k - v >= 0: v >= k + 1.
  const int64_t k = rest.constant();
  if (factor == 1 && r.low == -k - 1) return std::pair{vars[0], -k - 1};
  if (factor == -1 && r.high == k + 1) return std::pair{vars[0], k + 1};
  return std::nullopt;
}

}  // namespace

LoopPtr merge_branches(const LoopPtr& l,
                       std::map<std::string, std::pair<IndexExpr, IndexExpr>> in) {
  if (l->kind == Loop::Kind::For) in[l->iv] = {l->lower, l->upper};
  auto out = std::make_shared<Loop>(*l);
  for (LoopPtr& c : out->children) c = merge_branches(c, in);
  if (l->kind != Loop::Kind::If || l->children.size() != 2) return out;
  Ranges ranges;
  for (const auto& [iv, bounds] : in) {
    Range r;
    if (bounds.first.is_const()) r.low = bounds.first.constant();
    if (bounds.second.is_const()) r.high = bounds.second.constant() - 1;
    ranges[iv] = r;
  }
  const auto other = value_without(out->condition, ranges);
  if (other && same(out->children[0], out->children[1], {{other->first, IndexExpr(other->second)}}))
    return out->children[0];
  return out;
}

}  // namespace nautilus::poly
