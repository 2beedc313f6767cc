#include <cmath>
#include <set>

#include "autosched/cost/structure.h"
#include "polyhedral/footprint.h"

namespace nautilus::sched {
namespace {

// The slope of an isl affine function: floors count with their slope.
Affine slope(const isl::aff& a, size_t dims) {
  poly::LinearAff l = poly::linear_form(a);
  Affine out;
  out.coef.assign(dims, 0.0);
  double den = static_cast<double>(l.denominator);
  std::vector<std::vector<double>> div(l.div_defs.size(), std::vector<double>(dims, 0.0));
  for (size_t d = 0; d < l.div_defs.size(); ++d) {
    const poly::LinearDiv& def = l.div_defs[d];
    if (!def.known || def.denominator == 0) continue;
    for (size_t k = 0; k < dims && k < def.dims.size(); ++k)
      div[d][k] += static_cast<double>(def.dims[k]);
    for (size_t e = 0; e < d && e < def.divs.size(); ++e)
      for (size_t k = 0; k < dims; ++k) div[d][k] += static_cast<double>(def.divs[e]) * div[e][k];
    for (double& c : div[d]) c /= static_cast<double>(def.denominator);
  }
  for (size_t k = 0; k < dims && k < l.dims.size(); ++k)
    out.coef[k] = static_cast<double>(l.dims[k]) / den;
  for (size_t d = 0; d < l.divs.size() && d < div.size(); ++d)
    for (size_t k = 0; k < dims; ++k)
      out.coef[k] += static_cast<double>(l.divs[d]) / den * div[d][k];
  out.constant = static_cast<double>(l.constant) / den;
  return out;
}

AccessModel access_model(const poly::Program& p, const poly::Access& a, const poly::Sizes& sizes,
                         size_t dims) {
  AccessModel m;
  m.tensor = p.tensor(a.tensor);
  size_t rank = m.tensor ? m.tensor->rank() : 0;
  m.gathered.assign(rank, false);
  m.depends.assign(dims, false);
  m.index.assign(rank, Affine{std::vector<double>(dims, 0.0), 0});
  for (const poly::Access::Gather& g : a.gathers)
    if (g.dim >= 0 && static_cast<size_t>(g.dim) < rank) m.gathered[g.dim] = true;
  isl::map map = poly::substitute_params(a.map, sizes);
  if (map.is_single_valued()) {
    // Piecewise indices take the steepest piece: an upper estimate of what a tile touches.
    map.as_pw_multi_aff().foreach_piece([&](const isl::set&, const isl::multi_aff& ma) {
      for (size_t d = 0; d < rank; ++d) {
        Affine piece = slope(ma.at(static_cast<int>(d)), dims);
        m.index[d].constant = piece.constant;
        for (size_t k = 0; k < dims; ++k)
          if (std::abs(piece.coef[k]) > std::abs(m.index[d].coef[k]))
            m.index[d].coef[k] = piece.coef[k];
      }
    });
  } else {
    for (size_t d = 0; d < rank; ++d) m.gathered[d] = true;
  }
  for (size_t d = 0; d < rank; ++d)
    for (size_t k = 0; k < dims; ++k)
      if (m.index[d].coef[k] != 0) m.depends[k] = true;
  return m;
}

Refusal refuse(const std::string& where, const std::string& why) {
  return Refusal{"model the cost of a program", where, why, "bind every size (--size N=...)"};
}

// The one value each parameter may take, or a Refusal that names a free one.
Expected<poly::Sizes> bound_sizes(const poly::Program& p) {
  poly::Sizes out;
  if (p.params.empty()) return out;
  std::optional<poly::Point> point = poly::sample_point(p.param_context);
  if (!point) return refuse(p.name, "the facts about its sizes contradict each other");
  for (const std::string& name : p.params) {
    auto it = point->params.find(name);
    if (it == point->params.end()) return refuse(p.name, "size " + name + " is not bound");
    if (!p.param_context.is_subset(poly::fix_params(p.param_context, {{name, it->second}})))
      return refuse(p.name, "size " + name + " is not bound");
    out[name] = it->second;
  }
  return out;
}

// Everything about one statement that no schedule changes.
Expected<StmtModel> statement_facts(const poly::Program& p, const poly::Statement& st,
                                    const poly::Sizes& sizes) {
  StmtModel m;
  m.stmt = &st;
  m.domain = poly::substitute_params(st.domain.intersect_params(p.param_context), sizes);
  size_t dims = poly::n_dim(m.domain);
  m.reduced.assign(dims, false);
  if (st.reduction)
    for (int d : st.reduction->dims)
      if (d >= 0 && static_cast<size_t>(d) < dims) m.reduced[d] = true;
  m.independent.assign(dims, true);
  m.lo.assign(dims, 0);
  m.hi.assign(dims, -1);
  if (!m.domain.is_empty()) {
    double box = 1;
    for (size_t k = 0; k < dims; ++k) {
      std::optional<int64_t> lo = poly::dim_min(m.domain, static_cast<unsigned>(k));
      std::optional<int64_t> hi = poly::dim_max(m.domain, static_cast<unsigned>(k));
      if (!lo || !hi) return refuse(st.name, "its domain is not bounded");
      m.lo[k] = *lo;
      m.hi[k] = *hi;
      box *= static_cast<double>(m.extent(static_cast<int>(k)));
    }
    Expected<int64_t> n = poly::count_points(m.domain, {});
    if (!n) return n.error();
    m.instances = static_cast<double>(*n);
    m.box = m.instances == box;
    for (size_t k = 0; k < dims && !m.box; ++k) {
      Expected<int64_t> others =
          poly::count_points(poly::project_out(m.domain, static_cast<unsigned>(k), 1), {});
      m.independent[k] = others && static_cast<double>(*others) *
                                           static_cast<double>(m.extent(static_cast<int>(k))) ==
                                       m.instances;
    }
  }
  for (size_t r = 0; r < st.reads.size(); ++r) {
    m.accesses.push_back(access_model(p, st.reads[r], sizes, dims));
    m.accesses.back().read = static_cast<int>(r);
  }
  m.accesses.push_back(access_model(p, st.write, sizes, dims));
  m.accesses.back().write = true;
  return m;
}

// Distinct elements of each input read and each output written, in bytes: traffic that no schedule
// avoids.
double compulsory(const poly::Program& p, const ProgramFacts& f) {
  double bytes = 0;
  for (const poly::Tensor& t : p.tensors) {
    if (t.kind == poly::TensorKind::Temp) continue;
    std::optional<isl::set> touched;
    bool gathered = false;
    for (const poly::Statement& st : p.statements) {
      const StmtModel& m = f.stmts.at(st.name);
      if (m.empty()) continue;
      auto add = [&](const poly::Access& a) {
        if (a.tensor != t.name) return;
        if (!a.gathers.empty()) gathered = true;
        isl::set e = poly::substitute_params(a.map, f.sizes).intersect_domain(m.domain).range();
        touched = touched ? touched->unite(e) : e;
      };
      if (t.kind == poly::TensorKind::Input)
        for (const poly::Access& a : st.reads) add(a);
      else
        add(st.write);
    }
    // A gathered tensor may be touched in any part: nothing of it is compulsory.
    if (!touched || gathered) continue;
    Expected<int64_t> n = poly::count_points(touched->coalesce(), {});
    if (n) bytes += static_cast<double>(*n) * type_bytes(t.type);
  }
  return bytes;
}

}  // namespace

Expected<std::shared_ptr<const ProgramFacts>> program_facts(poly::ProgramPtr program) {
  auto f = std::make_shared<ProgramFacts>();
  f->program = program;
  try {
    Expected<poly::Sizes> sizes = bound_sizes(*program);
    if (!sizes) return sizes.error();
    f->sizes = *sizes;
    for (const poly::Statement& st : program->statements) {
      Expected<StmtModel> m = statement_facts(*program, st, f->sizes);
      if (!m) return m.error();
      StatementWork w = statement_work(*m);
      f->useful_flops += w.flops;
      f->stmts.emplace(st.name, *m);
    }
    for (const poly::Tensor& t : program->tensors) {
      int64_t n = 1;
      for (const isl::pw_aff& e : t.extents) {
        isl::set value = poly::substitute_params(e, f->sizes).as_set();
        n *= std::max<int64_t>(0, poly::dim_max(value, 0).value_or(0));
      }
      f->elements[t.name] = n;
    }
    f->compulsory_bytes = compulsory(*program, *f);
  } catch (const isl::exception& e) {
    return refuse(program->name, e.what());
  } catch (const std::range_error& e) {
    return refuse(program->name, e.what());
  }
  return std::shared_ptr<const ProgramFacts>(f);
}

}  // namespace nautilus::sched
