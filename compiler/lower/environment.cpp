#include "compiler/lower/environment.h"

#include <algorithm>

namespace nautilus::lower {

tile::TileType Shape::type() const {
  tile::TileType t{elem, {}};
  for (size_t d = 0; d < axis.size(); ++d)
    if (!axis[d].empty()) t.axes.push_back({axis[d], extent[d]});
  std::sort(t.axes.begin(), t.axes.end(),
            [](const tile::Axis& a, const tile::Axis& b) { return a.name < b.name; });
  return t;
}

std::vector<IndexExpr> Shape::index() const {
  std::vector<IndexExpr> out;
  for (size_t d = 0; d < base.size(); ++d)
    out.push_back(axis[d].empty() ? base[d] : base[d] + IndexExpr::var(axis[d]));
  return out;
}

std::optional<Shape> shape_of(const std::vector<IndexExpr>& index,
                              const std::map<std::string, int64_t>& axes, Type elem) {
  Shape s;
  s.elem = elem;
  for (const IndexExpr& e : index) {
    std::vector<std::string> vars;
    e.collect_vars(vars);
    std::string axis;
    for (const std::string& v : vars) {
      if (!axes.count(v) || v == axis) continue;
      if (!axis.empty()) return {};
      axis = v;
    }
    IndexExpr base = e;
    if (!axis.empty()) {
      base = e - IndexExpr::var(axis);
      std::vector<std::string> rest;
      base.collect_vars(rest);
      if (std::find(rest.begin(), rest.end(), axis) != rest.end()) return {};
      if (std::find(s.axis.begin(), s.axis.end(), axis) != s.axis.end()) return {};
    }
    s.base.push_back(base);
    s.axis.push_back(axis);
    s.extent.push_back(axis.empty() ? 1 : axes.at(axis));
  }
  return s;
}

Expected<AxisMatch> match(const Shape& from, const Shape& to) {
  AxisMatch m;
  auto differ = [&](size_t d, const std::string& a, const std::string& b) {
    return Refusal{
        "use a register tile", "",
        "in dimension " + std::to_string(d) + " it holds " + a + " but " + b + " is needed", ""};
  };
  auto span = [](const Shape& s, size_t d) {
    return to_string(s.base[d]) +
           (s.extent[d] == 1 ? "" : " and the next " + std::to_string(s.extent[d] - 1));
  };
  if (from.base.size() != to.base.size())
    return Refusal{"use a register tile", "", "it has another rank", ""};
  for (size_t d = 0; d < from.base.size(); ++d) {
    if (!(from.base[d] == to.base[d]) || from.extent[d] != to.extent[d])
      return differ(d, span(from, d), span(to, d));
    if (from.axis[d].empty() || from.axis[d] == to.axis[d]) continue;
    if (to.axis[d].empty())
      m.drop.push_back(from.axis[d]);
    else
      m.renames.emplace_back(from.axis[d], to.axis[d]);
  }
  return m;
}

}  // namespace nautilus::lower
