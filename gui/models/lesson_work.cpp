#include "gui/models/lesson_work.h"

#include <algorithm>
#include <cmath>

#include "compiler/driver/searching.h"
#include "compiler/profile/profile.h"
#include "gui/models/lesson_layout.h"
#include "gui/models/verdict_data.h"
#include "polyhedral/footprint.h"
#include "polyhedral/json_text.h"

namespace nautilus::gui {
namespace {

using nlohmann::json;

Refusal no_number(const std::string& what, const std::string& why) {
  return Refusal{"compute " + what, "", why, ""};
}

std::string verdict_word(const poly::Outcome& o) {
  if (o.refusal) return "unknown";
  if (o.verdict.kind == poly::VerdictKind::Repairable) return "repaired";
  return std::string(poly::verdict_name(o.verdict.kind));
}

std::string reason_of(const poly::Outcome& o) {
  if (o.refusal) return o.refusal->text();
  std::string out = o.verdict.why;
  if (o.verdict.witness && out.find(o.verdict.witness->text) == std::string::npos)
    out += (out.empty() ? "" : ": ") + o.verdict.witness->text;
  return out;
}

LessonOutcome outcome_from(const poly::TransformStep& step, const poly::Outcome& o) {
  return {step, verdict_word(o), reason_of(o), o.schedule ? poly::canonical_hash(*o.schedule) : 0};
}

const poly::Node* named_node(const poly::Schedule& s, const std::string& words) {
  if (words == "root") return s.root.get();
  const size_t space = words.find(' ');
  if (space == std::string::npos) return nullptr;
  const std::string kind = words.substr(0, space), stmt = words.substr(space + 1);
  const poly::Node* found = nullptr;
  for (const poly::Node* n = s.root.get(); n;) {
    const bool band = n->kind == poly::NodeKind::Band;
    if (kind == "band" && band) return n;
    if ((kind == "inner" && band) || (kind == "sequence" && n->kind == poly::NodeKind::Sequence) ||
        (kind == "filter" && n->kind == poly::NodeKind::Filter))
      found = n;
    const poly::Node* next = nullptr;
    for (const poly::NodePtr& c : n->children)
      if (std::find(c->statements.begin(), c->statements.end(), stmt) != c->statements.end())
        next = c.get();
    n = next;
  }
  return found;
}

// "cut.sizes.0": of the parameter `sizes` of step `cut`, the first number.
std::optional<double> param_of(const Lesson& lesson, const std::string& path) {
  std::vector<std::string> parts(1);
  for (const char c : path)
    if (c == '.')
      parts.emplace_back();
    else
      parts.back() += c;
  const int at = lesson.step(parts[0]);
  if (at < 0 || parts.size() < 2 || parts.size() > 3) return std::nullopt;
  const auto& t = lesson.steps[static_cast<size_t>(at)].transform;
  if (!t || !t->params.contains(parts[1])) return std::nullopt;
  json v = t->params[parts[1]];
  if (parts.size() == 3) {
    const bool index = parts[2].size() == 1 && parts[2][0] >= '0' && parts[2][0] <= '9';
    const size_t k = index ? static_cast<size_t>(parts[2][0] - '0') : 0;
    if (!index || !v.is_array() || k >= v.size()) return std::nullopt;
    v = v[k];
  }
  if (!v.is_number()) return std::nullopt;
  return v.get<double>();
}

}  // namespace

Expected<json> resolved(const poly::Schedule& s, const json& params) {
  json out = params;
  if (!params.contains("node") || !params["node"].is_string()) return out;
  const std::string words = params["node"].get<std::string>();
  const poly::Node* n = named_node(s, words);
  if (!n) return Refusal{"find the node '" + words + "'", "", "the tree has none", ""};
  out["node"] = n->id;
  return out;
}

bool as_asked(const poly::TransformStep& asked, const poly::TransformStep& did,
              const std::vector<std::string>& free) {
  const json a = poly::read_json(asked.params), d = poly::read_json(did.params);
  if (asked.name != did.name || !a.is_object() || !d.is_object()) return false;
  for (auto& [key, value] : a.items())
    if (std::find(free.begin(), free.end(), key) == free.end() &&
        (!d.contains(key) || d[key] != value))
      return false;
  return true;
}

LessonWork::LessonWork(const Lesson& lesson, poly::ProgramPtr program,
                       const sched::SearchOptions& options, const sched::SearchResult& searched,
                       Steps done)
    : lesson_(lesson),
      program_(std::move(program)),
      options_(options),
      searched_(searched),
      done_(std::move(done)),
      ops_(profile::tile_ops_provider(
          tile::numerics_from_name(options.numerics).value_or(tile::Numerics::Reassociate),
          driver::op_costs(options.machine))) {}

Expected<const LessonWork::State*> LessonWork::state(const std::string& step) {
  if (const auto known = states_.find(step); known != states_.end()) return &known->second;
  State made;
  made.plan.numerics = options_.numerics;
  if (step == "start") {
    made.plan.schedule = poly::initial_schedule(program_);
  } else if (step == "best") {
    if (searched_.best.empty()) return no_number("the best plan", "the search found none");
    auto plan = sched::plan_of(program_, searched_, searched_.best[0]);
    if (!plan) return plan.error();
    made.plan = *std::move(plan);
    made.plan.numerics = options_.numerics;
  } else {
    const int at = lesson_.step(step);
    const LessonStep* s = at < 0 ? nullptr : &lesson_.steps[static_cast<size_t>(at)];
    if (!s || !s->transform) return no_number(step, "no step of this name applies a transform");
    const auto from = state(s->transform->from);
    if (!from) return from;
    const poly::Schedule& before = (*from)->plan.schedule;
    auto params = resolved(before, s->transform->params);
    if (!params) return params.error();
    poly::TransformStep asked{s->transform->name, params->dump()};
    if (const auto did = done_.find(step); did != done_.end()) asked = did->second;
    const auto deps = poly::dependences(*before.program);
    if (!deps) return deps.error();
    const poly::Outcome o = poly::apply(before, *deps, asked);
    made.outcome = outcome_from(asked, o);
    made.plan.schedule = o.schedule ? *o.schedule : before;
    made.plan.script = made.plan.schedule.script;
    made.plan.knobs = (*from)->plan.knobs;
  }
  return &states_.emplace(step, std::move(made)).first->second;
}

Expected<LessonOutcome> LessonWork::outcome(const std::string& step) {
  const auto s = state(step);
  if (!s) return s.error();
  return (*s)->outcome;
}

Expected<LessonOutcome> LessonWork::outcome_of(const std::string& step,
                                               const poly::TransformStep& request) {
  const int at = lesson_.step(step);
  if (at < 0 || !lesson_.steps[static_cast<size_t>(at)].transform)
    return no_number(step, "no step of this name applies a transform");
  const auto from = state(lesson_.steps[static_cast<size_t>(at)].transform->from);
  if (!from) return from.error();
  const poly::Schedule& before = (*from)->plan.schedule;
  const auto deps = poly::dependences(*before.program);
  if (!deps) return deps.error();
  return outcome_from(request, poly::apply(before, *deps, request));
}

Expected<LessonAnswer> LessonWork::answer(const LessonStep& step) {
  using Kind = LessonQuestion::Kind;
  const LessonQuestion& q = *step.question;
  LessonAnswer out;
  if (q.kind == Kind::Number) {
    const auto v = number(q.answer);
    if (!v) return v.error();
    out.number = *v;
    out.said = {lesson_value(q.answer, *v)};
    return out;
  }
  if (q.kind == Kind::Verdict || q.kind == Kind::Named) {
    std::string word;
    if (q.kind == Kind::Verdict) {
      const auto o = outcome(step.id);
      if (!o) return o.error();
      word = o->verdict;
    } else {
      const auto w = words(q.answer);
      if (!w) return w.error();
      word = *w;
    }
    for (size_t k = 0; k < q.choices.size(); ++k)
      if (word.starts_with(q.choices[k].word)) out.choice = static_cast<int>(k);
    if (out.choice < 0) return no_number("the answer", "it is '" + word + "', which is no choice");
    return out;
  }
  std::vector<double> all;
  for (const LessonQuestion::Choice& c : q.choices) {
    const auto v = number(c.number);
    if (!v) return v.error();
    all.push_back(*v);
    out.said.push_back(lesson_value(c.number, *v));
  }
  const auto best = q.kind == Kind::Largest ? std::max_element(all.begin(), all.end())
                                            : std::min_element(all.begin(), all.end());
  if (std::count(all.begin(), all.end(), *best) > 1)
    return no_number("the answer", "two choices come to the same: " + out.said[0]);
  out.choice = static_cast<int>(best - all.begin());
  return out;
}

Expected<sched::Plan> LessonWork::plan_for(const LessonNumber& n, const std::string& step) {
  const auto s = state(step);
  if (!s) return s.error();
  if (n.knobs.empty()) return (*s)->plan;
  sched::Knobs knobs = (*s)->plan.knobs;
  for (auto& [name, v] : n.knobs) knobs[name] = v;
  return sched::with_knobs((*s)->plan, program_, knobs);
}

Expected<const sched::Cost*> LessonWork::cost_for(const LessonNumber& n, const std::string& step) {
  const std::string key = to_string({"", step, "", n.knobs, {}, ""});
  if (const auto known = costs_.find(key); known != costs_.end()) return &known->second;
  const auto plan = plan_for(n, step);
  if (!plan) return plan.error();
  const auto ops = ops_->structure_ops(plan->schedule);
  if (!ops) return ops.error();
  const auto profile = sched::profile(*plan, options_.machine, *ops);
  if (!profile) return profile.error();
  return &costs_.emplace(key, sched::cost(*profile, options_.machine)).first->second;
}

Expected<double> LessonWork::number(const LessonNumber& n) {
  auto v = value(n, n.of);
  if (!v) return v;
  for (const std::string& t : n.times) {
    const std::optional<double> factor = given(t);
    if (!factor) return no_number(to_string(n), "'" + t + "' is no number to multiply by");
    *v *= *factor;
  }
  if (n.over.empty()) return v;
  LessonNumber plain = n;
  plain.knobs.clear();
  const auto over = value(n.of == n.over ? plain : n, n.over);
  if (!over) return over;
  if (*over == 0) return no_number(to_string(n), "it would divide by 0");
  return *v / *over;
}

// What nobody has to compute: "size.K", "param.cut.sizes.0" (of a step's transform), what the
// machine can do, "plans_asked" and literals.
std::optional<double> LessonWork::given(const std::string& what) const {
  const size_t dot = what.find('.');
  const std::string group = what.substr(0, dot);
  const std::string which = dot == std::string::npos ? "" : what.substr(dot + 1);
  if (group == "size") {
    const auto at = options_.sizes.find(which);
    if (at == options_.sizes.end()) return std::nullopt;
    return static_cast<double>(at->second);
  }
  if (group == "matrix_rate" && which.empty()) return options_.machine.matrix_rate(Type::F16);
  if (group == "bandwidth") {
    const sched::MemoryLevel* level = options_.machine.level(which);
    if (!level) return std::nullopt;
    return level->bandwidth.value;
  }
  if (what == "plans_asked") return lesson_.plans;
  if (group == "param") return param_of(lesson_, which);
  if (what.empty() || what.find_first_not_of("0123456789") != std::string::npos || what.size() > 9)
    return std::nullopt;
  return std::stod(what);
}

// Counts of the search's nodes and of the program, which belong to no schedule.
std::optional<double> LessonWork::count(const std::string& what) {
  if (what == "nodes") return static_cast<double>(searched_.nodes.size());
  if (what == "plans") return searched_.plans_costed;
  if (what == "structures") return searched_.structures_verified;
  if (what.starts_with("nodes.")) {
    const std::string state = what.substr(6);
    double n = 0;
    for (const sched::SearchNode& node : searched_.nodes)
      n += sched::state_name(node.state) == state;
    return n;
  }
  if (what == "statements") return static_cast<double>(program_->statements.size());
  if (what == "dependences" || what.starts_with("dependences.")) {
    const auto deps = poly::dependences(*program_);
    if (!deps) return std::nullopt;
    const std::string kind = what == "dependences" ? "" : what.substr(12);
    return static_cast<double>(std::count_if(
        deps->all.begin(), deps->all.end(),
        [&](const poly::Dependence& d) { return kind.empty() || kind == kind_words(d.kind); }));
  }
  if (what.starts_with("instances.")) {
    const poly::Statement* s = program_->statement(what.substr(10));
    if (!s) return std::nullopt;
    const auto n = poly::count_points(s->domain, options_.sizes);
    if (!n) return std::nullopt;
    return static_cast<double>(*n);
  }
  if (what.starts_with("memory.")) return memory_number(lessons_dir(), what);
  return layout_number(what);
}

std::optional<double> LessonWork::of_schedule(const std::string& what, const sched::Plan& p) {
  const poly::Schedule& s = p.schedule;
  if (what == "kernels") return static_cast<double>(std::max<size_t>(1, s.root->children.size()));
  if (what == "repairs") return static_cast<double>(s.repairs.size());
  if (what == "script") return static_cast<double>(s.script.size());
  if (what == "obligations") {
    double n = 0;
    for (const poly::Repair& r : s.repairs) n += static_cast<double>(r.obligations.size());
    return n;
  }
  if (what == "accumulators") {
    double n = 0;
    for (const poly::Repair& r : s.repairs) n += static_cast<double>(r.targets.size());
    return n;
  }
  if (what == "traffic") {
    const auto t = profile::global_traffic(s, options_.sizes);
    if (!t) return std::nullopt;
    return t->total;
  }
  if (const auto knob = p.knobs.find(what); knob != p.knobs.end())
    return static_cast<double>(knob->second);
  return std::nullopt;
}

Expected<double> LessonWork::value(const LessonNumber& n, const std::string& step) {
  if (const auto v = given(n.what)) return *v;
  if (const auto v = count(n.what)) return *v;
  const auto plan = plan_for(n, step);
  if (!plan) return plan.error();
  if (const auto v = of_schedule(n.what, *plan)) return *v;
  const auto c = cost_for(n, step);
  if (!c) return c.error();
  const sched::Cost& cost = **c;
  // The search's bound, which views show, knows more than the cost alone.
  const double bound = step == "best" && n.knobs.empty()
                           ? searched_.nodes[static_cast<size_t>(searched_.best[0])].lower_bound
                           : cost.lower_bound;
  const sched::ResourceProfile& r = cost.profile;
  const std::pair<const char*, double> simple[] = {
      {"seconds", cost.seconds},
      {"lower_bound", bound},
      {"blocks", r.blocks},
      {"shared_bytes", r.shared_bytes},
      {"register_bytes", r.register_bytes},
      {"imbalance", r.imbalance},
      {"useful_flops", r.useful_flops},
      {"compulsory_bytes", r.compulsory_bytes},
      {"steps", r.steps},
      {"waves", r.blocks / std::max(1, options_.machine.units)},
      {"slack", bound > 0 ? cost.seconds / bound : 0},
      {"units", options_.machine.units}};
  for (auto& [name, v] : simple)
    if (n.what == name) return v;
  const size_t dot = n.what.find('.');
  const std::string group = n.what.substr(0, dot);
  const std::string which = dot == std::string::npos ? "" : n.what.substr(dot + 1);
  for (auto& [name, table] :
       std::initializer_list<std::pair<const char*, const std::map<std::string, double>*>>{
           {"bytes", &r.bytes}, {"ops", &r.ops}, {"time", &cost.unit_seconds}})
    if (group == name) {
      const auto v = table->find(which);
      return v == table->end() ? 0.0 : v->second;
    }
  for (const sched::RooflinePoint& p : cost.points) {
    if (p.level != which) continue;
    if (group == "intensity") return p.intensity;
    if (group == "achieved") return p.achieved;
    if (group == "roof") return p.roof;
    if (group == "percent") return 100 * p.achieved / p.roof;
  }
  if (group == "ridge")
    if (const sched::MemoryLevel* level = options_.machine.level(which))
      return options_.machine.matrix_rate(Type::F16) / level->bandwidth.value;
  return no_number(to_string(n), "no number has this name");
}

Expected<std::string> LessonWork::quote(const LessonNumber& n) {
  if (auto said = words(n); said || n.what.starts_with("interpreted.")) return said;
  const auto v = number(n);
  if (!v) return v.error();
  return lesson_value(n, *v);
}

Expected<std::string> LessonWork::words(const LessonNumber& n) {
  if (n.what.starts_with("interpreted.")) return interpreted(lessons_dir(), n.what);
  if (n.what == "limiter") {
    const auto c = cost_for(n, n.of);
    if (!c) return c.error();
    return (*c)->limiter;
  }
  if (n.what == "numerics") {
    const auto plan = plan_for(n, n.of);
    if (!plan) return plan.error();
    std::string worst = "exact";
    for (const poly::Repair& r : plan->schedule.repairs)
      worst = std::string(poly::numeric_tag_name(r.numeric));
    return worst;
  }
  if (n.what == "method") {
    const auto plan = plan_for(n, n.of);
    if (!plan) return plan.error();
    for (const poly::Repair& r : plan->schedule.repairs)
      for (const poly::Derivation& d : r.derivations) return d.method;
    return std::string("none");
  }
  return no_number(to_string(n), "no text has this name");
}

}  // namespace nautilus::gui
