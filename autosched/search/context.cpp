#include <algorithm>
#include <cmath>

#include "autosched/cost/evaluate.h"
#include "autosched/search/state.h"
#include "polyhedral/footprint.h"

namespace nautilus::sched {
namespace {

double distinct_bytes(const poly::Program& p, const StmtModel& m, const poly::Access& a,
                      const poly::Sizes& sizes) {
  const poly::Tensor* t = p.tensor(a.tensor);
  if (!t || m.empty() || !a.gathers.empty()) return 0;
  isl::set e = poly::substitute_params(a.map, sizes).intersect_domain(m.domain).range();
  Expected<int64_t> n = poly::count_points(e, {});
  return n ? static_cast<double>(*n) * type_bytes(t->type) : 0;
}

}  // namespace

Expected<ProgramContextPtr> program_context(poly::ProgramPtr p, unsigned long quota) {
  Expected<std::shared_ptr<const ProgramFacts>> facts = program_facts(std::move(p));
  if (!facts) return facts.error();
  return program_context(*facts, quota);
}

Expected<ProgramContextPtr> program_context(std::shared_ptr<const ProgramFacts> facts,
                                            unsigned long quota) {
  auto c = std::make_shared<ProgramContext>();
  const poly::ProgramPtr p = facts->program;
  c->program = p;
  c->facts = facts;
  c->axes = program_axes(*facts);
  Expected<poly::DependenceSet> deps = poly::dependences(*p, quota);
  if (!deps) return deps.error();
  c->deps = *deps;
  for (const poly::Statement& st : p->statements) {
    const StmtModel& m = facts->stmts.at(st.name);
    c->work.push_back(statement_work(m));
    std::map<std::string, double> reads;
    for (const poly::Access& a : st.reads)
      reads[a.tensor] = std::max(reads[a.tensor], distinct_bytes(*p, m, a, facts->sizes));
    c->reads.push_back(std::move(reads));
    c->written.push_back(distinct_bytes(*p, m, st.write, facts->sizes));
  }
  return ProgramContextPtr(c);
}

SearchState start_state(ProgramContextPtr p) {
  SearchState s;
  s.schedule = poly::initial_schedule(p->program);
  s.program = p;
  s.last = static_cast<int>(p->program->statements.size()) - 1;
  return s;
}

// Bytes that statements first..last must exchange with memory however they are ordered inside one
// kernel, and products and exponentials at the machine's peak.
double Actions::kernel_bound(const ProgramContext& p, int first, int last) const {
  const std::vector<poly::Statement>& st = p.program->statements;
  double cache =
      machine_.levels.size() > 1 ? kCacheForTemps * machine_.levels[1].capacity.value : 0;
  std::map<std::string, double> in, out;
  double matrix = 0, special = 0;
  bool runs = false;  // a kernel without instances is not launched
  for (int i = first; i <= last; ++i) {
    runs |= !p.facts->stmts.at(st[i].name).empty();
    for (auto& [tensor, bytes] : p.reads[i]) in[tensor] = std::max(in[tensor], bytes);
    out[st[i].write.tensor] = std::max(out[st[i].write.tensor], p.written[i]);
    if (p.work[i].matrix_flops > 0)
      matrix += p.work[i].matrix_flops /
                std::max(machine_.matrix_rate(p.work[i].matrix_type), machine_.fma.value);
    special += p.work[i].special / machine_.special.value;
  }
  double bytes = 0;
  for (auto& [tensor, b] : in) {
    const poly::Tensor* t = p.program->tensor(tensor);
    bool made_here = out.contains(tensor);
    if (t->kind == poly::TensorKind::Input || (!made_here && b > cache)) bytes += b;
  }
  for (auto& [tensor, b] : out) {
    const poly::Tensor* t = p.program->tensor(tensor);
    bool leaves = t->kind == poly::TensorKind::Output;
    if (!leaves && b > cache)
      for (int i = 0; i < static_cast<int>(st.size()); ++i)
        if ((i < first || i > last) && p.reads[i].contains(tensor)) leaves = true;
    if (leaves) bytes += b;
  }
  return std::max({bytes / machine_.levels.front().bandwidth.value, matrix, special}) +
         (runs ? machine_.launch_latency.value : 0);
}

// Blocks along an axis that an operand does not depend on load the same elements again: (block,
// element) pairs at the largest tiles pass the level behind the scratch.
double Actions::grid_bound(const ProgramContext& p, int first, int last,
                           const std::vector<int>& grid, const std::vector<int>& tiled) const {
  const MemoryLevel* l2 = machine_.kind == "gpu" ? machine_.level("l2") : nullptr;
  if (!l2) return 0;
  TileCounter& counter = counters_[p.program];
  const std::vector<poly::Statement>& st = p.program->statements;
  std::map<std::string, double> bytes;
  for (int i = first; i <= last; ++i) {
    const StmtModel& m = p.facts->stmts.at(st[i].name);
    for (const AccessModel& a : m.accesses) {
      if (a.write || !a.tensor || m.empty()) continue;
      bool made_here = false;
      for (int w = first; w <= last; ++w) made_here |= st[w].write.tensor == a.tensor->name;
      if (made_here) continue;
      std::vector<TileCoordinate> coords;
      auto coordinate = [&](int dim, int64_t step) {
        TileCoordinate c;
        c.e.coef.assign(m.lo.size(), 0.0);
        c.e.coef[dim] = 1;
        c.step = step;
        coords.push_back(c);
      };
      bool plain = true;
      std::vector<bool> used(m.lo.size(), false);
      for (size_t d = 0; d < a.index.size(); ++d) {
        int dim = a.gathered[d] ? -1 : a.index[d].single_dim();
        if (dim < 0 || used[dim])
          plain = false;
        else
          used[dim] = true, coordinate(dim, 1);
      }
      if (!plain) continue;
      for (int axis : grid)
        if (int dim = p.axes.dim(st[i].name, axis); dim >= 0)
          coordinate(dim, std::find(tiled.begin(), tiled.end(), axis) != tiled.end() ? 256 : 1);
      double n = counter.nonempty(m, coords) * type_bytes(a.tensor->type);
      bytes[a.tensor->name] = std::max(bytes[a.tensor->name], n);
    }
  }
  double sum = 0;
  for (auto& [tensor, n] : bytes) sum += n;
  return sum / l2->best_bandwidth();
}

// Whether one block's part of a temporary of the kernel in hand fits the scratch, at the smallest
// tiles (8 rows).
bool Actions::fits_scratch(const SearchState& s, const std::string& tensor) const {
  const ProgramContext& p = *s.program;
  const std::vector<poly::Statement>& st = p.program->statements;
  for (size_t i = 0; i < st.size(); ++i) {
    if (st[i].write.tensor != tensor) continue;
    const auto m = p.facts->stmts.find(st[i].name);
    for (size_t k = 0; m != p.facts->stmts.end() && k < m->second.lo.size(); ++k) {
      const int axis = p.axes.axis(st[i].name, static_cast<int>(k));
      if (open(m->second, k) && std::find(s.grid.begin(), s.grid.end(), axis) == s.grid.end())
        return false;
    }
    double blocks = 1;
    for (int axis : s.grid) {
      double extent = static_cast<double>(p.axes.extents[axis]);
      bool tiled = std::find(s.tiled.begin(), s.tiled.end(), axis) != s.tiled.end();
      blocks *= tiled ? std::max(1.0, std::ceil(extent / 8)) : std::max(1.0, extent);
    }
    return p.written[i] / blocks <= machine_.shared_per_unit.value;
  }
  return true;
}

// Whether what is left of the kernel in hand can be one tile a statement: with one row of each
// tiled grid axis, its values fit the registers of a unit (CPU: the cache that a block has to
// itself).
bool Actions::fits_whole(const SearchState& s) const {
  const double room =
      machine_.kind == "gpu" ? machine_.registers_per_unit.value : machine_.shared_per_unit.value;
  for (size_t i = s.next; i < s.kernel.size(); ++i) {
    const StmtModel& m = s.program->facts->stmts.at(s.kernel[i]);
    double lanes = 1;
    for (size_t k = 0; k < m.lo.size(); ++k) {
      const int axis = s.program->axes.axis(s.kernel[i], static_cast<int>(k));
      if (std::find(s.grid.begin(), s.grid.end(), axis) != s.grid.end()) continue;
      if (open(m, k)) return false;
      lanes *= static_cast<double>(std::max<int64_t>(1, m.extent(static_cast<int>(k))));
    }
    if (4 * lanes > room) return false;
  }
  return true;
}

// A temporary handed from one phase of a block to a later one lies in scratch or in memory; where
// it does not fit the scratch it is written to the level behind it and read again.
double Actions::crossing_bound(const SearchState& s, size_t boundary) const {
  if (machine_.kind != "gpu" || boundary == 0 || boundary >= s.kernel.size()) return 0;
  const ProgramContext& p = *s.program;
  const std::vector<poly::Statement>& st = p.program->statements;
  auto before = s.kernel.begin() + static_cast<std::ptrdiff_t>(boundary);
  double bytes = 0;
  for (size_t i = 0; i < st.size(); ++i) {
    if (std::find(s.kernel.begin(), before, st[i].name) == before) continue;
    bool read_later = false;
    for (const poly::Statement& r : st)
      if (std::find(before, s.kernel.end(), r.name) != s.kernel.end())
        for (const poly::Access& a : r.reads) read_later |= a.tensor == st[i].write.tensor;
    if (read_later && !fits_scratch(s, st[i].write.tensor)) bytes += 2 * p.written[i];
  }
  const MemoryLevel* l2 = machine_.level("l2");
  return l2 ? bytes / l2->best_bandwidth() : 0;
}

double Actions::bound(const SearchState& s) const {
  double rest = s.last >= 0 ? kernel_bound(*s.program, 0, s.last) : 0;
  double hand = s.kernel.empty() ? 0 : std::max(s.kernel_bound, crossing_bound(s, s.next));
  return s.closed_bound + hand + rest;
}

}  // namespace nautilus::sched
