#include "polyhedral/transforms/recompute_program.h"

#include <algorithm>
#include <set>

#include "polyhedral/access_order.h"
#include "polyhedral/naut.h"
#include "polyhedral/program_guards.h"

namespace nautilus::poly {

namespace {

// Replaces operand numbers of an expression.
Expr renumbered(const Expr& e, const std::map<int, Expr>& reads,
                const std::map<int, int>& indices) {
  if (!e) return e;
  return substitute(e, [&](const Expr& x) -> std::optional<Expr> {
    if (x->op == Op::Read && reads.count(x->index)) return reads.at(x->index);
    if (x->op == Op::Index && indices.count(x->index)) return Expr::index(indices.at(x->index));
    return std::nullopt;
  });
}

bool same_access(const Access& a, const Access& b) {
  auto gathers = [](const Access& x) {
    std::vector<std::pair<int, int>> out;
    for (const Access::Gather& g : x.gathers) out.emplace_back(g.dim, g.read);
    return out;
  };
  return a.tensor == b.tensor && gathers(a) == gathers(b) && a.map.is_equal(b.map);
}

class Recompute {
 public:
  Recompute(const Program& p, const Statement& producer, const Statement& into)
      : p_(p), producer_(producer), into_(into), tensor_(*p.tensor(producer.write.tensor)) {}

  std::optional<Refusal> admissible() const {
    if (producer_.name == into_.name) return refuse("a statement cannot be recomputed in itself");
    for (size_t k = 0; k < into_.reads.size(); ++k) {
      if (into_.reads[k].tensor != tensor_.name) continue;
      if (!into_.reads[k].gathers.empty())
        return refuse(into_.name + " reads " + tensor_.name + " at indices that are data");
      for (const Access& a : into_.reads)
        for (const Access::Gather& g : a.gathers)
          if (g.read == static_cast<int>(k))
            return refuse(tensor_.name + " holds indices of another read of " + into_.name);
    }
    if (reads_of(into_).empty()) return refuse(into_.name + " does not read " + tensor_.name);
    if (!assigned_once(tensor_.name)) return refuse(tensor_.name + " is written more than once");
    for (const Access& a : producer_.reads)
      if (!assigned_once(a.tensor))
        return refuse(a.tensor +
                      ", which it reads, is overwritten: a later reader would see other values");
    return std::nullopt;
  }

  Expected<Recomputed> inlined() {
    if (producer_.guard && !guarded_alike())
      return refuse("where its condition is false " + tensor_.name + " keeps another value, and " +
                    into_.name + " does not run under the same condition");
    Statement c = into_;
    c.reads.clear();
    std::map<int, Expr> reads;  // old read -> what stands for it
    std::map<int, int> kept;    // old read -> new number
    for (size_t k = 0; k < into_.reads.size(); ++k)
      if (into_.reads[k].tensor != tensor_.name) {
        kept[static_cast<int>(k)] = static_cast<int>(c.reads.size());
        c.reads.push_back(into_.reads[k]);
      }
    for (Access& a : c.reads)
      for (Access::Gather& g : a.gathers) g.read = kept.at(g.read);
    for (Access::Gather& g : c.write.gathers) g.read = kept.at(g.read);
    auto leaf = [&](int old) {
      Type t = p_.tensor(into_.reads[static_cast<size_t>(old)].tensor)->type;
      for (const Expr& e : {into_.expr, into_.guard})
        if (e)
          visit(e, [&](const Expr& x) {
            if (x->op == Op::Read && x->index == old) t = x->type;
          });
      return t;
    };
    for (const auto& [old, now] : kept) reads.emplace(old, Expr::read(now, leaf(old)));
    for (int k : reads_of(into_)) {
      auto value = inline_one(c, into_.reads[static_cast<size_t>(k)]);
      if (!value) return value.error();
      reads.emplace(k, *value);
    }
    c.expr = renumbered(into_.expr, reads, {});
    c.guard = renumbered(into_.guard, reads, {});
    return finished(c, std::nullopt, isl::map::empty(into_.domain.identity().space()));
  }

  Expected<Recomputed> duplicated(const std::optional<std::vector<std::string>>& names) {
    auto extra = extra_dims(names);
    if (!extra) return extra.error();
    const std::string t_name = fresh(tensor_.name + "_" + into_.write.tensor);
    const std::string s_name = fresh("S_" + t_name);
    const isl::map pick = picked(*extra);  // { into[..] -> [x..] }

    // { producer[r] -> into[c] } over every read of the tensor, and with x in the source.
    isl::map uses =
        restricted(p_, producer_, producer_.write)
            .apply_range(restricted(p_, into_, into_.reads[static_cast<size_t>(reads_of(into_)[0])])
                             .reverse());
    Statement c = into_;
    for (int k : reads_of(into_)) {
      Access& a = c.reads[static_cast<size_t>(k)];
      uses = uses.unite(restricted(p_, producer_, producer_.write)
                            .apply_range(restricted(p_, into_, a).reverse()));
      a.map = a.map.range_product(pick).flatten_range().set_range_tuple(t_name);
      a.tensor = t_name;
    }
    // { [r, x] -> c }: flattened domain of the copy.
    const isl::map paired =
        uses.reverse().range_product(pick).flatten_range().set_range_tuple(s_name).reverse();
    Statement copy = producer_;
    copy.name = s_name;
    std::vector<std::string> dims = dim_names(producer_.domain);
    const std::vector<std::string> into_dims = dim_names(into_.domain);
    for (unsigned d : *extra) {
      std::string name = into_dims[d];
      while (std::count(dims.begin(), dims.end(), name) ||
             std::count(p_.params.begin(), p_.params.end(), name))
        name += "_x";
      dims.push_back(name);
    }
    copy.domain = set_dim_names(simplify(paired.domain().gist_params(p_.param_context)), dims);
    rebase(copy, t_name);
    Tensor t = tensor_;
    t.name = t_name;
    t.kind = TensorKind::Temp;
    for (unsigned d : *extra) {
      auto e = extent_of(d);
      if (!e) return e.error();
      t.extents.push_back(*e);
    }
    return finished(c, std::make_pair(t, copy), paired);
  }

 private:
  const Program& p_;
  const Statement& producer_;
  const Statement& into_;
  const Tensor& tensor_;

  Refusal refuse(const std::string& why, const std::string& suggest = "") const {
    return {"recompute " + producer_.name + " in " + into_.name, producer_.name, why, suggest};
  }

  std::vector<int> reads_of(const Statement& s) const {
    std::vector<int> out;
    for (size_t k = 0; k < s.reads.size(); ++k)
      if (s.reads[k].tensor == tensor_.name) out.push_back(static_cast<int>(k));
    return out;
  }

  bool assigned_once(const std::string& tensor) const {
    const auto from = writers(p_, tensor);
    return from.empty() || (from.size() == 1 && (from[0]->reduction || !overwrites(p_, *from[0])));
  }

  // Whether the consumer runs only where the producer's guard holds for every instance that it
  // reads from.
  bool guarded_alike() const {
    for (int k : reads_of(into_))
      if (missing_condition(p_, producer_, into_, into_.reads[static_cast<size_t>(k)])) return false;
    return true;
  }

  // Appends the producer's operands, seen from the consumer through one access; returns its value.
  Expected<Expr> inline_one(Statement& c, const Access& access) const {
    const isl::set domain = into_.domain.intersect_params(p_.param_context);
    const isl::map instance =  // { into[c] -> producer[r] }
        access.map.apply_range(restricted(p_, producer_, producer_.write).reverse())
            .intersect_domain(into_.domain)
            .gist_domain(domain);
    std::map<int, Expr> reads;
    std::map<int, int> indices;
    std::vector<int> number;
    std::map<int, Type> types;
    for (const Expr& e : {producer_.expr, producer_.guard})
      if (e)
        visit(e, [&](const Expr& x) {
          if (x->op == Op::Read) types[x->index] = x->type;
        });
    std::vector<Access> added;
    for (const Access& a : producer_.reads)
      added.push_back({a.tensor, simplify(instance.apply_range(a.map)), a.gathers});
    number.assign(added.size(), -1);
    // Index reads first, so that equal gathered reads are seen to be equal.
    const std::function<void(size_t)> place = [&](size_t k) {
      if (number[k] >= 0) return;
      for (Access::Gather& g : added[k].gathers) {
        place(static_cast<size_t>(g.read));
        g.read = number[static_cast<size_t>(g.read)];
      }
      for (size_t m = 0; m < c.reads.size(); ++m)
        if (same_access(c.reads[m], added[k])) return void(number[k] = static_cast<int>(m));
      number[k] = static_cast<int>(c.reads.size());
      c.reads.push_back(added[k]);
    };
    for (size_t k = 0; k < added.size(); ++k) place(k);
    for (const auto& [k, type] : types)
      reads.emplace(k, Expr::read(number.at(static_cast<size_t>(k)), type));
    if (!producer_.indices.empty()) {
      const isl::pw_multi_aff f = align_params(instance, p_.params).as_pw_multi_aff();
      if (f.n_piece() != 1)
        return refuse("its index values are different affine functions on parts of " + into_.name);
      for (size_t k = 0; k < producer_.indices.size(); ++k) {
        indices[static_cast<int>(k)] = static_cast<int>(c.indices.size());
        c.indices.push_back(
            align_params(producer_.indices[k], p_.params).pullback(f.as_multi_aff()));
      }
    }
    Expr value = renumbered(producer_.expr, reads, indices);
    return value->type == tensor_.type ? value : Expr::cast(value, tensor_.type);
  }

  // Dims of the consumer that the elements it reads do not depend on (or those asked for).
  Expected<std::vector<unsigned>> extra_dims(
      const std::optional<std::vector<std::string>>& names) const {
    const std::vector<std::string> dims = dim_names(into_.domain);
    std::vector<unsigned> out;
    if (names) {
      for (const std::string& n : *names) {
        const auto at = std::find(dims.begin(), dims.end(), n);
        if (at == dims.end()) return refuse(into_.name + " has no dimension " + n);
        out.push_back(static_cast<unsigned>(at - dims.begin()));
      }
      std::sort(out.begin(), out.end());
      out.erase(std::unique(out.begin(), out.end()), out.end());
      return out;
    }
    std::set<unsigned> chosen;
    for (int k : reads_of(into_)) {
      const isl::map m = into_.reads[static_cast<size_t>(k)].map;
      m.as_pw_multi_aff().foreach_piece([&](isl::set, isl::multi_aff value) {
        for (unsigned j = 0; j < value.size(); ++j) {
          const LinearAff f = linear_form(value.at(static_cast<int>(j)));
          for (unsigned d = 0; d < f.dims.size(); ++d) {
            bool used = f.dims[d] != 0;
            for (const LinearDiv& v : f.div_defs) used = used || v.dims.at(d) != 0;
            if (used) chosen.insert(d);
          }
        }
      });
    }
    for (unsigned d = 0; d < dims.size(); ++d)
      if (!chosen.count(d)) out.push_back(d);
    return out;
  }

  // { into[..] -> [x..] }
  isl::map picked(const std::vector<unsigned>& extra) const {
    isl::map out = unnamed_identity(into_.domain.space());
    std::vector<unsigned> drop;
    for (unsigned d = 0; d < into_.n_dims(); ++d)
      if (!std::count(extra.begin(), extra.end(), d)) drop.push_back(d);
    for (auto d = drop.rbegin(); d != drop.rend(); ++d) out = project_out_out(out, *d, 1);
    return out;
  }

  // Reads and writes of the copy: those of the producer behind { copy[r, x] -> producer[r] }.
  void rebase(Statement& copy, const std::string& tensor) const {
    const isl::map all = unnamed_identity(copy.domain.space());
    const unsigned n = static_cast<unsigned>(producer_.n_dims()), n_extra = n_out(all) - n;
    const isl::map back = project_out_out(all, n, n_extra).set_range_tuple(producer_.name);
    const isl::map tail = project_out_out(all, 0, n);
    for (Access& a : copy.reads) a.map = back.apply_range(a.map);
    for (isl::aff& a : copy.indices)
      a = align_params(a, p_.params)
              .pullback(align_params(back, p_.params).as_pw_multi_aff().as_multi_aff());
    copy.write.tensor = tensor;
    copy.write.map = back.apply_range(producer_.write.map)
                         .range_product(tail)
                         .flatten_range()
                         .set_range_tuple(tensor);
  }

  static isl::map unnamed_identity(const isl::space& space) {
    return space.identity_multi_aff_on_domain().reset_range_tuple_id().as_map();
  }

  // Extent of a consumer's dim: that of a tensor which it indexes directly, else its largest value
  // plus one.
  Expected<isl::pw_aff> extent_of(unsigned d) const {
    const isl::aff x = into_.domain.space().identity_multi_aff_on_domain().at(static_cast<int>(d));
    const isl::map wanted = x.as_map().intersect_domain(into_.domain);
    std::vector<const Access*> accesses{&into_.write};
    for (const Access& a : into_.reads) accesses.push_back(&a);
    for (const Access* a : accesses) {
      if (!a->gathers.empty()) continue;
      const isl::pw_multi_aff f = a->map.intersect_domain(into_.domain).as_pw_multi_aff();
      for (unsigned k = 0; k < f.size(); ++k)
        if (f.at(static_cast<int>(k)).as_map().is_equal(wanted))
          return p_.tensor(a->tensor)->extents[k];
    }
    const isl::set domain = into_.domain.intersect_params(p_.param_context);
    if (const auto low = dim_min(domain, d); !domain.is_empty() && (!low || *low < 0))
      return refuse("dimension " + dim_names(into_.domain)[d] + " of " + into_.name +
                    " takes negative values");
    const isl::pw_aff top = domain.max_multi_pw_aff().at(static_cast<int>(d)).add_constant(1);
    const isl::set params = p_.param_context;
    const isl::pw_aff zero = top.domain().complement().intersect(params).pw_aff_on_domain(0);
    return top.union_add(zero).gist_params(params).coalesce();
  }

  std::string fresh(std::string name) const {
    auto used = [&](const std::string& n) {
      return p_.tensor(n) || p_.statement(n) ||
             std::count(p_.params.begin(), p_.params.end(), n) > 0;
    };
    const std::string base = name;
    for (int k = 2; used(name); ++k) name = base + "_" + std::to_string(k);
    return name;
  }

  // Puts the changed consumer (and the copy, just before it) in place; drops the producer if
  // nothing reads it.
  Recomputed finished(const Statement& c, const std::optional<std::pair<Tensor, Statement>>& added,
                      const isl::map& serves) {
    Recomputed out{p_, added ? added->second.name : "", false, serves};
    out.removed = tensor_.kind == TensorKind::Temp;
    for (const Statement& s : p_.statements)
      if (s.name != into_.name && s.name != producer_.name && !reads_of(s).empty())
        out.removed = false;
    const bool textual = naut::is_textual(p_);
    std::vector<Statement> statements;
    for (const Statement& s : p_.statements) {
      if (s.name == into_.name) {
        if (added) statements.push_back(added->second);
        statements.push_back(c);
      } else if (!(out.removed && s.name == producer_.name)) {
        statements.push_back(s);
      }
    }
    Program& p = out.program;
    p.statements = statements;
    if (out.removed)
      std::erase_if(p.tensors, [&](const Tensor& t) { return t.name == tensor_.name; });
    if (added) p.tensors.push_back(added->first);
    p.original = textual ? textual_order(p) : reordered(p, out.copy);
    return out;
  }

  // The given order where the copy runs together with the producer's instance it repeats.
  isl::schedule reordered(const Program& p, const std::string& copy) const {
    isl::union_map to = isl::union_map::empty(p.context->get());
    for (const Statement& s : p.statements) {
      isl::map m = s.domain.identity();
      if (s.name == copy) {
        const isl::map all = unnamed_identity(s.domain.space());
        const unsigned n = static_cast<unsigned>(producer_.n_dims());
        m = project_out_out(all, n, n_out(all) - n)
                .set_range_tuple(producer_.name)
                .intersect_domain(s.domain);
      }
      to = to.unite(isl::union_map(m));
    }
    return p_.original.pullback(to.as_union_pw_multi_aff());
  }
};

}  // namespace

Expected<Recomputed> recompute_in(const Program& p, const std::string& producer,
                                  const std::string& into,
                                  const std::optional<std::vector<std::string>>& extra) {
  const Statement* from = p.statement(producer);
  const Statement* to = p.statement(into);
  const Refusal asked{"recompute " + producer + " in " + into, p.name, "", ""};
  for (const auto& [s, name] : {std::pair{from, producer}, std::pair{to, into}})
    if (!s) return Refusal{asked.asked, asked.where, "there is no statement " + name, ""};
  auto result = with_quota(p.context->get(), kDefaultQuota, [&]() -> Expected<Recomputed> {
    Recompute r(p, *from, *to);
    if (auto bad = r.admissible()) return *bad;
    return from->reduction ? r.duplicated(extra) : r.inlined();
  });
  if (!result) return Refusal{asked.asked, asked.where, result.error().why, ""};
  return *result;
}

}  // namespace nautilus::poly
