#include <algorithm>
#include <map>

#include "polyhedral/program_check.h"
#include "polyhedral/program_guards.h"

namespace nautilus::poly {

namespace {

std::string instance_text(const std::string& name, const Point& at) {
  std::string out = name + "[";
  for (size_t k = 0; k < at.dims.size(); ++k) out += (k ? "," : "") + std::to_string(at.dims[k]);
  out += "]";
  std::string sizes;
  for (const auto& [n, v] : at.params)
    sizes += (sizes.empty() ? " (with " : ", ") + n + "=" + std::to_string(v);
  return sizes.empty() ? out : out + sizes + ")";
}

class Values {
 public:
  explicit Values(const Program& p) : p_(p), order_(p) {
    for (const Tensor& t : p.tensors) writers_[t.name] = writers(p, t.name);
  }

  std::optional<Flaw> run() {
    for (const Tensor& t : p_.tensors)
      if (tensor(t), found_) return found_;
    for (const Statement& s : p_.statements)
      for (size_t k = 0; k < s.reads.size(); ++k)
        if (read(s, static_cast<int>(k)), found_) return found_;
    return found_;
  }

 private:
  const Program& p_;
  OriginalOrder order_;
  std::map<std::string, std::vector<const Statement*>> writers_;
  std::map<std::string, bool> several_;
  std::optional<Flaw> found_;

  void problem(const std::string& item, const std::string& why, const std::string& suggest = "") {
    if (!found_) found_ = Flaw{item, Refusal{"check program " + p_.name, item, why, suggest}};
  }

  // Some element may be written by more than one instance that is no update of a reduction.
  bool several(const std::string& tensor) {
    const auto at = several_.find(tensor);
    if (at != several_.end()) return at->second;
    const auto& from = writers_[tensor];
    const bool yes =
        from.size() > 1 || (from.size() == 1 && !from[0]->reduction && overwrites(p_, *from[0]));
    return several_[tensor] = yes;
  }

  isl::map conflicts(const Statement& a, const Access& x, const Statement& b, const Access& y) {
    return restricted(p_, a, x).apply_range(restricted(p_, b, y).reverse());
  }

  void tensor(const Tensor& t) {
    const Doing doing([&] { return "writes of " + t.name; });
    const auto& from = writers_[t.name];
    for (const Statement* s : from)
      if (s->reduction && from.size() > 1)
        return problem(s->name,
                       t.name + " is reduced by " + s->name + " and also written by " +
                           (from[0] == s ? from[1] : from[0])->name,
                       "give the reduction a tensor of its own");
    if (t.kind == TensorKind::Output) covered(t);
    if (!found_ && several(t.name)) collisions(t);
  }

  // Every element of an output has a value: the identity, or a write that always happens.
  void covered(const Tensor& t) {
    const auto& from = writers_[t.name];
    if (from.empty()) return problem(t.name, "output " + t.name + " is never written");
    if (from[0]->reduction) return;
    isl::set left = p_.elements(t).intersect_params(p_.param_context);
    for (const Statement* s : from)
      if (!s->guard && s->write.gathers.empty())
        left = left.subtract(restricted(p_, *s, s->write).range());
    if (!left.is_empty())
      problem(
          t.name,
          "output " + t.name + " is not defined at " + instance_text(t.name, *lexmin_point(left)),
          "define it for every element");
  }

  // Two writes of one element need an order.
  void collisions(const Tensor& t) {
    for (const Statement* a : writers_[t.name])
      for (const Statement* b : writers_[t.name]) {
        isl::map bad =
            conflicts(*a, a->write, *b, b->write).intersect(order_.together(a->name, b->name));
        if (a == b) bad = bad.subtract(a->domain.identity());
        if (!bad.is_empty())
          return problem(a->name, a->name + " and " + b->name + " write one element of " + t.name +
                                      " with no order between them, first at " +
                                      instance_text(a->name, *lexmin_point(bad.domain())));
      }
  }

  void read(const Statement& s, int k) {
    const Access& r = s.reads[static_cast<size_t>(k)];
    const Tensor& t = *p_.tensor(r.tensor);
    if (t.kind == TensorKind::Input) return;
    const auto& from = writers_[r.tensor];
    const std::string which = "read $" + std::to_string(k) + " of " + r.tensor;
    const Doing doing([&] { return which + " by " + s.name; });
    if (from.empty()) return problem(s.name, which + ": " + r.tensor + " is never written");
    for (const Statement* w : from)
      if (auto lacks = w->reduction ? std::nullopt : missing_condition(p_, *w, s, r)) {
        const std::string condition = condition_text(*w, *lacks);
        return problem(s.name,
                       which + ": " + w->name + " writes it only where " + condition + ", but " +
                           s.name + (s.guard ? " runs under another condition" : " has no guard"),
                       "guard " + s.name + " with " + condition + " of the instance it reads from");
      }
    if (from[0]->reduction) return final_value(s, r, which, *from[0]);
    const isl::map undefined = several(r.tensor) ? unwritten(s, r) : unwritten_once(s, r, *from[0]);
    if (!undefined.is_empty())
      return problem(
          s.name,
          which + " has no value at " + instance_text(s.name, *lexmin_point(undefined.domain())),
          "define " + r.tensor + " there, or restrict " + s.name);
    if (!several(r.tensor)) return;
    for (const Statement* w : from) {
      isl::map bad = conflicts(s, r, *w, w->write).intersect(order_.together(s.name, w->name));
      if (w == &s) bad = bad.subtract(s.domain.identity());
      if (!bad.is_empty())
        return problem(s.name, which + " and its write by " + w->name +
                                   " have no order between them, first at " +
                                   instance_text(s.name, *lexmin_point(bad.domain())));
    }
  }

  // A reduction's value is read after its last update.
  void final_value(const Statement& s, const Access& r, const std::string& which,
                   const Statement& w) {
    if (&w == &s) return problem(s.name, which + ": a reduction cannot read the tensor it reduces");
    const isl::map early = conflicts(w, w.write, s, r).subtract(order_.before(w.name, s.name));
    if (!early.is_empty())
      problem(s.name, which + " comes before the reduction " + w.name + " is complete, first at " +
                          instance_text(s.name, *lexmin_point(early.range())));
  }

  // { reader -> element } without an earlier write, where each element is written at most once.
  isl::map unwritten_once(const Statement& s, const Access& r, const Statement& w) {
    const isl::map written =
        order_.before(w.name, s.name).reverse().apply_range(restricted(p_, w, w.write));
    return restricted(p_, s, r).subtract(written);
  }

  // The same by dataflow, where elements are overwritten.
  isl::map unwritten(const Statement& s, const Access& r) {
    isl::union_map must = isl::union_map::empty(p_.context->get()), may = must;
    isl::union_map times(order_.time(s.name));
    for (const Statement* w : writers_[r.tensor]) {
      isl::union_map& into = w->write.gathers.empty() && !w->guard ? must : may;
      into = into.unite(isl::union_map(restricted(p_, *w, w->write)));
      times = times.unite(isl::union_map(order_.time(w->name)));
    }
    const isl::map access = restricted(p_, s, r);
    const isl::union_map none = isl::union_access_info(isl::union_map(access))
                                    .set_must_source(must)
                                    .set_may_source(may)
                                    .set_schedule_map(times)
                                    .compute_flow()
                                    .must_no_source();
    return none.extract_map(access.space());
  }
};

}  // namespace

std::optional<Flaw> check_values(const Program& p) { return Values(p).run(); }

std::optional<Refusal> validate(const Program& p) {
  const auto first = [&](auto check) -> std::optional<Refusal> {
    auto result = with_quota(p.context->get(), kDefaultQuota, [&] { return check(p); });
    if (!result) {
      Refusal r = result.error();
      r.asked = "check program " + p.name;
      return r;
    }
    if (!*result) return std::nullopt;
    Refusal r = (*result)->refusal;
    const Statement* s = p.statement((*result)->item);
    if (s && s->loc.line > 0)
      r.where = s->loc.file + ":" + std::to_string(s->loc.line) + ":" +
                std::to_string(s->loc.column) + ": " + s->name;
    return r;
  };
  if (!p.context)
    return Refusal{"check program " + p.name, "", "the program has no isl context", ""};
  if (auto bad = first(check_structure)) return bad;
  if (auto bad = first(check_bounds)) return bad;
  return first(check_values);
}

}  // namespace nautilus::poly
