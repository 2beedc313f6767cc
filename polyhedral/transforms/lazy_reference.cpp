#include "polyhedral/transforms/lazy_reference.h"

#include <algorithm>

#include "polyhedral/repair.h"
#include "polyhedral/transforms/edit.h"

namespace nautilus::poly {

namespace {

bool refers_to(const Repair& r, const std::string& source) {
  return std::find(r.source_tensors.begin(), r.source_tensors.end(), source) !=
         r.source_tensors.end();
}

// Terms of all targets of one source are computed with one reference: it is kept for all or none.
std::optional<std::string> not_lazy(const Schedule& s, const Repair& r) {
  if (r.lazy_bound <= 0 || !r.may_stay)
    return "what is stored depends on the value that its terms refer to, or its correction is not "
           "a "
           "factor";
  for (const Repair& other : s.repairs) {
    if (!refers_to(other, r.lazy_source)) continue;
    if (other.band != r.band)
      return other.targets[0] + " refers to " + r.lazy_source + " at another band";
    if (other.lazy_source != r.lazy_source)
      return other.targets[0] + " needs the present value of " + r.lazy_source;
  }
  return std::nullopt;
}

}  // namespace

Expected<Schedule> lazy_reference(const Schedule& s, NodeId band, bool on) {
  const std::string what = on ? "keep stale references at band " + std::to_string(band)
                              : "move references at once at band " + std::to_string(band);
  const std::string where = edit::describe(s, *find(s, band));
  Schedule out = s;
  std::string why = "no repair is at this band";
  const std::string suggest = "rolling_update makes repairs; explain shows their bounds";
  std::map<std::string, std::vector<Repair>> by_source;
  for (const Repair& r : s.repairs) {
    if (r.band != band) continue;
    if (const auto bad = not_lazy(s, r))
      why = "repair of " + r.targets[0] + ": " + *bad;
    else
      by_source[r.lazy_source].push_back(r);
  }
  if (by_source.empty()) return edit::refused(what, where, why, suggest);
  for (Repair& r : out.repairs) {
    if (r.band != band || !by_source.contains(r.lazy_source)) continue;
    if (r.lazy == on) continue;
    const auto moved = moved_accumulators(*s.program, r, by_source.at(r.lazy_source));
    if (!moved) return edit::refused(what, where, moved.error().why, suggest);
    r.lazy = on;
    r.moved = on ? moved->accumulators : std::vector<Expr>{};
    for (const Obligation& o : moved->shown)
      if (on)
        r.obligations.push_back(o);
      else
        std::erase_if(r.obligations, [&](const Obligation& x) { return x.claim == o.claim; });
  }
  return out;
}

TransformInfo info_lazy_reference() {
  TransformInfo t;
  t.name = "lazy_reference";
  t.summary = "correct rolling updates only when their reference moved far";
  t.doc =
      "The accumulators of a rolling update are relative to a running value (the largest term so "
      "far, for one). Where the final result does not depend on that value, it may be stale: terms "
      "are computed with the value kept, and only when the present one would scale the "
      "accumulators "
      "by more than the repair's bound (2^8) is the correction applied and the value moved. Where "
      "anything is NaN or at its identity the correction is applied as always. Terms are at most "
      "2^8 times as large as with the present value: relative rounding is the same, but the "
      "largest "
      "term is no longer exact. Refused when the result depends on the value, when the correction "
      "is no factor, or when another target needs the present value.";
  t.before = "5: band [j0:64 = floor(j/64)]  repairs S_l";
  t.after = "5: band [j0:64 = floor(j/64)]  repairs S_l (lazy m)";
  ParamInfo on{
      "on", ParamKind::Choice, "yes: keep stale references; no: do not", 0, 0, {"yes", "no"}, true};
  t.params = {edit::node_info("the band with the repairs", ParamRole::BandWithRepairs), on};
  return edit::with_edit(
      std::move(t), [](const Schedule& s, const nlohmann::json& p) -> Expected<Schedule> {
        Expected<const Node*> n = edit::node_param(s, p, "node", NodeKind::Band, "lazy_reference");
        if (!n) return n.error();
        return lazy_reference(s, (*n)->id, p.value("on", "yes") != "no");
      });
}

}  // namespace nautilus::poly
