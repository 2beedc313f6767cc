#include "polyhedral/verify_values.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace nautilus::poly::verifying {

const Machine::Compiled& Machine::compiled(const Statement& s) {
  const auto at = compiled_.find(s.name);
  if (at != compiled_.end()) return at->second;
  Compiled c;
  const auto add = [&](const Access& a) {
    isl::map plain = a.map.intersect_domain(s.domain);
    std::vector<int> gathered;
    for (const Access::Gather& g : a.gathers) gathered.push_back(g.dim);
    std::sort(gathered.rbegin(), gathered.rend());
    for (int d : gathered) plain = project_out_out(plain, static_cast<unsigned>(d), 1);
    c.accesses.emplace_back(plain.as_pw_multi_aff(), s.domain);
  };
  add(s.write);
  for (const Access& a : s.reads) add(a);
  for (const isl::aff& a : s.indices) c.indices.emplace_back(a);
  return compiled_.emplace(s.name, std::move(c)).first->second;
}

Element Machine::element(const Statement& s, int k, const Element& dims, const Read& read) {
  const Access& a = k < 0 ? s.write : s.reads.at(static_cast<size_t>(k));
  Element out;
  if (!compiled(s).accesses[static_cast<size_t>(k + 1)](dims, out))
    throw Undecided{s.name + " touches no element of " + a.tensor + " at one of its instances"};
  std::vector<Access::Gather> gathers = a.gathers;
  std::sort(gathers.begin(), gathers.end(),
            [](const Access::Gather& x, const Access::Gather& y) { return x.dim < y.dim; });
  for (const Access::Gather& g : gathers) {
    const Access& index = s.reads.at(static_cast<size_t>(g.read));
    const Real v = read(index.tensor, element(s, g.read, dims, read));
    if (!std::isfinite(v)) throw Undecided{"an index read from " + index.tensor + " is no number"};
    out.insert(out.begin() + g.dim, static_cast<int64_t>(v));
  }
  return out;
}

Operands Machine::operands(const Statement& s, const Element& dims, const Read& read) {
  return {[this, &s, &dims, &read](int k) {
            return read(s.reads.at(static_cast<size_t>(k)).tensor, element(s, k, dims, read));
          },
          [this, &s, &dims](int k) {
            return static_cast<Real>(compiled(s).indices.at(static_cast<size_t>(k))(dims));
          },
          nullptr, nullptr};
}

bool Machine::runs(const Statement& s, const Element& dims, const Read& read) {
  return !s.guard || number(s.guard, operands(s, dims, read)) != 0;
}

Real Machine::term(const Statement& s, const Element& dims, const Read& read) {
  return number(s.expr, operands(s, dims, read));
}

// --- cones -------------------------------------------------------------------------------------

namespace {

class Walk {
 public:
  Walk(const Program& p, const std::set<std::string>& given) : p_(p), given_(given) {}
  std::vector<const Statement*> order;

  void tensor(const std::string& name) {
    if (given_.count(name)) return;
    const auto [at, fresh] = state_.emplace(name, false);
    if (!fresh) {
      if (!at->second) throw Undecided{name + " depends on itself"};
      return;
    }
    const Tensor* t = p_.tensor(name);
    if (!t || t->kind == TensorKind::Input) return void(state_[name] = true);
    std::vector<const Statement*> writers;
    for (const Statement& s : p_.statements)
      if (s.write.tensor == name) writers.push_back(&s);
    for (const Statement* s : writers)
      for (const Access& a : s->reads) tensor(a.tensor);
    order.insert(order.end(), writers.begin(), writers.end());
    state_[name] = true;
  }

 private:
  const Program& p_;
  const std::set<std::string>& given_;
  std::map<std::string, bool> state_;  // true: done
};

}  // namespace

std::vector<const Statement*> cone(const Program& p, const std::set<std::string>& given,
                                   const std::vector<std::string>& wanted) {
  Walk w(p, given);
  for (const std::string& t : wanted) w.tensor(t);
  return std::move(w.order);
}

std::set<std::string> leaves(const std::vector<const Statement*>& cone,
                             const std::set<std::string>& given) {
  std::set<std::string> written, out;
  for (const Statement* s : cone) written.insert(s->write.tensor);
  for (const Statement* s : cone)
    for (const Access& a : s->reads)
      if (given.count(a.tensor) || !written.count(a.tensor)) out.insert(a.tensor);
  return out;
}

isl::set present_instances(const Statement& s, const Elements& present) {
  isl::set out = s.domain;
  for (const Access& a : s.reads) {
    const auto there = present.find(a.tensor);
    if (there == present.end() || !a.gathers.empty()) continue;
    out = out.intersect(a.map.intersect_range(there->second).domain());
  }
  return out;
}

// --- samples -----------------------------------------------------------------------------------

Sample::Sample(Machine& machine, std::set<std::string> given, Elements present, size_t most)
    : machine_(machine), given_(std::move(given)), present_(std::move(present)), most_(most) {}

void Sample::plan_reads(const std::map<std::string, isl::set>& instances) {
  Elements wanted;
  for (const auto& [name, set] : instances)
    for (const Access& a : machine_.program().statement(name)->reads) {
      if (given_.count(a.tensor)) continue;
      const isl::set e = a.map.intersect_domain(set).range();
      const auto [at, fresh] = wanted.emplace(a.tensor, e);
      if (!fresh) at->second = at->second.unite(e);
    }
  plan(wanted);
}

// Presence flows down the cone, need flows up; the instances that are both are planned.
void Sample::plan(const Elements& wanted) {
  std::vector<std::string> names;
  for (const auto& [t, s] : wanted) names.push_back(t);
  const std::vector<const Statement*> order = order_ = cone(machine_.program(), given_, names);
  Elements needed = wanted;
  std::map<const Statement*, isl::set> instances;
  Elements defined = present_, written;
  std::set<std::string> partial;  // point-wise tensors of which some elements are absent
  for (const Statement* s : order) {
    const isl::set here = present_instances(*s, defined);
    instances.emplace(s, here);
    if (s->reduction) continue;
    const std::string& tensor = s->write.tensor;
    const isl::set range = s->write.map.intersect_domain(here).range();
    const auto [at, fresh] = written.emplace(tensor, range);
    if (!fresh) at->second = at->second.unite(range);
    if (!here.is_equal(s->domain)) partial.insert(tensor);
    if (partial.count(tensor)) defined.insert_or_assign(tensor, at->second);
  }
  if (alike_)
    for (const Statement* s : order)
      for (const Statement* q : order) {
        if (!s->reduction || !instances.at(s).is_equal(s->domain)) break;
        if (n_dim(q->domain) == n_dim(s->domain) &&
            set_tuple_name(q->domain, s->name).is_equal(s->domain))
          instances.at(s) = set_tuple_name(instances.at(q), s->name);
      }
  for (size_t k = order.size(); k-- > 0;) {
    const Statement& s = *order[k];
    isl::set& here = instances.at(&s);
    const auto want = needed.find(s.write.tensor);
    if (want == needed.end()) {
      here = isl::set::empty(here.space());
      continue;
    }
    here = here.intersect(s.write.map.intersect_range(want->second).domain());
    for (const Access& a : s.reads) {
      if (given_.count(a.tensor)) continue;
      const isl::set e = a.map.intersect_domain(here).range();
      const auto [at, fresh] = needed.emplace(a.tensor, e);
      if (!fresh) at->second = at->second.unite(e);
    }
  }
  for (const Statement* s : order) instances_[s->name] = points(instances.at(s), most_);
}

void Sample::evaluate(const Data& data) {
  data_ = &data;
  values_.clear();
  const Machine::Read read = reader();
  for (const Statement* s : order_) {
    std::map<Element, Real>& into = values_[s->write.tensor];
    for (const Element& x : instances_.at(s->name)) {
      if (!machine_.runs(*s, x, read)) continue;
      const Element e = machine_.element(*s, -1, x, read);
      const Real v = machine_.term(*s, x, read);
      const auto [at, fresh] = into.emplace(e, v);
      if (s->reduction)
        at->second =
            combined(*s->reduction,
                     fresh ? static_cast<Real>(identity_value(*s->reduction)) : at->second, v);
      else if (!fresh)
        throw Undecided{s->write.tensor + " is written more than once"};
    }
  }
}

Real Sample::value(const std::string& tensor, const Element& e) const {
  const Program& p = machine_.program();
  const Tensor* t = p.tensor(tensor);
  if (!t) throw Undecided{"there is no tensor " + tensor};
  if (given_.count(tensor) || t->kind == TensorKind::Input) return data_->at(*t, e);
  const auto of = values_.find(tensor);
  if (of != values_.end())
    if (const auto at = of->second.find(e); at != of->second.end()) return at->second;
  for (const Statement& s : p.statements)
    if (s.write.tensor == tensor && s.reduction) return identity_value(*s.reduction);
  return std::numeric_limits<Real>::quiet_NaN();
}

Machine::Read Sample::reader() const {
  return [this](const std::string& tensor, const Element& e) { return value(tensor, e); };
}

// --- trails ------------------------------------------------------------------------------------

namespace {

class Trace {
 public:
  Trace(Machine& machine, const std::set<std::string>& given, Picker& pick, Trail& trail)
      : machine_(machine), given_(given), pick_(pick), trail_(trail) {}

  void from(const std::string& tensor, const Element& e) {
    const Program& p = machine_.program();
    for (const Statement& s : p.statements) {
      if (s.write.tensor != tensor || !entered_.insert(s.name).second) continue;
      const isl::set writes =
          s.write.map.intersect_range(at_element(s.write.map.space().range(), e)).domain();
      const auto x = pick_(s.domain.intersect(writes));
      if (x) at(s, *x);
    }
  }

  void at(const Statement& s, const Element& x) {
    const Program& p = machine_.program();
    for (size_t k = 0; k < s.reads.size(); ++k) {
      const Access& a = s.reads[k];
      const Tensor& t = *p.tensor(a.tensor);
      const bool leaf = given_.count(a.tensor) || t.kind == TensorKind::Input;
      if (!a.gathers.empty()) {
        if (leaf) trail_.everywhere.insert(a.tensor);
        continue;
      }
      const Element e = machine_.element(s, static_cast<int>(k), x, {});
      if (leaf)
        trail_.read[a.tensor].push_back(e);
      else
        from(a.tensor, e);
    }
  }

 private:
  Machine& machine_;
  const std::set<std::string>& given_;
  Picker& pick_;
  Trail& trail_;
  std::set<std::string> entered_;  // statements: one instance of each
};

}  // namespace

void follow(Machine& machine, const std::set<std::string>& given, const std::string& tensor,
            const Element& e, Picker& pick, Trail& trail) {
  Trace(machine, given, pick, trail).from(tensor, e);
}

void follow_instance(Machine& machine, const std::set<std::string>& given, const Statement& s,
                     const Element& dims, Picker& pick, Trail& trail) {
  Trace(machine, given, pick, trail).at(s, dims);
}

Elements around(const Program& bound, const std::set<std::string>& given, const Trail& trail,
                int64_t radius) {
  Elements out;
  for (const Tensor& t : bound.tensors) {
    if (t.kind != TensorKind::Input && !given.count(t.name)) continue;
    if (trail.everywhere.count(t.name)) continue;
    const isl::set all = bound.elements(t);
    isl::set boxes = isl::set::empty(all.space());
    if (const auto read = trail.read.find(t.name); read != trail.read.end())
      for (const Element& e : read->second) boxes = boxes.unite(at_element(all.space(), e, radius));
    out.emplace(t.name, boxes);
  }
  return out;
}

}  // namespace nautilus::poly::verifying
