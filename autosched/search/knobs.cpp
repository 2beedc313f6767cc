#include "autosched/search/knobs.h"

#include <algorithm>
#include <set>

#include "polyhedral/deadline.h"

namespace nautilus::sched {
namespace {

constexpr int64_t kLargestTile = 256;

// The model of one kernel alone.
StructureModel only_kernel(const StructureModel& m, int kernel) {
  StructureModel out;
  out.program = m.program;
  out.facts = m.facts;
  out.scopes = m.scopes;
  out.repairs = m.repairs;
  out.kernels.resize(1);
  for (int i : m.kernels[kernel].stmts) {
    out.kernels[0].stmts.push_back(static_cast<int>(out.stmts.size()));
    out.stmts.push_back(m.stmts[i]);
    out.stmts.back().kernel = 0;
  }
  return out;
}

// A structure that was judged with one tile for the whole axis says nothing about several, and one
// that was judged with several (where a rolling update had something to carry) nothing about one.
std::vector<int64_t> tile_values(int64_t extent, int64_t structural,
                                 const std::vector<int64_t>& allowed) {
  std::set<int64_t> out;
  int64_t whole = 1;
  while (whole < extent) whole *= 2;
  if (structural >= extent) return {std::max(whole, structural)};
  for (int64_t t : allowed)
    if (t >= 1 && t < extent) out.insert(t);
  if (!out.empty()) return {out.begin(), out.end()};
  out.insert(structural);
  for (int64_t t = 8; t < extent && t <= kLargestTile; t *= 2) out.insert(t);
  return {out.begin(), out.end()};
}

}  // namespace

std::vector<KernelChoice> kernel_choices(const StructureModel& whole, int kernel,
                                         const ProgramAxes& axes, const StructureOps& ops,
                                         Evaluator& evaluator, std::mt19937_64& rng, size_t limit,
                                         const KnobDomains& domains) {
  StructureModel m = only_kernel(whole, kernel);
  const std::string prefix = knob_prefix(whole, kernel);
  StructureOps mine;
  mine.rewrites = ops.rewrites;
  std::set<std::string> names;
  for (const StmtModel& s : m.stmts) names.insert(s.stmt->name);
  for (const StructureOps::Entry& e : ops.entries)
    if (names.contains(e.stmt)) mine.entries.push_back(e);
  // Which axes have tile loops, and where.
  std::map<int, std::vector<LoopDim*>> loops;
  std::map<int, int64_t> structural;
  bool serial = false;
  for (StmtModel& s : m.stmts)
    for (LoopDim& l : s.loops) {
      serial |= l.mapping == poly::Mapping::Serial && l.step > 1;
      int axis = l.step > 1 ? axes.axis(s.stmt->name, l.e.single_dim()) : -1;
      if (axis < 0) continue;
      loops[axis].push_back(&l);
      structural[axis] = std::max(structural[axis], l.step);
    }
  struct Knob {
    std::string name;
    int axis;  // -1: stages
    std::vector<int64_t> values;
  };
  std::vector<Knob> knobs;
  for (auto& [axis, where] : loops)
    knobs.push_back({prefix + "tile." + axes.names[axis], axis,
                     tile_values(axes.extents[axis], structural[axis], domains.tiles)});
  if (evaluator.machine().kind == "gpu" && serial)
    knobs.push_back({prefix + "stages", -1,
                     domains.stages.empty() ? std::vector<int64_t>{1, 2, 3} : domains.stages});

  std::vector<KernelChoice> out;
  std::set<std::vector<size_t>> seen;
  auto try_choice = [&](const std::vector<size_t>& pick) -> double {
    if (!seen.insert(pick).second) return -1;
    KernelChoice c;
    int stages = evaluator.machine().kind == "gpu" ? 2 : 1;
    for (size_t k = 0; k < knobs.size(); ++k) {
      int64_t v = knobs[k].values[pick[k]];
      c.knobs[knobs[k].name] = v;
      if (knobs[k].axis < 0)
        stages = static_cast<int>(v);
      else
        for (LoopDim* l : loops[knobs[k].axis]) l->step = v;
    }
    c.profile = evaluator.kernel(m, 0, mine, stages);
    ResourceProfile alone = c.profile;
    Cost cost_of = cost(alone, evaluator.machine());
    c.seconds = cost_of.seconds;
    c.fits = cost_of.fits;
    out.push_back(std::move(c));
    return out.back().fits ? out.back().seconds : 1e30 + out.back().seconds;
  };
  double combinations = 1;
  for (const Knob& k : knobs) combinations *= static_cast<double>(k.values.size());
  if (combinations <= static_cast<double>(limit)) {
    std::vector<size_t> pick(knobs.size(), 0);
    for (;;) {
      try_choice(pick);
      if (poly::out_of_time()) break;
      size_t k = 0;
      while (k < knobs.size() && ++pick[k] == knobs[k].values.size()) pick[k++] = 0;
      if (k == knobs.size()) break;
    }
    return out;
  }
  // Too many: start from random points, then improve the best along one knob at a time.
  std::vector<size_t> best;
  for (const Knob& k : knobs) best.push_back(k.values.size() / 2);
  double best_seconds = try_choice(best);
  for (size_t n = 0; n < limit / 2 && !poly::out_of_time(); ++n) {
    std::vector<size_t> pick;
    for (const Knob& k : knobs) pick.push_back(rng() % k.values.size());
    double s = try_choice(pick);
    if (s >= 0 && s < best_seconds) best_seconds = s, best = pick;
  }
  for (bool improved = true; improved && out.size() < limit && !poly::out_of_time();) {
    improved = false;
    for (size_t k = 0; k < knobs.size(); ++k)
      for (size_t v = 0; v < knobs[k].values.size(); ++v) {
        std::vector<size_t> pick = best;
        pick[k] = v;
        double s = try_choice(pick);
        if (s >= 0 && s < best_seconds) best_seconds = s, best = pick, improved = true;
      }
  }
  return out;
}

}  // namespace nautilus::sched
