#include "compiler/driver/open.h"

#include <algorithm>

#include "polyhedral/isl_index.h"

namespace nautilus::driver {

std::set<std::string> dims_of(const poly::Program& p, const poly::Sizes& sizes,
                              const std::string& size) {
  poly::Sizes longer = sizes;
  ++longer[size];
  std::set<std::string> out;
  for (const poly::Statement& s : p.statements) {
    const isl::set now = poly::substitute_params(s.domain, sizes),
                   then = poly::substitute_params(s.domain, longer);
    if (now.is_empty() && then.is_empty()) continue;
    const auto names = poly::dim_names(s.domain);
    for (unsigned d = 0; d < names.size(); ++d)
      if (now.is_empty() || poly::dim_max(now, d) != poly::dim_max(then, d)) out.insert(names[d]);
  }
  return out;
}

Expected<std::optional<OpenProgram>> open_program(const Loaded& in,
                                                  const std::vector<std::string>& names) {
  if (names.empty()) return std::optional<OpenProgram>();
  const std::string asked = "leave sizes of " + in.general.name + " open";
  const auto has = [](const std::vector<std::string>& all, const std::string& name) {
    return std::find(all.begin(), all.end(), name) != all.end();
  };
  std::string known;
  for (const std::string& p : in.general.params) known += (known.empty() ? "" : ", ") + p;
  for (const std::string& n : names)
    if (!has(in.general.params, n))
      return Refusal{asked, "--symbolic " + n, "there is no size of that name",
                     "one of its sizes: " + known};
  OpenProgram out;
  poly::Sizes rest = in.sizes;
  for (const std::string& p : in.general.params)
    if (has(names, p)) out.sizes.push_back(p), rest.erase(p);
  auto bound = poly::bind_sizes(in.general, rest);
  if (!bound) return bound.error();
  auto made = poly::with_quota(bound->context->get(), poly::kDefaultQuota, [&] {
    out.program = std::make_shared<const poly::Program>(poly::restrict_to_demanded(*bound));
    std::string sizes, signs;  // that no size is negative goes without saying
    for (const std::string& n : out.sizes) {
      sizes += (sizes.empty() ? "" : ", ") + n;
      signs += (signs.empty() ? "" : " and ") + n + " >= 0";
    }
    for (const std::string& n : out.sizes) out.dims.merge(dims_of(in.general, in.sizes, n));
    const isl::set facts = poly::substitute_params(out.program->param_context, rest);
    return poly::to_cond(
        facts.gist(isl::set(facts.ctx(), "[" + sizes + "] -> { : " + signs + " }")), {});
  });
  if (!made) return made.error();
  if (!*made)
    return Refusal{asked, "facts of the spec", made->error().why,
                   "bind the sizes that the facts are about"};
  out.facts = **made;
  return std::optional(std::move(out));
}

void add_open_flag(CLI::App& app, std::vector<std::string>& names) {
  app.add_option("--symbolic", names,
                 "sizes that the kernels take as arguments, e.g. --symbolic B N M: the plan is "
                 "found at the sizes given, the kernels serve every value")
      ->expected(-1);
}

}  // namespace nautilus::driver
