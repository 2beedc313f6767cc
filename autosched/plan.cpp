#include "autosched/plan.h"

#include <nlohmann/json.hpp>

#include "polyhedral/json_text.h"

namespace nautilus::sched {
namespace {

using nlohmann::json;
constexpr int kPlanVersion = 1;

Refusal bad_plan(const std::string& why, const std::string& suggest = "") {
  return Refusal{"read a plan", "plan.json", why, suggest};
}

}  // namespace

std::string text_hash(std::string_view text) {
  uint64_t h = 1469598103934665603ull;
  for (unsigned char c : text) h = (h ^ c) * 1099511628211ull;
  char digits[20];
  std::snprintf(digits, sizeof digits, "%016llx", static_cast<unsigned long long>(h));
  return digits;
}

json steps_to_json(const std::vector<poly::TransformStep>& steps) {
  json out = json::array();
  for (const poly::TransformStep& s : steps) {
    json params = poly::read_json(s.params.empty() ? "{}" : s.params);
    out.push_back({{"name", s.name}, {"params", params.is_discarded() ? json::object() : params}});
  }
  return out;
}

Expected<std::vector<poly::TransformStep>> steps_from_json(const json& j) {
  if (!j.is_array()) return bad_plan("a script is a list of {\"name\", \"params\"}");
  std::vector<poly::TransformStep> out;
  for (const json& s : j) {
    if (!s.is_object() || !s.contains("name") || !s["name"].is_string())
      return bad_plan("step " + std::to_string(out.size()) + " has no name");
    if (s.contains("params") && !s["params"].is_object())
      return bad_plan("step " + std::to_string(out.size()) + ": params is not an object");
    out.push_back({s["name"].get<std::string>(), s.value("params", json::object()).dump()});
  }
  return out;
}

json plan_to_json(const Plan& p) {
  json j{{"nautilus_plan", kPlanVersion},
         {"numerics", p.numerics},
         {"script", steps_to_json(p.script)}};
  const poly::Program& program = *p.schedule.program;
  j["program"] = program.name;
  j["knobs"] = json::object();
  for (auto& [k, v] : p.knobs) j["knobs"][k] = v;
  j["scopes"] = json::object();
  for (auto& [t, s] : p.schedule.scopes) j["scopes"][t] = std::string(poly::scope_name(s));
  j["structure_hash"] = std::to_string(poly::canonical_hash(p.schedule));
  return j;
}

// Replays the script, checked, from the program's initial schedule and compares the result's hash.
Expected<Plan> plan_from_json(poly::ProgramPtr program, const json& j) {
  if (!j.is_object() || !j.contains("nautilus_plan")) return bad_plan("not a Nautilus plan");
  if (!j["nautilus_plan"].is_number_integer() || j["nautilus_plan"].get<int>() > kPlanVersion)
    return bad_plan("written by a newer version (format " + j["nautilus_plan"].dump() +
                        ", this program reads up to " + std::to_string(kPlanVersion) + ")",
                    "update Nautilus");
  const auto mistyped = [&](const char* key, bool good, const char* kind) {
    return j.contains(key) && !good
               ? std::optional(bad_plan(std::string("its \"") + key + "\" is not " + kind))
               : std::nullopt;
  };
  const json& program_name = j.contains("program") ? j["program"] : json();
  if (auto no = mistyped("program", program_name.is_string(), "a name")) return *no;
  const json& numerics = j.contains("numerics") ? j["numerics"] : json();
  if (auto no = mistyped("numerics",
                         numerics == "strict" || numerics == "reassociate" || numerics == "fast",
                         "strict, reassociate or fast"))
    return *no;
  if (j.contains("knobs")) {
    if (auto no = mistyped("knobs", j["knobs"].is_object(), "an object")) return *no;
    for (const auto& [k, v] : j["knobs"].items())
      if (!v.is_number_integer()) return bad_plan("its knob \"" + k + "\" is not a whole number");
  }
  if (j.value("program", program->name) != program->name)
    return bad_plan("made for program \"" + j.value("program", "") + "\", not \"" + program->name +
                    "\"");
  Expected<std::vector<poly::TransformStep>> script =
      steps_from_json(j.value("script", json::array()));
  if (!script) return script.error();
  Plan p;
  p.numerics = j.value("numerics", "reassociate");
  if (j.contains("knobs"))
    for (auto& [k, v] : j["knobs"].items()) p.knobs[k] = v.get<int64_t>();
  poly::Replay r = poly::replay(program, *script);
  if (!r.schedule) {
    std::string why = "step " + std::to_string(r.outcomes.empty() ? 0 : r.outcomes.size() - 1) +
                      " does not apply";
    if (!r.outcomes.empty()) {
      const poly::Outcome& o = r.outcomes.back();
      why += ": " + (o.refusal ? o.refusal->text() : o.verdict.why);
    }
    return bad_plan(why, "the program or its sizes differ from those the plan was made for");
  }
  p.schedule = *r.schedule;
  p.script = *script;
  if (j.contains("structure_hash") && j["structure_hash"].is_string() &&
      j["structure_hash"].get<std::string>() != std::to_string(poly::canonical_hash(p.schedule)))
    return bad_plan("replaying the script gives another schedule than the one that was saved",
                    "the program or its sizes differ from those the plan was made for");
  return p;
}

}  // namespace nautilus::sched
