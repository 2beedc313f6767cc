#include "autosched/axes.h"

#include <numeric>
#include <set>

namespace nautilus::sched {
namespace {

// Classes of (statement, dim) that may merge only if no statement gets two dims in one.
class Classes {
 public:
  explicit Classes(const std::vector<int>& stmt_of)
      : stmt_of_(stmt_of), parent_(stmt_of.size()), members_(stmt_of.size()) {
    std::iota(parent_.begin(), parent_.end(), 0);
    for (size_t i = 0; i < stmt_of.size(); ++i) members_[i] = {static_cast<int>(i)};
  }
  int find(int x) const {
    while (parent_[x] != x) x = parent_[x];
    return x;
  }
  void unite(int a, int b) {
    a = find(a), b = find(b);
    if (a == b) return;
    std::set<int> stmts;
    for (int m : members_[a]) stmts.insert(stmt_of_[m]);
    for (int m : members_[b])
      if (stmts.contains(stmt_of_[m])) return;
    if (b < a) std::swap(a, b);
    parent_[b] = a;
    members_[a].insert(members_[a].end(), members_[b].begin(), members_[b].end());
  }

 private:
  std::vector<int> stmt_of_, parent_;
  std::vector<std::vector<int>> members_;
};

}  // namespace

int ProgramAxes::axis(const std::string& stmt, int dim) const {
  auto it = of.find(stmt);
  return it == of.end() || dim < 0 || static_cast<size_t>(dim) >= it->second.size()
             ? -1
             : it->second[dim];
}

int ProgramAxes::dim(const std::string& stmt, int axis) const {
  auto it = of.find(stmt);
  if (it == of.end()) return -1;
  for (size_t k = 0; k < it->second.size(); ++k)
    if (it->second[k] == axis) return static_cast<int>(k);
  return -1;
}

ProgramAxes program_axes(const ProgramFacts& facts) {
  const poly::Program& p = *facts.program;
  std::vector<int> stmt_of;
  std::map<std::string, int> base;
  std::vector<std::string> dim_names;
  std::vector<int64_t> extents;
  for (size_t s = 0; s < p.statements.size(); ++s) {
    const poly::Statement& st = p.statements[s];
    base[st.name] = static_cast<int>(stmt_of.size());
    std::vector<std::string> names = poly::dim_names(st.domain);
    const StmtModel& m = facts.stmts.at(st.name);
    for (size_t k = 0; k < names.size(); ++k) {
      stmt_of.push_back(static_cast<int>(s));
      dim_names.push_back(names[k]);
      extents.push_back(m.extent(static_cast<int>(k)));
    }
  }
  Classes classes(stmt_of);
  auto dims_of = [&](const poly::Statement& st, const AccessModel& a) {
    std::vector<int> out;
    for (const Affine& e : a.index) {
      int k = e.single_dim();
      out.push_back(k < 0 ? -1 : base.at(st.name) + k);
    }
    return out;
  };
  auto match = [&](const std::vector<int>& a, const std::vector<int>& b) {
    for (size_t d = 0; d < a.size() && d < b.size(); ++d)
      if (a[d] >= 0 && b[d] >= 0) classes.unite(a[d], b[d]);
  };
  // Values handed from writer to reader first, then inputs read by several, then names.
  for (bool inputs : {false, true})
    for (const poly::Tensor& t : p.tensors) {
      if ((t.kind == poly::TensorKind::Input) != inputs) continue;
      std::vector<int> first;
      for (const poly::Statement& st : p.statements)
        for (const AccessModel& a : facts.stmts.at(st.name).accesses) {
          if (a.tensor != &t) continue;
          std::vector<int> dims = dims_of(st, a);
          if (a.write && !inputs) first = first.empty() ? dims : first;
        }
      for (const poly::Statement& st : p.statements)
        for (const AccessModel& a : facts.stmts.at(st.name).accesses) {
          if (a.tensor != &t) continue;
          std::vector<int> dims = dims_of(st, a);
          if (first.empty()) first = dims;
          match(first, dims);
        }
    }
  for (size_t i = 0; i < stmt_of.size(); ++i)
    for (size_t j = 0; j < i; ++j)
      if (dim_names[i] == dim_names[j] && extents[i] == extents[j])
        classes.unite(static_cast<int>(j), static_cast<int>(i));

  ProgramAxes out;
  std::map<int, int> number;
  std::set<std::string> used;
  for (const poly::Statement& st : p.statements) {
    std::vector<int>& list = out.of[st.name];
    size_t n = facts.stmts.at(st.name).lo.size();
    for (size_t k = 0; k < n; ++k) {
      int i = base.at(st.name) + static_cast<int>(k), c = classes.find(i);
      auto [it, fresh] = number.emplace(c, static_cast<int>(out.names.size()));
      if (fresh) {
        std::string name = dim_names[c];
        for (int v = 2; !used.insert(name).second; ++v)
          name = dim_names[c] + "_" + std::to_string(v);
        out.names.push_back(name);
        out.extents.push_back(0);
      }
      out.extents[it->second] = std::max(out.extents[it->second], extents[i]);
      list.push_back(it->second);
    }
  }
  return out;
}

}  // namespace nautilus::sched
