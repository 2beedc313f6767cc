#include "polyhedral/verify_repairs.h"

#include <algorithm>

#include "polyhedral/repair.h"

namespace nautilus::poly::verifying {

namespace {

// Other points than those that the derivation was tested at.
constexpr int kPoints = 60;
constexpr uint64_t kSeed = 0x9e3779b97f4a7c15;

bool has(const std::vector<std::string>& names, const std::string& name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

bool reads(const Statement& s, const std::string& tensor) {
  return std::any_of(s.reads.begin(), s.reads.end(), [&](const Access& a) { return a.tensor == tensor; });
}

// Sources and targets are reductions into temporaries, via statements pointwise; all run under the band.
std::optional<std::string> roles(const Schedule& s, const Repair& r) {
  const Node* band = find(s, r.band);
  if (!band || band->kind != NodeKind::Band) return "its band " + std::to_string(r.band) + " is gone";
  auto check = [&](const std::vector<std::string>& names, bool reduction) -> std::optional<std::string> {
    for (const std::string& n : names) {
      const Statement* st = s.program->statement(n);
      if (!st) return "there is no statement " + n;
      if (st->reduction.has_value() != reduction) return n + (reduction ? " is not a reduction" : " is a reduction, not pointwise");
      if (!has(band->statements, n)) return n + " does not run under band " + std::to_string(r.band);
      const Tensor* t = s.program->tensor(st->write.tensor);
      if (!t || t->kind != TensorKind::Temp) return st->write.tensor + " is not a temporary: its running value would be seen";
    }
    return std::nullopt;
  };
  if (r.targets.empty() || r.sources.empty()) return "it has no target or no source";
  if (auto bad = check(r.targets, true)) return bad;
  if (auto bad = check(r.sources, true)) return bad;
  return check(r.via, false);
}

// Everything that reads a via tensor uses running values on purpose: a via statement or target of some repair that
// lists it.
std::optional<std::string> other_readers(const Schedule& s, const Repair& r) {
  for (const std::string& via : r.via) {
    const std::string& tensor = s.program->statement(via)->write.tensor;
    for (const Statement& reader : s.program->statements) {
      if (!reads(reader, tensor)) continue;
      const bool expected = std::any_of(s.repairs.begin(), s.repairs.end(), [&](const Repair& other) {
        return has(other.via, via) && (has(other.via, reader.name) || has(other.targets, reader.name));
      });
      if (!expected) return reader.name + " also reads " + tensor + ", which holds running values here";
    }
  }
  return std::nullopt;
}

// The target reads its sources directly or through the via statements, and nothing else that runs with them.
std::optional<std::string> chain(const Schedule& s, const Repair& r) {
  for (size_t k = 0; k < r.sources.size(); ++k) {
    const std::string& tensor = s.program->statement(r.sources[k])->write.tensor;
    const bool used = std::any_of(s.program->statements.begin(), s.program->statements.end(), [&](const Statement& st) {
      return (has(r.via, st.name) || has(r.targets, st.name)) && reads(st, tensor);
    });
    if (!used) return "neither target nor via statements read " + tensor;
  }
  return std::nullopt;
}

}  // namespace

std::optional<std::string> repair_problem(const Schedule& s, const Repair& r, std::vector<std::string>& checked) {
  if (auto bad = roles(s, r)) return bad;
  if (auto bad = other_readers(s, r)) return bad;
  if (auto bad = chain(s, r)) return bad;
  checked.push_back("repair of " + r.targets[0] + ": sources, via statements and readers are as they must be");
  for (const Obligation& o : r.obligations)
    if (!o.discharged) return "the obligation " + o.claim + " was not discharged";
  if (r.corrections.size() != r.targets.size()) return "it has " + std::to_string(r.corrections.size()) + " corrections for " + std::to_string(r.targets.size()) + " targets";
  if (auto bad = unguarded_terms(*s.program, r.targets, r.sources, r.via)) return bad;
  checked.push_back("repair of " + r.targets[0] + ": targets skip what their sources skip");
  if (auto counterexample = refute_repair(*s.program, r, kPoints, kSeed)) return "its algebra is wrong: " + *counterexample;
  checked.push_back("repair of " + r.targets[0] + ": corrections hold at " + std::to_string(kPoints) + " random points in high precision");
  return std::nullopt;
}

}  // namespace nautilus::poly::verifying
