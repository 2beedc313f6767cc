#include "compiler/driver/story.h"

#include <algorithm>

#include "compiler/driver/common.h"
#include "polyhedral/json_text.h"

namespace nautilus::driver {

using nlohmann::json;

poly::Verdict added_by(const poly::Verdict& v, const poly::Schedule& before) {
  poly::Verdict out = v;
  std::erase_if(out.repairs, [&](const poly::Repair& r) {
    return std::any_of(before.repairs.begin(), before.repairs.end(), [&](const poly::Repair& old) {
      return old.band == r.band && old.targets == r.targets && old.sources == r.sources;
    });
  });
  if (v.kind == poly::VerdictKind::Repairable && out.repairs.empty()) {
    out.kind = poly::VerdictKind::Legal;
    out.witness.reset();
    out.why.clear();
  }
  return out;
}

// The fusion that a rolling update makes possible, by itself: of its parameters those that fuse
// has.
poly::TransformStep plain_fusion(const poly::TransformStep& rolling) {
  const json given = poly::read_json(rolling.params);
  json params = json::object();
  for (const poly::ParamInfo& p : poly::transform("fuse")->params)
    if (given.is_object() && given.contains(p.name)) params[p.name] = given[p.name];
  return {"fuse", params.dump()};
}

// The script is replayed from the initial schedule. Dependences are recomputed only when a step
// changed the program. A step that had to be repaired is also tried as its plain counterpart, to
// show what order alone would break.
Expected<Story> tell(poly::ProgramPtr program, const std::vector<poly::TransformStep>& script,
                     const std::vector<std::string>& decisions, const poly::Sizes& sizes) {
  Story out;
  poly::Schedule s = poly::initial_schedule(program);
  auto deps = poly::dependences(*s.program);
  if (!deps) return deps.error();
  auto before = profile::global_traffic(s, sizes);
  if (!before) return before.error();
  out.traffic_unfused = *before;
  out.bytes_unfused = before->total;
  double bytes = before->total;
  for (size_t i = 0; i < script.size(); ++i) {
    StoryStep step;
    step.step = script[i];
    if (i < decisions.size()) step.decision = decisions[i];
    poly::Outcome o = poly::apply(s, *deps, script[i]);
    if (!o.accepted()) {
      if (o.refusal) return *o.refusal;
      return Refusal{describe(script[i]), "step " + std::to_string(i + 1), o.verdict.why,
                     o.verdict.suggest};
    }
    step.verdict = added_by(o.verdict, s);
    if (!step.verdict.repairs.empty() && script[i].name == "rolling_update")
      step.plain = poly::apply(s, *deps, plain_fusion(script[i])).verdict;
    step.diff = poly::diff(s, *o.schedule);
    if (o.schedule->program != s.program) {
      deps = poly::dependences(*o.schedule->program);
      if (!deps) return deps.error();
    }
    s = *o.schedule;
    step.bytes_before = bytes;
    auto now = profile::global_traffic(s, sizes);
    if (!now) return now.error();
    bytes = step.bytes_after = now->total;
    out.traffic_final = *now;
    out.steps.push_back(std::move(step));
  }
  if (out.steps.empty()) out.traffic_final = out.traffic_unfused;
  out.bytes_final = bytes;
  out.verification = poly::verify(s);
  out.final = s;
  return out;
}

std::string describe(const poly::TransformStep& step) {
  std::string text = step.name;
  const json params = poly::read_json(step.params.empty() ? "{}" : step.params);
  if (params.is_object())
    for (const auto& [key, value] : params.items()) text += " " + key + "=" + value.dump();
  return text;
}

json to_json(const StoryStep& s) {
  json params = poly::read_json(s.step.params.empty() ? "{}" : s.step.params);
  json out = to_json(s.verdict);
  out["transform"] = s.step.name;
  out["params"] = params;
  out["decision"] = s.decision;
  out["bytes_before"] = s.bytes_before;
  out["bytes_after"] = s.bytes_after;
  if (s.plain) out["plain"] = to_json(*s.plain);
  return out;
}

std::string to_text(const poly::Repair& r, const std::string& indent) {
  auto join = [](const std::vector<std::string>& v) {
    std::string t;
    for (const std::string& x : v) t += (t.empty() ? "" : ", ") + x;
    return t;
  };
  std::string t = indent + "repair of " + join(r.targets) + " against the running value of " +
                  join(r.sources) + "\n";
  if (r.term) t += indent + "  term g = " + to_string(r.term) + "\n";
  for (const poly::Derivation& d : r.derivations) {
    t += indent + "  by " + d.method + ":\n";
    for (const std::string& line : d.steps) t += indent + "    " + line + "\n";
    if (d.correction) t += indent + "    => " + to_string(d.correction) + "\n";
  }
  for (size_t k = 0; k < r.corrections.size(); ++k)
    t += indent + "  correction of " +
         (k < r.target_tensors.size() ? r.target_tensors[k] : r.targets[0]) + ": " +
         to_string(r.corrections[k]) + "\n";
  for (const poly::Obligation& o : r.obligations)
    t += indent + "  " + (o.discharged ? "shown: " : "NOT SHOWN: ") + o.claim + "  [" + o.method +
         "]\n";
  t += indent + "  numerics: " + std::string(poly::numeric_tag_name(r.numeric));
  t += "\n";
  if (r.lazy_bound > 0) {
    const std::string bound = "2^" + std::to_string(static_cast<int>(r.lazy_bound));
    t += indent + "  stale " + r.lazy_source + (r.lazy ? ", chosen" : ", possible") +
         ": it stays while " + to_string(r.may_stay) +
         "; else it moves and the correction is applied. Terms are at most " + bound +
         " times as large: the same relative rounding, overflow " + bound +
         " earlier, the largest term no longer exact\n";
  }
  if (!r.note.empty()) t += indent + "  note: " + r.note + "\n";
  return t;
}

}  // namespace nautilus::driver
