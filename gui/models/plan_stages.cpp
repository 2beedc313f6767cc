#include "gui/models/plan_stages.h"

#include <algorithm>
#include <deque>
#include <mutex>

namespace nautilus::gui {

namespace {

constexpr size_t kMostKnown = 12;

}  // namespace

SpecText SpecText::of(const sched::Session& s) {
  return {QString::fromStdString(s.spec_path), QString::fromStdString(s.spec_text),
          QString::fromStdString(s.spec_hash)};
}

const Stage* PlanStages::find(const QString& id) const {
  for (const Stage& s : stages)
    if (s.id == id) return &s;
  return nullptr;
}

PlanStagesPtr stages_of(const Workpiece& w, const CancelToken& cancel,
                        const std::vector<sched::SearchNode>& path, const SpecText& spec) {
  struct Known {
    std::weak_ptr<const poly::Program> program;
    std::string key;
    PlanStagesPtr stages;
  };
  static std::mutex mutex;
  static std::deque<Known> known;  // last used first
  std::string key = w.options.machine.id + "\n" + spec.path.toStdString() + "\n" + made_of(path);
  if (!path.empty()) key += std::to_string(path.back().id);
  {
    const std::lock_guard lock(mutex);
    // Never locked: the program of another bench, ending just then, would be dropped on this
    // thread, and objects of isl stay within theirs.
    const auto same = [&](const std::weak_ptr<const poly::Program>& p) {
      return !p.owner_before(w.program) && !w.program.owner_before(p);
    };
    for (const Known& k : known)
      if (k.key == key && same(k.program)) return k.stages;
  }
  auto made = std::make_shared<const PlanStages>(make_stages(w, cancel, path, spec));
  if (cancel.cancelled()) return made;
  const std::lock_guard lock(mutex);
  known.push_front({w.program, key, made});
  if (known.size() > kMostKnown) known.pop_back();
  return made;
}

int relevance(const PlanStages& p, const LineTag& tag, const Focus& f) {
  const auto names = [&](const QString& statement) {
    return std::any_of(tag.statements.begin(), tag.statements.end(), [&](int s) {
      return s >= 0 && size_t(s) < p.statements.size() && p.statements[size_t(s)] == statement;
    });
  };
  if (!f.statement.isEmpty()) {
    if (names(f.statement)) return 2;
    return f.node >= 0 && tag.node == f.node && tag.statements.empty() ? 2 : 0;
  }
  if (f.node < 0) return 0;
  if (tag.node == f.node) return 2;
  for (int n = tag.node; n >= 0;) {
    const auto at = p.tree.find(n);
    if (at == p.tree.end()) break;
    n = at->second.parent;
    if (n == f.node) return 1;
  }
  // A text without nodes (spec, program) speaks of statements.
  const auto focused = p.tree.find(f.node);
  if (tag.node >= 0 || focused == p.tree.end()) return 0;
  for (int s : tag.statements)
    if (std::count(focused->second.statements.begin(), focused->second.statements.end(), s))
      return 1;
  return 0;
}

Focus focus_of(const PlanStages& p, const LineTag& tag) {
  Focus f{tag.node, {}};
  if (tag.statements.size() == 1 && size_t(tag.statements[0]) < p.statements.size())
    f.statement = p.statements[size_t(tag.statements[0])];
  return f;
}

}  // namespace nautilus::gui
