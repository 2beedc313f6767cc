#include "polyhedral/program_check.h"

#include <algorithm>

namespace nautilus::poly {

namespace {

std::string tuple_text(const std::vector<int64_t>& v) {
  std::string out = "[";
  for (size_t k = 0; k < v.size(); ++k) out += (k ? "," : "") + std::to_string(v[k]);
  return out + "]";
}

class Bounds {
 public:
  explicit Bounds(const Program& p) : p_(p) {}

  std::optional<Flaw> run() {
    if (p_.param_context.is_empty())
      return problem("", "the facts about the sizes contradict each other");
    for (const Tensor& t : p_.tensors)
      if (tensor(t), found_) return found_;
    for (const Statement& s : p_.statements)
      if (statement(s), found_) return found_;
    return found_;
  }

 private:
  const Program& p_;
  std::optional<Flaw> found_;

  std::optional<Flaw> problem(const std::string& item, const std::string& why,
                              const std::string& suggest = "") {
    if (!found_) found_ = Flaw{item, Refusal{"check program " + p_.name, item, why, suggest}};
    return found_;
  }

  // Every extent is defined and not negative for all admissible sizes.
  void tensor(const Tensor& t) {
    const Doing doing([&] { return "extents of " + t.name; });
    for (size_t k = 0; k < t.rank(); ++k) {
      const isl::set values = t.extents[k].as_set();
      const isl::set missing = p_.param_context.subtract(values.params());
      if (!missing.is_empty())
        return void(problem(t.name, "extent " + std::to_string(k) + " of " + t.name +
                                        " is undefined" +
                                        with_sizes(lexmin_point(missing)->params)));
      const isl::set nonnegative = isl::set(p_.context->get(), "{ [x] : x >= 0 }");
      const isl::set bad = values.intersect_params(p_.param_context).subtract(nonnegative);
      if (!bad.is_empty()) {
        const Point at = *lexmin_point(bad);
        return void(problem(t.name,
                            "extent " + std::to_string(k) + " of " + t.name + " is " +
                                std::to_string(at.dims[0]) + with_sizes(at.params),
                            "state the sizes' lower bounds"));
      }
    }
  }

  void statement(const Statement& s) {
    const Doing doing([&] { return "bounds of " + s.name; });
    const isl::set domain = s.domain.intersect_params(p_.param_context);
    if (!is_bounded(domain))
      return void(problem(s.name, "the domain of " + s.name + " is unbounded"));
    access(s, s.write, domain, -1);
    for (size_t k = 0; k < s.reads.size(); ++k) access(s, s.reads[k], domain, static_cast<int>(k));
    for (const isl::aff& a : s.indices)
      if (!found_ && !domain.is_subset(a.as_map().domain()))
        problem(s.name, "an index value of " + s.name + " is undefined at some instance");
    if (!found_ && s.reduction) reduction(s);
  }

  // A function of the domain (gathered dims apart) that stays inside the tensor.
  void access(const Statement& s, const Access& a, const isl::set& domain, int k) {
    if (found_) return;
    const std::string which = k < 0 ? "the write" : "read $" + std::to_string(k);
    // Gathered dims are left out: their index is data, checked where it is used.
    Tensor fixed = *p_.tensor(a.tensor);
    isl::set where = domain;
    std::vector<int> gathered;
    for (const Access::Gather& g : a.gathers) gathered.push_back(g.dim);
    std::sort(gathered.rbegin(), gathered.rend());
    isl::map plain = a.map.intersect_domain(domain);
    for (int g : gathered) {
      const isl::set positive(p_.context->get(), "{ [x] : x >= 1 }");
      where = where.intersect_params(
          fixed.extents[static_cast<size_t>(g)].as_set().intersect(positive).params());
      fixed.extents.erase(fixed.extents.begin() + g);
      plain = project_out_out(plain, static_cast<unsigned>(g), 1);
    }
    const isl::set box = p_.elements(fixed);
    const isl::set missing = where.subtract(plain.domain());
    if (!missing.is_empty()) {
      const Point at = *lexmin_point(missing);
      return void(problem(s.name, which + " of " + a.tensor + " is undefined at " + s.name +
                                      tuple_text(at.dims) + with_sizes(at.params)));
    }
    if (!plain.is_single_valued())
      return void(
          problem(s.name, which + " of " + a.tensor + " names several elements at one instance"));
    const isl::map outside =
        plain.intersect_range(isl::set::universe(plain.range().space()).subtract(box));
    if (!outside.is_empty()) out_of_bounds(s, a, which, outside);
  }

  void out_of_bounds(const Statement& s, const Access& a, const std::string& which,
                     const isl::map& outside) {
    const Point at = *lexmin_point(outside.domain());
    isl::set element = outside.domain();
    for (unsigned k = 0; k < at.dims.size(); ++k) element = fix_dim(element, k, at.dims[k]);
    element = fix_params(element, at.params).apply(outside);
    const std::optional<Point> e = sample_point(element);
    problem(s.name,
            which + " of " + a.tensor + " is out of bounds: " + s.name + tuple_text(at.dims) +
                " touches " + a.tensor + (e ? tuple_text(e->dims) : "") + with_sizes(at.params),
            "restrict the domain, or state facts about the sizes");
  }

  // The write is a one-to-one function of the dims that are not reduced.
  void reduction(const Statement& s) {
    isl::map w = restricted(p_, s, s.write);
    for (size_t k = s.reduction->dims.size(); k-- > 0;)
      w = project_out_in(w, static_cast<unsigned>(s.reduction->dims[k]), 1);
    if (!w.is_single_valued())
      problem(s.name, "the element that " + s.name + " updates depends on a reduced dimension");
    else if (!w.is_injective())
      problem(s.name, "instances of " + s.name +
                          " that differ outside the reduced dimensions update one element");
  }
};

}  // namespace

std::optional<Flaw> check_bounds(const Program& p) { return Bounds(p).run(); }

}  // namespace nautilus::poly
