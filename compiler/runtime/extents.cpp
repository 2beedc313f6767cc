#include "compiler/runtime/extents.h"

#include <algorithm>

namespace nautilus::runtime {

Expected<poly::Program> instantiate_for_run(const poly::Program& p, const poly::Sizes& sizes) {
  poly::Sizes wanted;  // sizes given for what was substituted before are of no interest
  for (const std::string& n : p.params)
    if (auto it = sizes.find(n); it != sizes.end()) wanted.insert(*it);
  poly::Program q = p;
  if (!p.params.empty()) {
    for (const std::string& n : p.params) {
      if (wanted.count(n)) continue;
      // A size bound by the facts (bind_sizes) has exactly one value.
      const auto point = poly::sample_point(p.param_context);
      const bool known = point && point->params.count(n);
      const int64_t value = known ? point->params.at(n) : 0;
      if (!known || !p.param_context.is_subset(poly::fix_params(p.param_context, {{n, value}})))
        return Refusal{"run " + p.name, "", "size " + n + " has no value",
                       "give --size " + n + "=..."};
      wanted.emplace(n, value);
    }
    auto bound = poly::instantiate(p, wanted);
    if (!bound) return bound.error();
    q = *bound;
  }
  return q;
}

std::vector<int64_t> extents_of(const poly::Program& p, const std::string& tensor) {
  std::vector<int64_t> out;
  const poly::Tensor* t = p.tensor(tensor);
  if (!t) return out;
  for (const isl::pw_aff& e : t->extents)
    out.push_back(std::max<int64_t>(0, poly::to_int(e.max_val())));
  return out;
}

int64_t element_count(const std::vector<int64_t>& extents) {
  constexpr int64_t limit = INT64_MAX / 64;
  int64_t n = 1;
  for (const int64_t e : extents) {
    if (e == 0) return 0;
    n = n > limit / e ? limit : n * e;
  }
  return n;
}

std::string element_text(const std::vector<int64_t>& extents, int64_t k) {
  std::string out;
  for (size_t d = extents.size(); d-- > 0;) {
    out = std::to_string(k % extents[d]) + (out.empty() ? "" : ", ") + out;
    k /= extents[d];
  }
  return "[" + out + "]";
}

}  // namespace nautilus::runtime
