#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>

#include "autosched/search/state.h"
#include "autosched/search/words.h"

namespace nautilus::sched {
namespace {

using nlohmann::json;

// A reduced dim up to this extent, and a parallel one up to that, is one tile as a whole even where
// the rest of the kernel has loops.
constexpr int64_t kWholeReduced = 256, kWholeParallel = 512;
// The least tile of an axis that is open.
constexpr int64_t kOpenTile = 16;

std::vector<std::string> axis_names(const ProgramContext& p, const std::vector<int>& axes) {
  std::vector<std::string> out;
  for (int a : axes) out.push_back(p.axes.names[a]);
  return out;
}

bool contains(const std::vector<int>& v, int x) {
  return std::find(v.begin(), v.end(), x) != v.end();
}

// Axes along which every statement of the run is parallel, in the order of the last one's dims.
std::vector<int> shared_parallel_axes(const ProgramContext& p, int first, int last) {
  const std::vector<poly::Statement>& st = p.program->statements;
  std::vector<int> out;
  for (int axis : p.axes.of.at(st[last].name)) {
    bool all = true;
    for (int i = first; i <= last && all; ++i) {
      int dim = p.axes.dim(st[i].name, axis);
      all = dim >= 0 && !p.facts->stmts.at(st[i].name).reduced[dim];
    }
    if (all) out.push_back(axis);
  }
  return out;
}

// Axes worth tiling: some operand does not depend on them (reuse), or they are contiguous in what
// is written.
std::vector<int> tileable_axes(const ProgramContext& p, int first, int last,
                               const std::vector<int>& grid) {
  std::vector<int> out;
  for (int axis : grid) {
    if (p.axes.extents[axis] <= 1) continue;
    bool useful = false;
    for (int i = first; i <= last; ++i) {
      const StmtModel& m = p.facts->stmts.at(p.program->statements[i].name);
      int dim = p.axes.dim(m.stmt->name, axis);
      if (dim < 0) continue;
      for (const AccessModel& a : m.accesses) {
        if (a.index.empty()) continue;
        if (!a.write && !a.depends[dim]) useful = true;
        if (a.index.back().coef[dim] != 0) useful = true;
      }
    }
    if (useful) out.push_back(axis);
  }
  return out;
}

// All of them first, then single ones, then none.
std::vector<std::vector<int>> tiled_choices(const std::vector<int>& useful) {
  std::vector<std::vector<int>> out{useful};
  if (useful.size() > 1)
    for (size_t k = useful.size(); k-- > 0;) out.push_back({useful[k]});
  if (useful.size() > 2)
    for (size_t k = useful.size(); k-- > 0;) {
      std::vector<int> but = useful;
      but.erase(but.begin() + static_cast<std::ptrdiff_t>(k));
      out.push_back(but);
    }
  if (!useful.empty()) out.push_back({});
  return out;
}

}  // namespace

std::vector<Candidate> Actions::candidates(const SearchState& s) const {
  std::vector<Candidate> out;
  if (s.kernel.empty()) {
    if (s.last >= 0) kernel_candidates(s, out);
    if (s.closed_bound == 0 &&
        s.last + 1 == static_cast<int>(s.program->program->statements.size()))
      recompute_candidates(s, out);
    if (s.closed_bound == 0 && !s.split) split_candidates(s, out);
  } else if (s.next < s.kernel.size()) {
    loop_candidates(s, out);
  } else {
    Candidate c;
    c.kind = Candidate::Kind::Finish;
    c.decision = "tiles and storage of the kernel of " + tensors(*s.program, s.kernel);
    c.bound = bound(s);
    out.push_back(c);
  }
  return out;
}

// A kernel ends with the last statement that has none and reaches back over its nearest producers.
void Actions::kernel_candidates(const SearchState& s, std::vector<Candidate>& out) const {
  const ProgramContext& p = *s.program;
  const std::vector<poly::Statement>& st = p.program->statements;
  int lowest = 0;
  for (int i = 0; i <= s.last; ++i)
    if (s.pinned.contains(st[i].name)) lowest = i + 1;
  for (int first = lowest; first <= s.last; ++first) {
    std::vector<int> grid = shared_parallel_axes(p, first, s.last);
    if (grid.empty() && first < s.last) continue;
    std::vector<std::string> names;
    for (int i = first; i <= s.last; ++i) names.push_back(st[i].name);
    double b = s.closed_bound + kernel_bound(p, first, s.last) +
               (first > 0 ? kernel_bound(p, 0, first - 1) : 0);
    for (const std::vector<int>& tiled : tiled_choices(tileable_axes(p, first, s.last, grid))) {
      Candidate c;
      c.first = first;
      c.last = s.last;
      c.grid = grid;
      c.tiled = tiled;
      c.bound = std::max(b, s.closed_bound + grid_bound(p, first, s.last, grid, tiled) +
                                (first > 0 ? kernel_bound(p, 0, first - 1) : 0));
      c.decision = "one kernel for " + tensors(p, names) +
                   (grid.empty() ? ", one block" : ", grid over " + list(axis_names(p, grid))) +
                   (tiled.empty() ? "" : ", tiles of " + list(axis_names(p, tiled)));
      out.push_back(c);
    }
  }
}

// Whether a statement of the kernel in hand gets serial tile loops when it stands by itself.
bool Actions::open(const StmtModel& m, size_t dim) const {
  return !options_.open_dims.empty() &&
         options_.open_dims.contains(poly::dim_names(m.stmt->domain)[dim]);
}

bool Actions::needs_loop(const StmtModel& m, size_t dim) const {
  return m.extent(static_cast<int>(dim)) > (m.reduced[dim] ? kWholeReduced : kWholeParallel) ||
         open(m, dim);
}

// Of an axis that is open, several where it is long enough for that: an order that is legal with
// one tile need not be with more.
int64_t Actions::loop_tile(const StmtModel& m, size_t dim, int64_t extent) const {
  int64_t t = default_tile(extent);
  if (!open(m, dim)) return t;
  while (t >= extent && t > kOpenTile) t /= 2;
  return std::max(t, kOpenTile);
}

bool Actions::has_serial_loops(const SearchState& s, const std::string& stmt) const {
  const StmtModel& m = s.program->facts->stmts.at(stmt);
  for (size_t k = 0; k < m.lo.size(); ++k) {
    if (!contains(s.grid, s.program->axes.axis(stmt, static_cast<int>(k))) && needs_loop(m, k))
      return true;
  }
  return false;
}

void Actions::loop_candidates(const SearchState& s, std::vector<Candidate>& out) const {
  const ProgramContext& p = *s.program;
  const std::string& head = s.kernel[s.next];
  auto inside = [&](const std::string& stmt, int axis) {
    return !contains(s.grid, axis) && p.axes.dim(stmt, axis) >= 0;
  };
  for (size_t last = s.kernel.size(); last-- > s.next + 1;)
    for (int axis : p.axes.of.at(head)) {
      if (p.axes.extents[axis] <= 1) continue;
      // Point-wise statements without the loop (a mean between two sums) may stand between, if a
      // repair moves them.
      bool all = inside(s.kernel[last], axis), every = true;
      for (size_t i = s.next; i <= last && all; ++i) {
        const poly::Statement* st = p.program->statement(s.kernel[i]);
        bool in = inside(s.kernel[i], axis);
        every &= in;
        all = in || (st && !st->reduction);
      }
      if (!all) continue;
      Candidate c;
      c.kind = Candidate::Kind::Loop;
      c.first = static_cast<int>(s.next);
      c.last = static_cast<int>(last);
      c.axis = axis;
      std::vector<std::string> run(s.kernel.begin() + static_cast<std::ptrdiff_t>(s.next),
                                   s.kernel.begin() + static_cast<std::ptrdiff_t>(last) + 1);
      c.decision = "fuse " + tensors(p, run) + " at " + p.axes.names[axis];
      if (!every) c.rolling = true, c.decision += kRolling;
      SearchState after = s;
      after.next = last + 1;
      c.bound = bound(after);
      out.push_back(c);
    }
  // Rows that fit the registers are read once: no loops at all. Worth a candidate where there would
  // be some.
  bool loops = false;
  for (size_t i = s.next; i < s.kernel.size(); ++i) loops |= has_serial_loops(s, s.kernel[i]);
  if (loops && fits_whole(s)) {
    Candidate c;
    c.kind = Candidate::Kind::Loop;
    c.whole = true;
    c.first = static_cast<int>(s.next);
    c.last = static_cast<int>(s.kernel.size()) - 1;
    std::vector<std::string> rest(s.kernel.begin() + static_cast<std::ptrdiff_t>(s.next),
                                  s.kernel.end());
    c.decision = tensors(p, rest) + " each as one tile";
    c.bound = bound(s);
    out.push_back(c);
  }
  Candidate alone;
  alone.kind = Candidate::Kind::Loop;
  alone.first = alone.last = static_cast<int>(s.next);
  alone.decision = tensors(p, {head}) + " by itself";
  SearchState after = s;
  after.next = s.next + 1;
  alone.bound = bound(after);
  out.push_back(alone);
}

Taken Actions::take(const SearchState& s, const Candidate& c, const Record* record) const {
  try {
    switch (c.kind) {
      case Candidate::Kind::Kernel:
        return take_kernel(s, c, record);
      case Candidate::Kind::Loop:
        return take_loop(s, c, record);
      case Candidate::Kind::Finish:
        return take_finish(s, c, record);
      case Candidate::Kind::Recompute:
        return take_recompute(s, c, record);
      case Candidate::Kind::Split:
        return take_split(s, c, record);
    }
  } catch (const isl::exception& e) {
    Taken t;
    t.node = NodeState::Unknown;
    t.verdict = poly::VerdictKind::Unknown;
    t.reason = e.what();
    return t;
  }
  return {};
}

// Interchange, tile and fuse the bands of the run at its grid axes; map them to the grid.
Taken Actions::take_kernel(const SearchState& s, const Candidate& c, const Record* record) const {
  const ProgramContext& p = *s.program;
  const std::vector<poly::Statement>& st = p.program->statements;
  Stepper step(s.schedule, p.deps, record);
  SearchState next = s;
  next.kernel.clear();
  for (int i = c.first; i <= c.last; ++i) {
    next.kernel.push_back(st[i].name);
    const poly::Node* filter = root_child_of(step.schedule, st[i].name, nullptr);
    if (!filter || filter->children.empty()) continue;
    const poly::Node* band = filter->children[0].get();
    if (band->kind != poly::NodeKind::Band) continue;
    std::vector<size_t> order;
    for (int axis : c.grid)
      for (size_t k = 0; k < band->members.size(); ++k)
        if (member_axis(p, band->members[k], st[i].name) == axis) order.push_back(k);
    for (size_t k = 0; k < band->members.size(); ++k)
      if (std::find(order.begin(), order.end(), k) == order.end()) order.push_back(k);
    int id = band->id;
    if (!std::is_sorted(order.begin(), order.end()) &&
        !step.apply("interchange", {{"node", id}, {"order", order}}))
      return step.failed();
    if (!c.tiled.empty()) {
      json sizes = json::array();
      for (int axis : c.grid)
        sizes.push_back(contains(c.tiled, axis) ? default_tile(p.axes.extents[axis]) : -1);
      if (!step.apply("tile", {{"node", id}, {"sizes", sizes}})) return step.failed();
    } else if (!c.grid.empty() && c.grid.size() < band->members.size()) {
      if (!step.apply("split", {{"node", id}, {"at", c.grid.size()}})) return step.failed();
    }
  }
  if (!c.grid.empty()) {
    int first = 0, last = 0;
    if (c.first < c.last) {
      root_child_of(step.schedule, st[c.first].name, &first);
      root_child_of(step.schedule, st[c.last].name, &last);
      json fuse{{"node", step.schedule.root->id},
                {"first", first},
                {"last", last},
                {"depth", c.grid.size()}};
      if (!step.apply("fuse", fuse)) return step.failed();
    }
    const poly::Node* filter = root_child_of(step.schedule, st[c.last].name, nullptr);
    const poly::Node* band =
        !filter || filter->children.empty() ? nullptr : filter->children[0].get();
    if (band && band->kind == poly::NodeKind::Band &&
        !step.apply("map", {{"node", band->id}, {"member", "*"}, {"mapping", "grid"}}))
      return step.failed();
  }
  next.schedule = step.schedule;
  next.last = c.first - 1;
  skip_pinned(next);
  next.grid = c.grid;
  next.tiled = c.tiled;
  next.next = 0;
  next.kernel_bound =
      std::max(kernel_bound(p, c.first, c.last), grid_bound(p, c.first, c.last, c.grid, c.tiled));
  Taken t;
  t.state = next;
  t.steps = step.steps;
  t.verdict = step.verdict;
  t.reason = step.note;
  return t;
}

// Gives each statement of the run its serial tile loops, the shared one outermost, and fuses them
// there.
Taken Actions::take_loop(const SearchState& s, const Candidate& c, const Record* record) const {
  const ProgramContext& p = *s.program;
  Stepper step(s.schedule, p.deps, record);
  for (int i = c.first; i <= c.last; ++i) {
    const std::string& stmt = s.kernel[i];
    const poly::Node* band = innermost_band(step.schedule, stmt);
    auto facts = p.facts->stmts.find(stmt);
    if (!band || facts == p.facts->stmts.end()) continue;
    const StmtModel& m = facts->second;
    std::vector<size_t> order(band->members.size());
    for (size_t k = 0; k < order.size(); ++k) order[k] = k;
    std::vector<int64_t> size(band->members.size(), 0);
    bool any = false;
    for (size_t k = 0; k < order.size(); ++k) {
      int axis = member_axis(p, band->members[k], stmt);
      if (axis < 0 || contains(s.grid, axis)) continue;
      int dim = p.axes.dim(stmt, axis);
      int64_t extent = m.extent(dim);
      if (axis == c.axis)
        size[k] = loop_tile(m, dim, p.axes.extents[axis]);
      else if (!c.whole && needs_loop(m, dim))
        size[k] = loop_tile(m, dim, extent);
      else if (!m.independent[dim] && extent > 1)
        size[k] = default_tile(extent) < extent
                      ? 2 * extent
                      : default_tile(extent);  // one tile of constant extent
      any |= size[k] > 0;
    }
    // A non-rectangular domain needs constant tile extents: a whole dim is one tile of a power of
    // two.
    for (int64_t& t : size)
      if (t > 64) {
        int64_t up = 1;
        while (up < t / 2) up *= 2;
        t = up;
      }
    auto rank = [&](size_t k) {
      int axis = member_axis(p, band->members[k], stmt);
      return axis == c.axis && c.axis >= 0                                                 ? 0
             : size[k] > 0 && axis >= 0 && !m.reduced[std::max(0, p.axes.dim(stmt, axis))] ? 1
                                                                                           : 2;
    };
    std::stable_sort(order.begin(), order.end(),
                     [&](size_t a, size_t b) { return rank(a) < rank(b); });
    int id = band->id;
    // The order matters only where there are several loops and the shared one is not the first.
    size_t head = 0;
    while (head < size.size() && size[head] == 0) ++head;
    bool several = std::count_if(size.begin(), size.end(), [](int64_t t) { return t > 0; }) > 1;
    if (several && rank(head) != rank(order[0])) {
      std::vector<int64_t> sorted;
      for (size_t k : order) sorted.push_back(size[k]);
      size = sorted;
      if (!step.apply("interchange", {{"node", id}, {"order", order}})) return step.failed();
    }
    if (any && !step.apply("tile", {{"node", id}, {"sizes", size}})) return step.failed();
  }
  if (c.last > c.first && !c.whole) {
    const poly::Node* seq = kernel_sequence(step.schedule, s.kernel[c.first]);
    if (!seq) return step.failed();
    int first = -1, last = -1;
    for (size_t i = 0; i < seq->children.size(); ++i) {
      const std::vector<std::string>& names = seq->children[i]->statements;
      if (std::find(names.begin(), names.end(), s.kernel[c.first]) != names.end())
        first = static_cast<int>(i);
      if (std::find(names.begin(), names.end(), s.kernel[c.last]) != names.end())
        last = static_cast<int>(i);
    }
    json params{{"node", seq->id}, {"first", first}, {"last", last}, {"depth", 1}};
    if (!step.apply(c.rolling ? "rolling_update" : "fuse", params)) {
      Taken t = step.failed();
      if (!c.rolling && t.verdict == poly::VerdictKind::Illegal) {
        t.also = c;
        t.also->rolling = true;
        t.also->decision = c.decision + kRolling;
      }
      return t;
    }
  }
  SearchState next = s;
  next.schedule = step.schedule;
  next.next = static_cast<size_t>(c.last) + 1;
  Taken t;
  if (step.schedule.program != s.schedule.program) {
    Expected<ProgramContextPtr> program =
        program_context(step.schedule.program, options_.isl_quota);
    if (!program) {
      t = step.failed();
      t.node = NodeState::Unknown;
      t.reason = program.error().text();
      return t;
    }
    next.program = *program;
  }
  t.state = next;
  t.steps = step.steps;
  t.verdict = step.verdict;
  t.reason = step.note;
  return t;
}

// What is left of each statement's band becomes its tile; temporaries of the kernel move as near as
// they may.
Taken Actions::take_finish(const SearchState& s, const Candidate& c, const Record* record) const {
  const ProgramContext& p = *s.program;
  Stepper step(s.schedule, p.deps, record);
  const poly::Node* child = root_child_of(step.schedule, s.kernel.back(), nullptr);
  std::vector<std::string> stmts = child ? child->statements : s.kernel;
  for (const std::string& stmt : stmts) {
    const poly::Node* band = innermost_band(step.schedule, stmt);
    if (!band) continue;
    bool serial = true;
    for (const poly::BandMember& m : band->members) serial &= m.step == 1;
    if (serial && !step.apply("map", {{"node", band->id}, {"member", "*"}, {"mapping", "tile"}}))
      return step.failed();
  }
  std::string where;
  bool scratch = false;
  for (const std::string& stmt : stmts) {
    const poly::Statement* st = step.schedule.program->statement(stmt);
    if (!st) continue;
    const std::string& tensor = st->write.tensor;
    const poly::Tensor* t = step.schedule.program->tensor(tensor);
    if (!t || t->kind != poly::TensorKind::Temp) continue;
    bool local = true;
    for (const poly::Statement& r : step.schedule.program->statements)
      for (const poly::Access& a : r.reads)
        if (a.tensor == tensor && std::find(stmts.begin(), stmts.end(), r.name) == stmts.end())
          local = false;
    if (!local) continue;
    if (step.attempt("set_scope", {{"tensor", tensor}, {"scope", "register"}})) {
      where += (where.empty() ? "" : ", ") + tensor + " in registers";
    } else if (!c.far && fits_scratch(s, tensor) &&
               step.attempt("set_scope", {{"tensor", tensor}, {"scope", "shared"}})) {
      where += (where.empty() ? "" : ", ") + tensor + " in scratch";
      scratch = true;
    }
  }
  Taken t;
  SearchState next = s;
  next.schedule = step.schedule;
  next.closed_bound = s.closed_bound + s.kernel_bound;
  next.kernel.clear();
  next.grid.clear();
  next.tiled.clear();
  next.next = 0;
  next.kernel_bound = 0;
  take_unfinished(next);
  t.state = next;
  t.steps = step.steps;
  t.verdict = step.verdict;
  t.reason = where;
  if (scratch) {
    t.also = c;
    t.also->far = true;
    t.also->decision = c.decision + kNoScratch;
  }
  return t;
}

}  // namespace nautilus::sched
