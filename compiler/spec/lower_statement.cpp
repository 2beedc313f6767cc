// Builders to statements: sets and maps, range checks, names of generated tensors.
#include <algorithm>

#include "compiler/spec/lower_kernel.h"

namespace nautilus::spec {

namespace {

std::string join(const std::vector<std::string>& v, const char* sep) {
  std::string s;
  for (const std::string& x : v) s += (s.empty() ? "" : sep) + x;
  return s;
}

std::string sizes_text(const poly::Sizes& sizes) {
  std::string s;
  for (const auto& [n, v] : sizes) s += (s.empty() ? "" : ", ") + n + " = " + std::to_string(v);
  return s;
}

}  // namespace

std::string Lowering::params_prefix() const { return "[" + join(p_.params, ",") + "] -> "; }
isl::set Lowering::parse_set(const std::string& body) const {
  return isl::set(ctx_->get(), params_prefix() + body);
}

std::string Lowering::unique_name(const std::string& wish) {
  std::string name = wish;
  auto taken = [&](const std::string& n) {
    return state_.count(n) || k_.index(n) || k_.size(n) || k_.tensor(n);
  };
  for (int k = 2; taken(name); ++k) name = wish + std::to_string(k);
  return name;
}

// A generated intermediate over these indices.
std::string Lowering::new_tensor(const std::string& wish, Type type,
                                 const std::vector<std::string>& dims) {
  const std::string name = unique_name(wish);
  TensorState s;
  s.tensor.name = name;
  s.tensor.type = type;
  s.tensor.kind = poly::TensorKind::Temp;
  std::string conditions;
  std::vector<std::string> xs;
  for (size_t k = 0; k < dims.size(); ++k) {
    const std::string& extent = extent_.at(dims[k]);
    s.extents.push_back(extent);
    s.tensor.extents.push_back(
        isl::pw_aff(ctx_->get(), params_prefix() + "{ [(" + extent + ")] }"));
    xs.push_back("x" + std::to_string(k));
    conditions +=
        (conditions.empty() ? " : " : " and ") + std::string("0 <= ") + xs.back() + " < " + extent;
  }
  s.elements = parse_set("{ " + name + "[" + join(xs, ",") + "]" + conditions + " }");
  s.defined = s.elements;
  s.total = true;
  state_[name] = std::move(s);
  tensor_order_.push_back(name);
  return name;
}

// Every index within its extent, for all sizes that the facts admit.
bool Lowering::check_range(const isl::set& domain, const isl::map& map, const Builder::ReadText& r,
                           bool write) {
  const TensorState& t = state_.at(r.tensor);
  const isl::set admissible = domain.intersect_params(p_.param_context);
  if (admissible.apply(map).is_subset(t.elements)) return true;
  for (size_t k = 0; k < r.args.size(); ++k) {
    if (r.args[k].empty()) continue;
    const std::string tuple = poly::tuple_name(domain);
    std::vector<std::string> dims = poly::dim_names(domain);
    const isl::set bad =
        admissible.intersect(parse_set("{ " + tuple + "[" + join(dims, ",") + "] : " + r.args[k] +
                                       " < 0 or " + r.args[k] + " >= " + t.extents[k] + " }"));
    auto point = poly::lexmin_point(bad);
    if (!point) continue;
    std::string at;
    for (size_t d = 0; d < dims.size(); ++d)
      if (r.args[k].find(dims[d]) != std::string::npos)
        at += (at.empty() ? "" : ", ") + dims[d] + " = " + std::to_string(point->dims[d]);
    poly::Sizes mentioned;
    for (const auto& [n, v] : point->params)
      if (t.extents[k].find(n) != std::string::npos || r.args[k].find(n) != std::string::npos)
        mentioned[n] = v;
    const TermPtr arg = k < r.term->args.size() ? r.term->args[k] : r.term;
    std::string text = "index '" + to_text(arg) + "' leaves dimension " + std::to_string(k + 1) +
                       " of '" + r.tensor + "', whose extent is " + t.extents[k];
    std::string example =
        at + (at.empty() || mentioned.empty() ? "" : " with ") + sizes_text(mentioned);
    if (!example.empty()) text += ", for example at " + example;
    std::vector<std::pair<Loc, std::string>> notes{
        {arg->loc,
         write
             ? "define it where it exists: T(i) = where(condition, ...), or declare a larger extent"
             : "read it where it exists: where(condition, ...) around the term, or a fact such as "
               "Size N = at_most(M)"}};
    if (t.decl) notes.emplace_back(t.decl->loc, "'" + r.tensor + "' is declared here");
    error(arg->loc, text, std::move(notes));
    return false;
  }
  error(r.term->loc, "an index of '" + r.tensor + "' leaves its extents");
  return false;
}

// Adds the statement that writes `tensor` at `write` (isl text over the builder's dims).
bool Lowering::finish(Builder& b, const std::string& tensor, const std::vector<std::string>& write,
                      Expr value, std::optional<poly::Reduction> reduction, const Loc& loc,
                      isl::set* written) {
  poly::Statement s;
  // Guards may read, and reads may bring guards: lower until nothing is added.
  std::vector<Expr> guards;
  for (size_t k = 0; k < b.guard.size(); ++k) {
    auto g = scalar(b, b.guard[k]);
    auto e = g ? as_bool(b, *g) : std::nullopt;
    if (!e) return false;
    guards.push_back(*e);
  }
  for (const Expr& g : guards) s.guard = s.guard ? Expr::make(Op::And, {s.guard, g}) : g;

  s.name = "S_" + tensor;
  auto named = [&](const std::string& n) {
    return std::any_of(p_.statements.begin(), p_.statements.end(),
                       [&](const poly::Statement& o) { return o.name == n; });
  };
  for (int k = 2; named(s.name) || (s.name != "S_" + tensor && state_.count(s.name.substr(2))); ++k)
    s.name = "S_" + tensor + "_" + std::to_string(k);
  const std::string tuple = s.name + "[" + join(b.dims, ",") + "]";
  std::vector<std::string> conditions;
  for (const std::string& d : b.dims) {
    conditions.push_back("0 <= " + d + " < " + extent_.at(d));
    used_indices_.insert(d);
  }
  conditions.insert(conditions.end(), b.conditions.begin(), b.conditions.end());
  s.domain = parse_set("{ " + tuple +
                       (conditions.empty() ? "" : " : " + join(conditions, " and ")) + " }");

  auto map_of = [&](const Builder::ReadText& r) {
    std::vector<std::string> args = r.args, bounds;
    for (const auto& g : r.gathers) {
      const std::string x = "gathered" + std::to_string(g.dim);
      args[static_cast<size_t>(g.dim)] = x;
      bounds.push_back("0 <= " + x + " < " +
                       state_.at(r.tensor).extents[static_cast<size_t>(g.dim)]);
    }
    return isl::map(ctx_->get(), params_prefix() + "{ " + tuple + " -> " + r.tensor + "[" +
                                     join(args, ",") + "]" +
                                     (bounds.empty() ? "" : " : " + join(bounds, " and ")) + " }");
  };
  for (const Builder::ReadText& r : b.reads) {
    poly::Access a;
    a.tensor = r.tensor;
    a.map = map_of(r);
    a.gathers = r.gathers;
    const TensorState& t = state_.at(r.tensor);
    if (!t.total) s.domain = s.domain.intersect(a.map.intersect_range(t.defined).domain());
    s.reads.push_back(std::move(a));
  }
  s.domain = poly::set_dim_names(s.domain.coalesce(), b.dims);
  for (size_t k = 0; k < b.reads.size(); ++k)
    if (!check_range(s.domain, s.reads[k].map, b.reads[k], false)) return false;

  Builder::ReadText w;
  w.tensor = tensor;
  w.args = write;
  w.term = b.write_term ? b.write_term : element_term(tensor, {}, loc);
  s.write.tensor = tensor;
  s.write.map = map_of(w);
  if (b.write_term && !check_range(s.domain, s.write.map, w, true)) return false;
  for (const std::string& i : b.indices)
    s.indices.push_back(
        isl::aff(ctx_->get(), params_prefix() + "{ " + tuple + " -> [(" + i + ")] }"));
  s.expr = std::move(value);
  s.reduction = std::move(reduction);
  s.loc = poly::SourceLoc{file_, loc.line, loc.column};
  if (written) *written = s.domain.apply(s.write.map).coalesce();
  p_.statements.push_back(std::move(s));
  return true;
}

}  // namespace nautilus::spec
