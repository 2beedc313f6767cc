// Dependences from access relations and the original order.
//
// Pairs of instances that touch one element are W^-1 o R (and so on), cut down to those that the
// original order puts in this order. Where elements may be overwritten, flow is value-based: isl's
// dataflow keeps the last writer.
#include "polyhedral/dependence.h"

#include <set>

#include "polyhedral/access_order.h"

namespace nautilus::poly {

namespace {

struct Writer {
  const Statement* statement;
  isl::map access;
  bool definite;  // replaces the element for sure: not gathered, no guard, not an update
};

class Analysis {
 public:
  explicit Analysis(const Program& p) : p_(p), order_(p) {
    for (const Tensor& t : p.tensors) {
      for (const Statement* s : writers(p, t.name))
        writers_[t.name].push_back({s, restricted(p, *s, s->write),
                                    s->write.gathers.empty() && !s->guard && !s->reduction});
      if (writers_[t.name].size() > 1 ||
          (writers_[t.name].size() == 1 && rewritten(writers_[t.name][0])))
        several_.insert(t.name);
    }
  }

  DependenceSet run() {
    for (const Statement& s : p_.statements)
      for (size_t k = 0; k < s.reads.size(); ++k) of_read(s, static_cast<int>(k));
    for (const Tensor& t : p_.tensors) between_writes(t.name);
    return std::move(out_);
  }

 private:
  const Program& p_;
  OriginalOrder order_;
  std::map<std::string, std::vector<Writer>> writers_;
  std::set<std::string> several_;  // tensors whose elements may be written by several instances
  DependenceSet out_;

  bool rewritten(const Writer& w) const {
    return !w.statement->reduction && (!w.definite || !w.access.is_injective());
  }

  void add(DepKind kind, const Statement& source, const Statement& sink, const std::string& tensor,
           int read, isl::map relation, bool approximate) {
    relation = relation.coalesce();
    if (relation.is_empty()) return;
    out_.all.push_back({kind, source.name, sink.name, tensor, read,
                        align_params(relation, p_.params), approximate});
  }

  // { source -> sink : both touch one element, source first in the original order }
  isl::map ordered(const Statement& a, const isl::map& access_a, const Statement& b,
                   const isl::map& access_b) {
    return access_a.apply_range(access_b.reverse()).intersect(order_.before(a.name, b.name));
  }

  void of_read(const Statement& s, int k) {
    const Access& read = s.reads[static_cast<size_t>(k)];
    const Doing doing(
        [&] { return "read $" + std::to_string(k) + " of " + read.tensor + " by " + s.name; });
    const auto at = writers_.find(read.tensor);
    if (at == writers_.end() || at->second.empty()) return;
    const isl::map access = restricted(p_, s, read);
    if (several_.count(read.tensor))
      last_writers(s, k, access, at->second);
    else
      for (const Writer& w : at->second)
        add(DepKind::Flow, *w.statement, s, read.tensor, k,
            ordered(*w.statement, w.access, s, access),
            !read.gathers.empty() || !w.statement->write.gathers.empty());
    for (const Writer& w : at->second)
      add(DepKind::Anti, s, *w.statement, read.tensor, k,
          ordered(s, access, *w.statement, w.access),
          !read.gathers.empty() || !w.statement->write.gathers.empty());
  }

  // Value-based flow: among the writers, the last one before the read; indefinite writers do not
  // hide earlier ones.
  void last_writers(const Statement& s, int k, const isl::map& access,
                    const std::vector<Writer>& from) {
    isl::union_map must = isl::union_map::empty(access.ctx()), may = must;
    isl::union_map times = isl::union_map(order_.time(s.name));
    for (const Writer& w : from) {
      (w.definite ? must : may) = (w.definite ? must : may).unite(isl::union_map(w.access));
      times = times.unite(isl::union_map(order_.time(w.statement->name)));
    }
    const isl::union_flow flow = isl::union_access_info(isl::union_map(access))
                                     .set_must_source(must)
                                     .set_may_source(may)
                                     .set_schedule_map(times)
                                     .compute_flow();
    const bool gathered = !s.reads[static_cast<size_t>(k)].gathers.empty();
    for (const isl::map& m : maps_of(flow.may_dependence())) {
      const Statement* source = p_.statement(tuple_name_in(m));
      if (source)
        add(DepKind::Flow, *source, s, s.reads[static_cast<size_t>(k)].tensor, k, m,
            gathered || !source->write.gathers.empty());
    }
  }

  // Output dependences, and the free pairs inside one reduction.
  void between_writes(const std::string& tensor) {
    const Doing doing([&] { return "writes of " + tensor; });
    const std::vector<Writer>& all = writers_[tensor];
    for (const Writer& a : all)
      for (const Writer& b : all) {
        const bool same = a.statement == b.statement;
        if (same && !a.statement->reduction && !several_.count(tensor)) continue;
        const bool gathered =
            !a.statement->write.gathers.empty() || !b.statement->write.gathers.empty();
        add(same && a.statement->reduction ? DepKind::Reduction : DepKind::Output, *a.statement,
            *b.statement, tensor, -1, ordered(*a.statement, a.access, *b.statement, b.access),
            gathered);
      }
  }
};

}  // namespace

Expected<DependenceSet> dependences(const Program& p, unsigned long quota) {
  auto result = with_quota(p.context->get(), quota, [&] {
    Analysis analysis = [&] {
      const Doing doing([] { return std::string("accesses and their original order"); });
      return Analysis(p);
    }();
    return analysis.run();
  });
  if (result) return result;
  Refusal r = result.error();
  r.asked = "dependences of " + p.name;
  r.suggest = "raise the quota, or bind the sizes";
  return r;
}

DependenceSet final_value_flow(const Program& p, const std::vector<std::string>& statements) {
  DependenceSet out;
  for (const std::string& source : statements) {
    const Statement* w = p.statement(source);
    if (!w || !w->reduction) continue;
    const isl::map written = restricted(p, *w, w->write);
    for (const std::string& sink : statements) {
      const Statement* s = p.statement(sink);
      for (size_t k = 0; s && k < s->reads.size(); ++k) {
        const Access& read = s->reads[k];
        if (read.tensor != w->write.tensor) continue;
        const isl::map pairs = written.apply_range(restricted(p, *s, read).reverse()).coalesce();
        if (!pairs.is_empty())
          out.all.push_back({DepKind::Flow, source, sink, read.tensor, static_cast<int>(k),
                             align_params(pairs, p.params), !read.gathers.empty()});
      }
    }
  }
  return out;
}

const std::vector<std::string> DependenceSet::relaxations() const {
  std::vector<std::string> out;
  for (const Dependence& d : all)
    if (d.kind == DepKind::Reduction)
      out.push_back("updates of " + d.tensor + " by " + d.source +
                    " may run in any order: its operator is associative and commutative");
  return out;
}

}  // namespace nautilus::poly
