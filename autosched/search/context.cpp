#include <algorithm>
#include <cmath>

#include "autosched/search/state.h"
#include "polyhedral/footprint.h"

namespace nautilus::sched {
namespace {

double distinct_bytes(const poly::Program& p, const StmtModel& m, const poly::Access& a, const poly::Sizes& sizes) {
  const poly::Tensor* t = p.tensor(a.tensor);
  if (!t || m.empty() || !a.gathers.empty()) return 0;
  isl::set e = poly::substitute_params(a.map, sizes).intersect_domain(m.domain).range();
  Expected<int64_t> n = poly::count_points(e, {});
  return n ? static_cast<double>(*n) * type_bytes(t->type) : 0;
}

}  // namespace

Expected<ProgramContextPtr> program_context(poly::ProgramPtr p, unsigned long quota) {
  auto c = std::make_shared<ProgramContext>();
  c->program = p;
  Expected<std::shared_ptr<const ProgramFacts>> facts = program_facts(p);
  if (!facts) return facts.error();
  c->facts = *facts;
  c->axes = program_axes(**facts);
  Expected<poly::DependenceSet> deps = poly::dependences(*p, quota);
  if (!deps) return deps.error();
  c->deps = *deps;
  for (const poly::Statement& st : p->statements) {
    const StmtModel& m = (*facts)->stmts.at(st.name);
    c->work.push_back(statement_work(m));
    std::map<std::string, double> reads;
    for (const poly::Access& a : st.reads)
      reads[a.tensor] = std::max(reads[a.tensor], distinct_bytes(*p, m, a, (*facts)->sizes));
    c->reads.push_back(std::move(reads));
    c->written.push_back(distinct_bytes(*p, m, st.write, (*facts)->sizes));
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

// Bytes that statements first..last must exchange with memory however they are ordered inside one kernel, and
// products and exponentials at the machine's peak.
double Actions::kernel_bound(const ProgramContext& p, int first, int last) const {
  const std::vector<poly::Statement>& st = p.program->statements;
  double cache = machine_.levels.size() > 1 ? machine_.levels[1].capacity.value / 2 : 0;
  std::map<std::string, double> in, out;
  double matrix = 0, special = 0;
  for (int i = first; i <= last; ++i) {
    for (auto& [tensor, bytes] : p.reads[i]) in[tensor] = std::max(in[tensor], bytes);
    out[st[i].write.tensor] = std::max(out[st[i].write.tensor], p.written[i]);
    if (p.work[i].matrix_flops > 0)
      matrix += p.work[i].matrix_flops / std::max(machine_.matrix_rate(p.work[i].matrix_type), machine_.fma.value);
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
  return std::max({bytes / machine_.levels.front().bandwidth.value, matrix, special}) + machine_.launch_latency.value;
}

// A temporary handed from one phase of a block to a later one lies in scratch or in memory; where the rows of the
// smallest tile do not fit the scratch it passes through the level behind it, twice.
double Actions::crossing_bound(const SearchState& s, size_t boundary) const {
  if (machine_.kind != "gpu" || boundary == 0 || boundary >= s.kernel.size()) return 0;
  const ProgramContext& p = *s.program;
  double bytes = 0;
  for (size_t i = 0; i < boundary; ++i) {
    const poly::Statement* w = p.program->statement(s.kernel[i]);
    if (!w) continue;
    bool read_later = false;
    for (size_t j = boundary; j < s.kernel.size(); ++j)
      if (const poly::Statement* r = p.program->statement(s.kernel[j]))
        for (const poly::Access& a : r->reads) read_later |= a.tensor == w->write.tensor;
    auto elements = p.facts->elements.find(w->write.tensor);
    if (!read_later || elements == p.facts->elements.end()) continue;
    double size = static_cast<double>(elements->second) * type_bytes(p.program->tensor(w->write.tensor)->type), blocks = 1;
    for (int axis : s.grid) {
      double extent = static_cast<double>(p.axes.extents[axis]);
      bool tiled = std::find(s.tiled.begin(), s.tiled.end(), axis) != s.tiled.end();
      blocks *= tiled ? std::max(1.0, extent / 8) : extent;
    }
    // Causal halves: only half of the elements may exist.
    if (size / blocks > 2 * machine_.shared_per_unit.value) bytes += size;
  }
  const MemoryLevel* l2 = machine_.level("l2");
  return l2 ? bytes / l2->bandwidth.value : 0;
}

double Actions::bound(const SearchState& s) const {
  double rest = s.last >= 0 ? kernel_bound(*s.program, 0, s.last) : 0;
  double hand = s.kernel.empty() ? 0 : std::max(s.kernel_bound, crossing_bound(s, s.next));
  return s.closed_bound + hand + rest;
}

}  // namespace nautilus::sched
