#include "gui/models/verdict_data.h"

#include <algorithm>

#include "polyhedral/json_text.h"

namespace nautilus::gui {
namespace {

std::string list_text(const std::vector<std::string>& names) {
  std::string out;
  for (const std::string& n : names) out += (out.empty() ? "" : ", ") + n;
  return out;
}

std::vector<std::string> dims_of(const poly::Program& p, const std::string& statement) {
  const poly::Statement* st = p.statement(statement);
  return st ? poly::dim_names(st->domain) : std::vector<std::string>();
}

std::string lazy_text(const poly::Repair& r) {
  if (r.lazy_bound <= 0) return "";
  const std::string bound = "2^" + std::to_string(static_cast<int>(r.lazy_bound));
  return "a stale " + r.lazy_source + (r.lazy ? " is chosen" : " is possible") +
         ": it stays while " + to_string(r.may_stay) +
         "; else it moves and the correction is applied. Terms grow at most " + bound + " times.";
}

}  // namespace

std::string kind_words(poly::DepKind k) {
  switch (k) {
    case poly::DepKind::Flow:
      return "flow";
    case poly::DepKind::Anti:
      return "anti";
    case poly::DepKind::Output:
      return "output";
    case poly::DepKind::Reduction:
      break;
  }
  return "reduction";
}

std::string instance_text(const std::string& statement, const std::vector<std::string>& dims,
                          const std::vector<int64_t>& at) {
  std::string out = statement + "[";
  for (size_t k = 0; k < at.size(); ++k)
    out += (k ? ", " : "") + (k < dims.size() ? dims[k] + "=" : "") + std::to_string(at[k]);
  return out + "]";
}

std::string element_text(const std::string& tensor, const std::vector<int64_t>& element) {
  std::string out = tensor;
  for (size_t k = 0; k < element.size(); ++k) out += (k ? ", " : "[") + std::to_string(element[k]);
  return element.empty() ? out : out + "]";
}

RepairStory tell(const poly::Repair& r) {
  RepairStory out;
  out.band = r.band;
  out.targets = r.targets;
  out.sources = r.sources;
  out.via = r.via;
  if (r.term) out.term = to_string(r.term);
  for (size_t k = 0; k < r.corrections.size(); ++k)
    out.corrections.emplace_back(
        k < r.target_tensors.size() ? r.target_tensors[k] : list_text(r.targets),
        to_string(r.corrections[k]));
  for (const poly::Derivation& d : r.derivations)
    out.derivations.push_back(
        {d.method, d.steps, d.correction ? to_string(d.correction) : std::string()});
  for (const poly::Obligation& o : r.obligations)
    out.obligations.push_back({o.claim, o.method, o.discharged});
  out.numerics = std::string(poly::numeric_tag_name(r.numeric));
  out.lazy = lazy_text(r);
  out.note = r.note;
  return out;
}

WitnessStory tell(const poly::Program& p, const poly::Witness& w) {
  WitnessStory out;
  out.source = w.source;
  out.sink = w.sink;
  out.source_dims = dims_of(p, w.source);
  out.sink_dims = dims_of(p, w.sink);
  out.source_at = w.source_iter;
  out.sink_at = w.sink_iter;
  out.tensor = w.tensor;
  out.element = w.element;
  out.kind = kind_words(w.kind);
  out.sizes.assign(w.sizes.begin(), w.sizes.end());
  out.text = w.text;
  return out;
}

VerdictStory tell(const poly::Program& p, const poly::Outcome& o) {
  VerdictStory out;
  out.kind = o.verdict.kind;
  out.malformed = o.refusal.has_value();
  out.why = o.refusal ? o.refusal->why : o.verdict.why;
  out.suggest = o.refusal ? o.refusal->suggest : o.verdict.suggest;
  if (o.refusal && !o.refusal->where.empty()) out.why = o.refusal->where + ": " + out.why;
  if (o.verdict.witness) out.witness.push_back(tell(p, *o.verdict.witness));
  for (const poly::Repair& r : o.verdict.repairs) out.repairs.push_back(tell(r));
  out.relaxations = o.verdict.relaxations;
  return out;
}

std::string headline(const VerdictStory& v) {
  if (v.malformed) return "does not apply: " + v.why;
  switch (v.kind) {
    case poly::VerdictKind::Legal:
      return v.relaxations.empty() ? "legal" : "legal: reductions are reordered";
    case poly::VerdictKind::Repairable: {
      std::vector<std::string> targets;
      for (const RepairStory& r : v.repairs)
        for (const std::string& t : r.targets) targets.push_back(t);
      return "legal with a correction of " + list_text(targets);
    }
    case poly::VerdictKind::Illegal:
      return "illegal: " + v.why;
    case poly::VerdictKind::Unknown:
      break;
  }
  return "unknown: " + v.why;
}

// The verdict names one repair a violated dependence; the schedule has them all.
poly::Outcome added_by(poly::Outcome o, const poly::Schedule& before) {
  if (o.schedule) o.verdict.repairs = o.schedule->repairs;
  std::erase_if(o.verdict.repairs, [&](const poly::Repair& r) {
    return std::any_of(before.repairs.begin(), before.repairs.end(), [&](const poly::Repair& old) {
      return old.targets == r.targets && old.sources == r.sources && old.lazy == r.lazy;
    });
  });
  if (o.verdict.kind == poly::VerdictKind::Repairable && o.verdict.repairs.empty()) {
    o.verdict.kind = poly::VerdictKind::Legal;
    o.verdict.witness.reset();
    o.verdict.why.clear();
  }
  return o;
}

std::string step_text(const poly::TransformStep& step) {
  std::string out = step.name;
  const nlohmann::json params = poly::read_json(step.params.empty() ? "{}" : step.params);
  if (params.is_object())
    for (const auto& [key, value] : params.items())
      out += " " + key + "=" + (value.is_string() ? value.get<std::string>() : value.dump());
  return out;
}

}  // namespace nautilus::gui
