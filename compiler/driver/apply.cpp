#include <iostream>

#include "autosched/file.h"
#include "compiler/driver/common.h"
#include "compiler/driver/story.h"
#include "polyhedral/json_text.h"
#include "polyhedral/transforms/registry.h"

namespace nautilus::driver {

using nlohmann::json;

namespace {

// STEPS.json: [{"transform": "tile", "params": {...}}, ...]; also a plan or an `explain --json`
// output ("steps").
Expected<std::vector<poly::TransformStep>> read_script(const std::string& path) {
  Refusal bad{"read script " + path, "", "",
              "[{\"transform\": \"tile\", \"params\": {\"node\": 3, \"sizes\": [32, 32]}}]"};
  const auto text = sched::read_file(path);
  if (!text) {
    bad.why = text.error().why;
    return bad;
  }
  json j = poly::read_json(*text);
  if (j.is_object() && j.contains("steps")) j = json(j["steps"]);
  if (j.is_object() && j.contains("script")) j = json(j["script"]);
  if (!j.is_array()) {
    bad.why = "not a JSON list of steps";
    return bad;
  }
  std::vector<poly::TransformStep> out;
  for (const json& step : j) {
    const char* key = step.is_object() && step.contains("name") ? "name" : "transform";
    if (!step.is_object() || !step.contains(key) || !step[key].is_string()) {
      bad.where = "step " + std::to_string(out.size() + 1);
      bad.why = "has no \"transform\" name";
      return bad;
    }
    const json params = step.value("params", json::object());
    out.push_back({step[key].get<std::string>(),
                   params.is_string() ? params.get<std::string>() : params.dump()});
  }
  return out;
}

int apply_script(const Input& in, const std::string& script_path, bool verify) {
  int status = kGood;
  auto loaded = load(in, false, status);
  if (!loaded) return status;
  poly::Schedule s = poly::initial_schedule(std::make_shared<const poly::Program>(loaded->program));
  auto deps = poly::dependences(*s.program);
  if (!deps) return fail(in.json, deps.error(), kBudget);
  std::vector<poly::TransformStep> script;
  if (!script_path.empty()) {
    auto read = read_script(script_path);
    if (!read) return fail(in.json, read.error(), kBadInput);
    script = *read;
  }
  json steps = json::array();
  if (!in.json) std::cout << poly::to_text(s);
  for (size_t i = 0; i < script.size(); ++i) {
    if (interrupted()) return fail(in.json, "interrupted", kBudget);
    poly::Outcome o = poly::apply(s, *deps, script[i]);
    o.verdict = added_by(o.verdict, s);
    StoryStep told;
    told.step = script[i];
    told.verdict = o.verdict;
    if (o.refusal) {
      if (in.json) {
        print_json({{"steps", steps},
                    {"error",
                     {{"step", i + 1},
                      {"asked", o.refusal->asked},
                      {"where", o.refusal->where},
                      {"why", o.refusal->why},
                      {"suggest", o.refusal->suggest}}}});
        return kBadInput;
      }
      return fail(false, *o.refusal, kBadInput);
    }
    if (in.json) {
      steps.push_back(to_json(told));
    } else {
      std::cout << "\n"
                << i + 1 << ". " << describe(script[i]) << ": "
                << poly::verdict_name(o.verdict.kind) << "\n";
      if (!o.verdict.why.empty()) std::cout << "   " << o.verdict.why << "\n";
      if (o.verdict.witness) std::cout << "   witness: " << o.verdict.witness->text << "\n";
      for (const poly::Repair& r : o.verdict.repairs) std::cout << to_text(r, "   ");
      if (!o.accepted() && !o.verdict.suggest.empty())
        std::cout << "   try: " << o.verdict.suggest << "\n";
    }
    if (!o.accepted()) {
      if (in.json) print_json({{"steps", steps}, {"tree", poly::to_text(s)}, {"accepted", false}});
      return o.verdict.kind == poly::VerdictKind::Unknown ? kBudget : kNo;
    }
    if (!in.json) std::cout << poly::diff(s, *o.schedule);
    if (o.schedule->program != s.program) {
      deps = poly::dependences(*o.schedule->program);
      if (!deps) return fail(in.json, deps.error(), kBudget);
    }
    s = *o.schedule;
  }
  bool ok = true;
  poly::Verification v;
  if (verify) {
    v = poly::verify(s);
    ok = v.ok;
  }
  if (in.json) {
    print_json({{"steps", steps},
                {"tree", poly::to_text(s)},
                {"schedule", poly::to_json(s)},
                {"accepted", true},
                {"verified", ok},
                {"checked", v.checked},
                {"isl", isl_text(poly::to_isl(s))}});
  } else {
    std::cout << "\n"
              << poly::to_text(s)
              << "verified independently: " << (ok ? "yes" : "NO: " + v.verdict.why) << "\n";
  }
  return ok ? kGood : kNo;
}

int list_transforms(bool as_json, const std::string& name) {
  json out = json::array();
  for (const poly::TransformInfo& t : poly::transforms()) {
    if (!name.empty() && t.name != name) continue;
    json params = json::array();
    for (const poly::ParamInfo& p : t.params)
      params.push_back({{"name", p.name},
                        {"help", p.help},
                        {"optional", p.optional},
                        {"min", p.min},
                        {"max", p.max},
                        {"choices", p.choices}});
    out.push_back({{"name", t.name},
                   {"summary", t.summary},
                   {"doc", t.doc},
                   {"before", t.before},
                   {"after", t.after},
                   {"params", params}});
    if (as_json) continue;
    std::cout << t.name << ": " << t.summary << "\n";
    if (name.empty()) continue;
    std::cout << "\n" << t.doc << "\n\nparameters\n";
    for (const poly::ParamInfo& p : t.params)
      std::cout << "  " << p.name << (p.optional ? " (optional)" : "") << ": " << p.help << "\n";
    std::cout << "\nbefore\n" << t.before << "\nafter\n" << t.after << "\n";
  }
  if (out.empty())
    return fail(
        as_json,
        {"show transform " + name, "", "no such transform", "nautilusc transforms lists them"},
        kBadInput);
  if (as_json) print_json(out);
  return kGood;
}

}  // namespace

void add_apply(CLI::App& app, int& status) {
  auto in = std::make_shared<Input>();
  auto script = std::make_shared<std::string>();
  auto no_verify = std::make_shared<bool>(false);
  CLI::App* verb =
      app.add_subcommand("apply", "replay or hand-write a schedule, with a verdict at each step");
  verb->footer("example: nautilusc apply softmax --script steps.json");
  add_input(*verb, *in);
  verb->add_option("--script", *script,
                   "STEPS.json: a list of {transform, params}; left out: print the original order");
  verb->add_flag("--no-verify", *no_verify, "skip the independent verifier at the end");
  verb->callback([=, &status] { status = apply_script(*in, *script, !*no_verify); });
}

void add_transforms(CLI::App& app, int& status) {
  auto as_json = std::make_shared<bool>(false);
  auto name = std::make_shared<std::string>();
  CLI::App* verb = app.add_subcommand(
      "transforms", "the transforms that apply and the search can use, with their parameters");
  verb->footer("example: nautilusc transforms rolling_update");
  verb->add_option("name", *name, "show this one in full");
  verb->add_flag("--json", *as_json, "machine-readable output on stdout");
  verb->callback([=, &status] { status = list_transforms(*as_json, *name); });
}

}  // namespace nautilus::driver
