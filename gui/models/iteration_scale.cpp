#include "gui/models/iteration_scale.h"

#include <algorithm>
#include <set>

#include "polyhedral/json_text.h"

namespace nautilus::gui {
namespace {

using nlohmann::json;

// Calls fn with every tile size in the parameters of a step; fn may change it.
template <class Fn>
void each_tile(const poly::TransformStep& step, json& params, Fn&& fn) {
  auto number = [&](json& v) {
    if (v.is_number_integer() && v.get<int64_t>() > 1) fn(v);
  };
  if (step.name == "tile" && params.contains("sizes") && params["sizes"].is_array())
    for (json& v : params["sizes"]) number(v);
  if (step.name == "split_k" && params.contains("multiple")) number(params["multiple"]);
}

// How a dimension is used by the conditions of a domain: which parameters bound it, which other
// dimensions stand beside it.
struct DimUse {
  std::set<std::string> params;
  std::set<size_t> with;
};
std::vector<DimUse> dim_uses(const isl::set& domain) {
  std::vector<DimUse> out(poly::n_dim(domain));
  const std::vector<std::string> params = poly::param_names(domain);
  for (const poly::LinearSet& piece : poly::linear_form(domain))
    for (const poly::LinearConstraint& c : piece.constraints)
      for (size_t d = 0; d < out.size() && d < c.dims.size(); ++d) {
        if (c.dims[d] == 0) continue;
        for (size_t p = 0; p < params.size() && p < c.params.size(); ++p)
          if (c.params[p] != 0) out[d].params.insert(params[p]);
        for (size_t o = 0; o < c.dims.size() && o < out.size(); ++o)
          if (o != d && c.dims[o] != 0) out[d].with.insert(o);
      }
  return out;
}

constexpr int64_t kReduced = 4, kOther = 2;

// What each parameter should be, by its most demanding use.
std::map<std::string, int64_t> wishes(const poly::Program& p,
                                      const std::vector<std::string>& statements, int64_t most) {
  std::map<std::string, int64_t> out;
  for (const poly::Statement& s : p.statements) {
    const bool seen = std::find(statements.begin(), statements.end(), s.name) != statements.end();
    const auto [x, y] = best_dims(s);
    const std::vector<DimUse> uses = dim_uses(s.domain);
    for (size_t d = 0; d < uses.size(); ++d) {
      const bool shown = seen && (static_cast<int>(d) == x || static_cast<int>(d) == y);
      const int64_t wish = shown ? most : reduces(s, d) && seen ? kReduced : kOther;
      for (const std::string& q : uses[d].params) out[q] = std::max(out[q], wish);
    }
  }
  return out;
}

// The value nearest to `wish`, above first, that the facts allow.
std::optional<int64_t> allowed(const isl::set& facts, const std::string& param, int64_t wish,
                               int64_t real) {
  auto good = [&](int64_t v) { return !poly::fix_params(facts, {{param, v}}).is_empty(); };
  for (int64_t v = wish; v <= real; ++v) {
    if (good(v)) return v;
    if (v - wish > 256) break;
  }
  for (int64_t v = wish - 1; v >= 0; --v)
    if (good(v)) return v;
  return good(real) ? std::optional(real) : std::nullopt;
}

}  // namespace

bool reduces(const poly::Statement& s, size_t dim) {
  return s.reduction &&
         std::count(s.reduction->dims.begin(), s.reduction->dims.end(), static_cast<int>(dim)) > 0;
}

std::map<int64_t, int64_t> small_tiles(const std::vector<poly::TransformStep>& steps) {
  std::set<int64_t> sizes;
  for (const poly::TransformStep& step : steps) {
    json params = poly::read_json(step.params.empty() ? "{}" : step.params);
    if (params.is_object())
      each_tile(step, params, [&](json& v) { sizes.insert(v.get<int64_t>()); });
  }
  std::map<int64_t, int64_t> out;
  if (sizes.empty()) return out;
  const int64_t least = *sizes.begin();
  const int64_t unit = std::min<int64_t>(least, sizes.size() == 1 ? 4 : 2);
  for (int64_t t : sizes) out[t] = unit * std::clamp<int64_t>((t + least / 2) / least, 1, 4);
  return out;
}

std::vector<poly::TransformStep> with_tiles(const std::vector<poly::TransformStep>& steps,
                                            const std::map<int64_t, int64_t>& by) {
  std::vector<poly::TransformStep> out = steps;
  for (poly::TransformStep& step : out) {
    json params = poly::read_json(step.params.empty() ? "{}" : step.params);
    if (!params.is_object()) continue;
    bool changed = false;
    each_tile(step, params, [&](json& v) {
      const auto to = by.find(v.get<int64_t>());
      if (to == by.end() || to->second == to->first) return;
      v = to->second;
      changed = true;
    });
    if (changed) step.params = params.dump();
  }
  return out;
}

std::pair<int, int> best_dims(const poly::Statement& s) {
  const int n = static_cast<int>(s.n_dims());
  if (n == 0) return {-1, -1};
  if (n == 1) return {0, -1};
  const std::vector<DimUse> uses = dim_uses(s.domain);
  for (int d = n - 1; d > 0; --d)
    for (int o = d - 1; o >= 0; --o)
      if (uses[static_cast<size_t>(d)].with.count(static_cast<size_t>(o))) return {d, o};
  return {n - 1, n - 2};
}

std::optional<poly::Sizes> small_sizes(const poly::Program& general, const poly::Sizes& real,
                                       const std::vector<std::string>& statements, int64_t most) {
  const std::map<std::string, int64_t> wish = wishes(general, statements, most);
  isl::set facts = general.param_context;
  poly::Sizes out;
  for (const std::string& p : general.params) {
    const auto r = real.find(p);
    const int64_t largest = r == real.end() ? most : r->second;
    const auto w = wish.find(p);
    const int64_t wanted = std::min(w == wish.end() ? kOther : w->second, largest);
    const std::optional<int64_t> v = allowed(facts, p, wanted, largest);
    if (!v) return std::nullopt;
    out[p] = *v;
    facts = poly::fix_params(facts, {{p, *v}});
  }
  return out;
}

std::string scale_text(const poly::Sizes& real, const poly::Sizes& small,
                       const std::map<int64_t, int64_t>& tiles) {
  std::string out;
  auto add = [&](const std::string& what, int64_t from, int64_t to) {
    if (from != to)
      out += (out.empty() ? "" : ", ") + what + " " + std::to_string(from) + " \u2192 " +
             std::to_string(to);
  };
  for (const auto& [name, value] : small)
    if (const auto r = real.find(name); r != real.end()) add(name, r->second, value);
  for (const auto& [from, to] : tiles) add("tile", from, to);
  return out;
}

}  // namespace nautilus::gui
