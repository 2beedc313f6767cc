#include <algorithm>
#include <nlohmann/json.hpp>

#include "autosched/search/state.h"
#include "polyhedral/json_text.h"

namespace nautilus::sched {

// The next recorded step, if it is this one: what a transform chose may be there as well.
bool Stepper::repeat(const char* name, const nlohmann::json& params) {
  if (steps.size() >= record_->size()) return false;
  const poly::TransformStep& next = (*record_)[steps.size()];
  const nlohmann::json recorded = poly::read_json(next.params);
  if (next.name != name || !recorded.is_object()) return false;
  for (auto& [key, value] : params.items())
    if (!recorded.contains(key) || recorded[key] != value) return false;
  Expected<poly::Schedule> made = poly::apply_unchecked(schedule, next.name, recorded);
  if (!made) return false;
  schedule = *std::move(made);
  steps.push_back(next);
  return true;
}

bool Stepper::apply(const char* name, const nlohmann::json& params) {
  if (record_) {
    if (repeat(name, params)) return true;
    node = NodeState::Failed;
    verdict = poly::VerdictKind::Unknown;
    reason = std::string("the steps on record do not repeat: ") + name + " " + params.dump();
    return false;
  }
  steps.push_back({name, params.dump()});
  poly::Outcome o = poly::apply(schedule, deps_, name, params);
  if (o.refusal) {
    node = NodeState::Failed;
    verdict = poly::VerdictKind::Unknown;
    reason = o.refusal->text();
    return false;
  }
  if (!o.accepted()) {
    verdict = o.verdict.kind;
    node = verdict == poly::VerdictKind::Illegal ? NodeState::Illegal : NodeState::Unknown;
    reason = o.verdict.why;
    if (o.verdict.witness && reason.find(o.verdict.witness->text) == std::string::npos)
      reason += (reason.empty() ? "" : ": ") + o.verdict.witness->text;
    return false;
  }
  if (o.verdict.kind == poly::VerdictKind::Repairable) {
    verdict = poly::VerdictKind::Repairable;
    note = o.verdict.why;
    if (o.verdict.witness && note.find(o.verdict.witness->text) == std::string::npos)
      note += (note.empty() ? "" : "; plain fusion breaks: ") + o.verdict.witness->text;
  }
  schedule = *std::move(o.schedule);
  steps.back() = schedule.script.back();  // with what the transform chose
  return true;
}

bool Stepper::attempt(const char* name, const nlohmann::json& params) {
  if (record_) return repeat(name, params);
  Stepper trial(schedule, deps_);
  if (!trial.apply(name, params)) return false;
  schedule = std::move(trial.schedule);
  steps.push_back(trial.steps.front());
  return true;
}

Taken Stepper::failed() const {
  Taken t;
  t.steps = steps;
  t.verdict = verdict;
  t.node = node;
  t.reason = reason;
  return t;
}

const poly::Node* root_child_of(const poly::Schedule& s, const std::string& stmt, int* index) {
  for (size_t i = 0; i < s.root->children.size(); ++i) {
    const std::vector<std::string>& names = s.root->children[i]->statements;
    if (std::find(names.begin(), names.end(), stmt) == names.end()) continue;
    if (index) *index = static_cast<int>(i);
    return s.root->children[i].get();
  }
  return nullptr;
}

namespace {

// The node path from n down to the leaf of a statement.
void descend(const poly::Node* n, const std::string& stmt, std::vector<const poly::Node*>& path) {
  path.push_back(n);
  for (const poly::NodePtr& c : n->children)
    if (c->kind == poly::NodeKind::Leaf ||
        std::find(c->statements.begin(), c->statements.end(), stmt) != c->statements.end()) {
      descend(c.get(), stmt, path);
      return;
    }
}

}  // namespace

const poly::Node* innermost_band(const poly::Schedule& s, const std::string& stmt) {
  std::vector<const poly::Node*> path;
  descend(s.root.get(), stmt, path);
  for (size_t i = path.size(); i-- > 0;) {
    if (path[i]->kind == poly::NodeKind::Sequence) return nullptr;
    if (path[i]->kind == poly::NodeKind::Band) {
      bool grid = false;
      for (const poly::BandMember& m : path[i]->members) grid |= m.mapping == poly::Mapping::Grid;
      return grid || path[i]->statements.size() != 1 ? nullptr : path[i];
    }
  }
  return nullptr;
}

const poly::Node* kernel_sequence(const poly::Schedule& s, const std::string& stmt) {
  std::vector<const poly::Node*> path;
  descend(s.root.get(), stmt, path);
  for (size_t i = 1; i < path.size(); ++i)
    if (path[i]->kind == poly::NodeKind::Sequence) return path[i];
  return nullptr;
}

int member_axis(const ProgramContext& p, const poly::BandMember& m, const std::string& stmt) {
  return member_axis(p.axes, m, stmt);
}

int member_axis(const ProgramAxes& axes, const poly::BandMember& m, const std::string& stmt) {
  auto it = m.schedule.find(stmt);
  if (it == m.schedule.end()) return -1;
  poly::LinearAff l = poly::linear_form(it->second);
  auto one_dim = [](const std::vector<int64_t>& dims) {
    int dim = -1;
    for (size_t k = 0; k < dims.size(); ++k)
      if (dims[k] != 0) dim = dim < 0 ? static_cast<int>(k) : -2;
    return dim;
  };
  int dim = one_dim(l.dims);
  if (dim < 0)
    for (size_t d = 0; d < l.divs.size(); ++d)
      if (l.divs[d] != 0 && d < l.div_defs.size()) dim = one_dim(l.div_defs[d].dims);
  return axes.axis(stmt, dim);
}

// Sizes of the structure while it is checked: sizes do not change legality.
int64_t default_tile(int64_t extent) {
  int64_t t = 1;
  while (t < extent && t < 64) t *= 2;
  return t;
}

}  // namespace nautilus::sched
