// Decisions that change the program before kernels are formed: producers computed again where they
// are used, and reduced axes cut into parts that run in parallel.
#include <algorithm>
#include <nlohmann/json.hpp>

#include "autosched/search/words.h"

namespace nautilus::sched {

std::string list(const std::vector<std::string>& names) {
  std::string out;
  for (const std::string& n : names) out += (out.empty() ? "" : ", ") + n;
  return out;
}

std::string tensors(const ProgramContext& p, const std::vector<std::string>& stmts) {
  std::vector<std::string> out;
  for (const std::string& s : stmts)
    if (const poly::Statement* st = p.program->statement(s)) out.push_back(st->write.tensor);
  return out.size() > 4 ? out.front() + " .. " + out.back() : list(out);
}

// Point-wise temporaries may be computed again where they are read: by each of several readers, or
// by one that runs over a parallel axis that they lack and would lose it in one kernel with them.
void Actions::recompute_candidates(const SearchState& s, std::vector<Candidate>& out) const {
  const ProgramContext& p = *s.program;
  const std::vector<poly::Statement>& st = p.program->statements;
  for (int i = s.recomputed + 1; i < static_cast<int>(st.size()); ++i) {
    const poly::Tensor* t = p.program->tensor(st[i].write.tensor);
    if (st[i].reduction || !t || t->kind != poly::TensorKind::Temp) continue;
    std::vector<std::string> readers;
    for (const poly::Statement& r : st)
      for (const poly::Access& a : r.reads)
        if (a.tensor == t->name && (readers.empty() || readers.back() != r.name))
          readers.push_back(r.name);
    bool wider = false;
    for (const std::string& r : readers) {
      const StmtModel& m = p.facts->stmts.at(r);
      for (size_t k = 0; k < m.lo.size(); ++k)
        wider |= !m.reduced[k] && m.extent(static_cast<int>(k)) > 1 &&
                 p.axes.dim(st[i].name, p.axes.axis(r, static_cast<int>(k))) < 0;
    }
    if (readers.empty() || (readers.size() < 2 && !wider)) continue;
    Candidate c;
    c.kind = Candidate::Kind::Recompute;
    c.first = i;
    c.bound = bound(s);
    c.decision = "recompute " + t->name + " where it is read: in " + tensors(p, readers);
    out.push_back(c);
  }
}

Taken Actions::take_recompute(const SearchState& s, const Candidate& c,
                               const Record* record) const {
  const ProgramContext& p = *s.program;
  const poly::Statement& producer = p.program->statements[c.first];
  Stepper step(s.schedule, p.deps, record);
  for (const poly::Statement& r : p.program->statements) {
    bool reads = false;
    for (const poly::Access& a : r.reads) reads |= a.tensor == producer.write.tensor;
    if (reads && !step.apply("recompute", {{"stmt", producer.name}, {"into", r.name}}))
      return step.failed();
  }
  return changed_program(s, step, c.first - 1, s.split);
}

// Where the parallel axes of a reduction give fewer blocks than there are units, its reduced axis
// may be cut.
void Actions::split_candidates(const SearchState& s, std::vector<Candidate>& out) const {
  const ProgramContext& p = *s.program;
  std::vector<int> tried;
  for (const poly::Statement& st : p.program->statements) {
    if (!st.reduction) continue;
    const StmtModel& m = p.facts->stmts.at(st.name);
    if (m.empty()) continue;
    std::vector<double> parallel;
    for (size_t k = 0; k < m.lo.size(); ++k)
      if (!m.reduced[k]) parallel.push_back(static_cast<double>(m.extent(static_cast<int>(k))));
    std::sort(parallel.rbegin(), parallel.rend());
    double blocks = 1;
    for (size_t k = 0; k < parallel.size(); ++k)
      blocks *= k < 2 ? std::max(1.0, parallel[k] / 64) : parallel[k];
    for (size_t k = 0; k < m.lo.size(); ++k) {
      int axis = p.axes.axis(st.name, static_cast<int>(k));
      if (!m.reduced[k] || std::find(tried.begin(), tried.end(), axis) != tried.end()) continue;
      if (blocks >= machine_.units) continue;
      tried.push_back(axis);
      int found = 0;
      for (int64_t parts = 2; parts * 64 <= m.extent(static_cast<int>(k)) && found < 2;
           parts *= 2) {
        if (blocks * static_cast<double>(parts) < machine_.units) continue;
        ++found;
        Candidate c;
        c.kind = Candidate::Kind::Split;
        c.axis = axis;
        c.parts = parts;
        c.bound = bound(s);
        c.decision = "cut " + p.axes.names[axis] + " into " + std::to_string(parts) +
                     " parts that run in parallel";
        out.push_back(c);
      }
    }
  }
}

Taken Actions::take_split(const SearchState& s, const Candidate& c, const Record* record) const {
  const ProgramContext& p = *s.program;
  Stepper step(s.schedule, p.deps, record);
  std::string name;
  for (const poly::Statement& st : p.program->statements) {
    int dim = st.reduction ? p.axes.dim(st.name, c.axis) : -1;
    if (dim >= 0 && p.facts->stmts.at(st.name).reduced[dim] && name.empty())
      name = poly::dim_names(st.domain)[dim];
  }
  nlohmann::json params{
      {"node", s.schedule.root->id}, {"axis", name}, {"parts", c.parts}, {"multiple", 64}};
  if (!step.apply("split_k", params)) return step.failed();
  return changed_program(s, step, s.recomputed, true);
}

// The state after the program itself was changed: nothing is decided about its kernels yet.
Taken Actions::changed_program(const SearchState& s, const Stepper& step, int recomputed,
                               bool split) const {
  Taken t = step.failed();
  Expected<ProgramContextPtr> program = program_context(step.schedule.program, options_.isl_quota);
  if (!program) {
    t.node = NodeState::Unknown;
    t.reason = program.error().text();
    return t;
  }
  t.reason = step.note;
  SearchState next = s;
  next.schedule = step.schedule;
  next.program = *program;
  next.last = static_cast<int>((*program)->program->statements.size()) - 1;
  next.recomputed = recomputed;
  next.split = split;
  t.state = next;
  return t;
}

}  // namespace nautilus::sched
