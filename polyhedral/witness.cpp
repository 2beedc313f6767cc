#include "polyhedral/witness.h"

namespace nautilus::poly {

namespace {

// "max[i=0, j=1]"
std::string instance(const Program& p, const std::string& stmt, const std::vector<int64_t>& at) {
  const Statement* s = p.statement(stmt);
  const std::vector<std::string> names = s ? dim_names(s->domain) : std::vector<std::string>{};
  std::string out = stmt + "[";
  for (size_t k = 0; k < at.size(); ++k)
    out += (k ? ", " : "") + (k < names.size() ? names[k] + "=" : "") + std::to_string(at[k]);
  return out + "]";
}

std::string element_text(const std::string& tensor, const std::vector<int64_t>& at) {
  std::string out = tensor;
  if (at.empty()) return out;
  for (size_t k = 0; k < at.size(); ++k) out += (k ? ", " : "[") + std::to_string(at[k]);
  return out + "]";
}

// The elements of a tensor that one instance touches.
std::optional<isl::set> touched(const Statement& s, const std::vector<int64_t>& at,
                                const Sizes& sizes, const std::string& tensor, bool write) {
  isl::set point = s.domain;
  for (size_t k = 0; k < at.size(); ++k) point = fix_dim(point, static_cast<unsigned>(k), at[k]);
  std::optional<isl::set> out;
  auto add = [&](const Access& a) {
    if (a.tensor != tensor) return;
    isl::set image = fix_params(point, sizes).apply(a.map);
    out = out ? out->unite(image) : image;
  };
  if (write) add(s.write);
  if (!write)
    for (const Access& a : s.reads) add(a);
  return out;
}

std::string text_of(const Program& p, const Witness& w, const Violation& v) {
  const bool reads = w.kind == DepKind::Flow, anti = w.kind == DepKind::Anti;
  const std::string element = element_text(w.tensor, w.element);
  const Statement* source = p.statement(w.source);
  const std::string verb = anti ? "reads" : source && source->reduction ? "updates" : "writes";
  std::string out = instance(p, w.source, w.source_iter);
  out += v.unordered && w.kind == DepKind::Reduction ? " must not run in parallel with "
                                                     : " must precede ";
  out += instance(p, w.sink, w.sink_iter) + ": it " + verb + " " + element + ", which ";
  if (w.source == w.sink)
    out += reads ? "the latter reads" : "the latter also writes";
  else
    out += w.sink + (reads ? " reads" : " overwrites");
  for (const auto& [name, value] : w.sizes)
    out += (name == w.sizes.begin()->first ? " (" : ", ") + name + "=" + std::to_string(value);
  return w.sizes.empty() ? out : out + ")";
}

}  // namespace

std::optional<Witness> make_witness(const Program& p, const Violation& v) {
  const isl::set pairs = v.pairs.wrap().flatten().intersect_params(p.param_context);
  const std::optional<Point> point = lexmin_point(pairs);
  if (!point) return std::nullopt;
  Witness w;
  w.source = v.dependence->source;
  w.sink = v.dependence->sink;
  w.tensor = v.dependence->tensor;
  w.kind = v.dependence->kind;
  const auto cut = point->dims.begin() + static_cast<std::ptrdiff_t>(n_in(v.pairs));
  w.source_iter.assign(point->dims.begin(), cut);
  w.sink_iter.assign(cut, point->dims.end());
  w.sizes = point->params;
  const Statement *a = p.statement(w.source), *b = p.statement(w.sink);
  if (a && b) {
    const std::optional<isl::set> from =
        touched(*a, w.source_iter, w.sizes, w.tensor, w.kind != DepKind::Anti);
    const std::optional<isl::set> to =
        touched(*b, w.sink_iter, w.sizes, w.tensor, w.kind != DepKind::Flow);
    if (from && to)
      if (auto e = lexmin_point(from->intersect(*to))) w.element = e->dims;
  }
  w.text = text_of(p, w, v);
  return w;
}

}  // namespace nautilus::poly
