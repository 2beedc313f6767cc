#include "autosched/cost/structure.h"

#include <algorithm>

#include "polyhedral/footprint.h"

namespace nautilus::sched {
namespace {

// Splits floor(e/T) into e and T; anything else is itself with step 1. Slopes as in the program's
// facts.
std::pair<Affine, int64_t> unfloor(const isl::aff& a, size_t dims) {
  poly::LinearAff l = poly::linear_form(a);
  Affine e;
  e.coef.assign(dims, 0.0);
  bool plain = std::all_of(l.dims.begin(), l.dims.end(), [](int64_t c) { return c == 0; });
  int used = -1;
  for (size_t d = 0; d < l.divs.size(); ++d)
    if (l.divs[d] != 0) used = used < 0 ? static_cast<int>(d) : -2;
  if (plain && used >= 0 && l.divs[used] == l.denominator && l.constant == 0 &&
      l.div_defs[used].known) {
    const poly::LinearDiv& def = l.div_defs[used];
    for (size_t k = 0; k < dims && k < def.dims.size(); ++k)
      e.coef[k] = static_cast<double>(def.dims[k]);
    e.constant = static_cast<double>(def.constant);
    return {e, def.denominator};
  }
  double den = static_cast<double>(l.denominator);
  for (size_t k = 0; k < dims && k < l.dims.size(); ++k)
    e.coef[k] = static_cast<double>(l.dims[k]) / den;
  for (size_t d = 0; d < l.divs.size(); ++d) {
    if (l.divs[d] == 0 || d >= l.div_defs.size() || l.div_defs[d].denominator == 0) continue;
    const poly::LinearDiv& def = l.div_defs[d];
    double c = static_cast<double>(l.divs[d]) / den / static_cast<double>(def.denominator);
    for (size_t k = 0; k < dims && k < def.dims.size(); ++k)
      e.coef[k] += c * static_cast<double>(def.dims[k]);
  }
  e.constant = static_cast<double>(l.constant) / den;
  return {e, 1};
}

struct Walk {
  const ProgramFacts& facts;
  StructureModel& out;
  int kernel = 0;
  std::vector<const poly::BandMember*> members;
  std::vector<isl::union_set> filters;
  std::optional<Refusal> refusal;

  // The part of the statement's domain that passes every filter above; facts are redone if it is a
  // real part.
  bool restricted(StmtModel& m) {
    isl::set d = m.stmt->domain.intersect_params(out.program->param_context);
    isl::set part = d;
    for (const isl::union_set& f : filters) {
      isl::union_set u = f.intersect(part.to_union_set());
      if (u.is_empty()) return false;
      part = u.as_set();
    }
    if (part.is_equal(d)) return true;
    m.domain = poly::substitute_params(part, facts.sizes);
    if (m.domain.is_empty()) return false;
    double box = 1;
    for (size_t k = 0; k < m.lo.size(); ++k) {
      m.lo[k] = poly::dim_min(m.domain, static_cast<unsigned>(k)).value_or(m.lo[k]);
      m.hi[k] = poly::dim_max(m.domain, static_cast<unsigned>(k)).value_or(m.hi[k]);
      box *= static_cast<double>(m.extent(static_cast<int>(k)));
    }
    Expected<int64_t> n = poly::count_points(m.domain, {});
    m.instances = n ? static_cast<double>(*n) : box;
    m.box = m.instances == box;
    return true;
  }

  void leaf() {
    for (const poly::Statement& st : out.program->statements) {
      bool passes = true;
      for (const isl::union_set& f : filters)
        if (f.intersect(isl::set::universe(st.domain.space()).to_union_set()).is_empty())
          passes = false;
      if (!passes) continue;
      auto it = facts.stmts.find(st.name);
      if (it == facts.stmts.end()) {
        refusal = Refusal{"model the cost of a schedule", st.name, "statement without facts", ""};
        continue;
      }
      StmtModel m = it->second;
      if (m.empty() || !restricted(m)) continue;
      m.kernel = kernel;
      size_t dims = m.lo.size();
      for (const poly::BandMember* b : members) {
        auto a = b->schedule.find(st.name);
        if (a == b->schedule.end()) continue;
        auto [e, step] = unfloor(poly::substitute_params(a->second, facts.sizes), dims);
        if (b->mapping == poly::Mapping::Tile)
          m.tile.push_back({b->name, b->axis, e});
        else
          m.loops.push_back({b->name, b->axis, b->mapping, e, step});
      }
      out.stmts.push_back(std::move(m));
    }
  }

  void visit(const poly::NodePtr& n, bool top) {
    switch (n->kind) {
      case poly::NodeKind::Band:
        for (const poly::BandMember& b : n->members) members.push_back(&b);
        for (const poly::NodePtr& c : n->children) visit(c, false);
        members.resize(members.size() - n->members.size());
        break;
      case poly::NodeKind::Filter:
        filters.push_back(n->filter);
        for (const poly::NodePtr& c : n->children) visit(c, false);
        filters.pop_back();
        break;
      case poly::NodeKind::Sequence:
        for (size_t i = 0; i < n->children.size(); ++i) {
          if (top) kernel = static_cast<int>(i);
          visit(n->children[i], false);
        }
        break;
      case poly::NodeKind::Mark:
        for (const poly::NodePtr& c : n->children) visit(c, top);
        break;
      case poly::NodeKind::Leaf:
        leaf();
        break;
    }
    if (n->kind == poly::NodeKind::Band && n->children.empty()) leaf();
    if (n->kind == poly::NodeKind::Filter && n->children.empty()) leaf();
  }
};

}  // namespace

int Affine::single_dim() const {
  if (constant != 0) return -1;
  int dim = -1;
  for (size_t k = 0; k < coef.size(); ++k) {
    if (coef[k] == 0) continue;
    if (coef[k] != 1 || dim >= 0) return -1;
    dim = static_cast<int>(k);
  }
  return dim;
}

poly::Scope StructureModel::scope(const std::string& tensor) const {
  auto it = scopes.find(tensor);
  return it == scopes.end() ? poly::Scope::Global : it->second;
}

int StructureModel::kernel_of_writer(const std::string& tensor) const {
  for (const StmtModel& m : stmts)
    if (m.stmt->write.tensor == tensor) return m.kernel;
  return -1;
}

int64_t StructureModel::elements(const poly::Tensor& t) const {
  auto it = facts->elements.find(t.name);
  return it == facts->elements.end() ? 1 : it->second;
}

Expected<StructureModel> structure_model(const poly::Schedule& s,
                                         std::shared_ptr<const ProgramFacts> facts) {
  StructureModel out;
  out.program = s.program;
  out.facts = facts;
  out.scopes = s.scopes;
  out.repairs = s.repairs;
  try {
    Walk w{*facts, out, 0, {}, {}, {}};
    w.visit(s.root, true);
    if (w.refusal) return *w.refusal;
    int kernels = 0;
    for (const StmtModel& m : out.stmts) kernels = std::max(kernels, m.kernel + 1);
    out.kernels.resize(kernels);
    for (size_t i = 0; i < out.stmts.size(); ++i)
      out.kernels[out.stmts[i].kernel].stmts.push_back(static_cast<int>(i));
    std::erase_if(out.kernels, [](const KernelModel& k) { return k.stmts.empty(); });
    for (size_t k = 0; k < out.kernels.size(); ++k)
      for (int i : out.kernels[k].stmts) out.stmts[i].kernel = static_cast<int>(k);
    return out;
  } catch (const isl::exception& e) {
    return Refusal{"model the cost of a schedule", "", e.what(), ""};
  } catch (const std::range_error& e) {
    return Refusal{"model the cost of a schedule", "", e.what(), ""};
  }
}

}  // namespace nautilus::sched
