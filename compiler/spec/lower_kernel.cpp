// A kernel's declarations, the order of its definitions, and the definitions themselves.
#include "compiler/spec/lower_kernel.h"

#include <algorithm>
#include <cctype>

namespace nautilus::spec {

namespace {

// Words of isl's text form: a size, index or tensor of that name could not be printed.
const std::set<std::string>& reserved() {
  static const std::set<std::string> words = {
      "and",   "or",  "not", "exists", "implies", "mod", "min",    "max",   "floor", "ceil",
      "infty", "NaN", "nan", "true",   "false",   "rat", "floord", "ceild", "int",   "lex"};
  return words;
}

}  // namespace

Lowering::Lowering(poly::ContextPtr ctx, const KernelDecl& k, const std::string& file,
                   std::vector<Diag>& diags)
    : ctx_(std::move(ctx)), k_(k), file_(file), diags_(diags) {}

void Lowering::check_name(const std::string& name, const Loc& loc) {
  const bool ascii = std::all_of(name.begin(), name.end(),
                                 [](unsigned char c) { return std::isalnum(c) || c == '_'; });
  if (!ascii)
    error(loc, "the name '" + name + "' must consist of ASCII letters, digits and _");
  else if (reserved().count(name))
    error(loc, "the name '" + name + "' has a meaning of its own in sets; choose another");
}

// Sizes become parameters, their facts the parameter context, typical values the defaults.
void Lowering::sizes() {
  for (const SizeDecl& s : k_.sizes) {
    check_name(s.name, s.loc);
    p_.params.push_back(s.name);
  }
  if (failed_) return;
  p_.param_context = isl::set(ctx_->get(), params_prefix() + "{ : }");
  std::set<std::string> known;
  for (const SizeDecl& s : k_.sizes) {
    p_.param_context = p_.param_context.intersect(parse_set("{ : " + s.name + " >= 0 }"));
    for (const Fact& f : s.facts) {
      bool later = false;
      visit_terms(f.value, [&](const TermPtr& t) {
        if (t->kind == TermKind::Size && !known.count(t->name)) {
          error(t->loc, "size '" + t->name + "' must be declared before '" + s.name +
                            "' to be used in its facts");
          later = true;
        }
      });
      if (later) continue;
      const auto c = const_int(f.value);
      if (f.kind == FactKind::MultipleOf || f.kind == FactKind::Typical) {
        const bool multiple = f.kind == FactKind::MultipleOf;
        if (!c || *c < (multiple ? 1 : 0)) {
          error(f.loc, multiple ? "a size is a multiple of a positive number" : "a negative size",
                {{f.loc, "for '" + s.name + "'"}});
          continue;
        }
        if (!multiple) {
          p_.typical[s.name] = *c;
          continue;
        }
        p_.param_context = p_.param_context.intersect(
            parse_set("{ : " + s.name + " mod " + std::to_string(*c) + " = 0 }"));
        continue;
      }
      auto text = affine(nullptr, f.value);
      if (!text) continue;
      const char* op = f.kind == FactKind::AtLeast  ? " >= "
                       : f.kind == FactKind::AtMost ? " <= "
                                                    : " = ";
      if (c && *c < 0 && f.kind != FactKind::AtLeast)
        error(f.loc, "a negative size", {{f.loc, "for '" + s.name + "'"}});
      p_.param_context = p_.param_context.intersect(parse_set("{ : " + s.name + op + *text + " }"));
    }
    known.insert(s.name);
    if (p_.param_context.is_empty() && !failed_)
      error(s.loc, "no value of '" + s.name + "' fulfils these facts");
  }
  if (!failed_ && !p_.typical.empty() &&
      poly::fix_params(p_.param_context, p_.typical).is_empty()) {
    Loc where = k_.sizes.front().loc;
    for (const SizeDecl& s : k_.sizes)
      for (const Fact& f : s.facts)
        if (f.kind == FactKind::Typical &&
            poly::fix_params(p_.param_context, {{s.name, p_.typical[s.name]}}).is_empty())
          where = f.loc;
    error(where, "the typical sizes contradict the facts");
  }
}

namespace {

// Whether a term is made of sizes and numbers alone.
bool of_sizes(const TermPtr& t) {
  return t->kind != TermKind::Index && t->kind != TermKind::Element &&
         t->kind != TermKind::Reduce &&
         std::all_of(t->args.begin(), t->args.end(),
                     [](const TermPtr& a) { return !a || of_sizes(a); });
}

}  // namespace

void Lowering::indices() {
  for (const IndexDecl& i : k_.indices) {
    check_name(i.name, i.loc);
    if (i.extent->kind == TermKind::Bad) {
      failed_ = true;
      continue;
    }
    if (!of_sizes(i.extent)) {
      error(i.extent->loc, "the extent of index '" + i.name +
                               "' is made of sizes and numbers; restrict "
                               "what it runs over with where(...)");
      extent_[i.name] = "0";
      continue;
    }
    if (auto c = const_int(i.extent); c && *c < 0) error(i.extent->loc, "a negative size");
    auto text = affine(nullptr, i.extent);
    if (text) extent_[i.name] = *text;
  }
}

void Lowering::tensors() {
  for (const Definition& d : k_.definitions) {
    for (const TermPtr& a :
         d.lhs->args)  // what stands on the left, before shapes are inferred from it
      if (a->kind == TermKind::Bad) failed_ = true;
  }
  for (const TensorDecl& t : k_.tensors) {
    check_name(t.name, t.loc);
    TensorState s;
    s.decl = &t;
    s.tensor.name = t.name;
    s.tensor.type = t.type;
    s.tensor.kind = t.kind;
    for (const Definition& d : k_.definitions)
      if (d.lhs->name == t.name) s.definitions.push_back(&d);
    std::vector<TermPtr> shape = t.shape;
    if (!t.shaped) {  // the shape of the indices on the left of the (first) definition
      if (s.definitions.empty()) {
        bool used = false;
        for (const Definition& d : k_.definitions) {
          std::set<std::string> read;
          collect_tensors(d.rhs, read);
          used |= read.count(t.name) != 0;
        }
        if (used)
          error(t.loc, "'" + t.name + "' is used but never defined",
                {{t.loc, "write " + t.name + "(i, ...) = ..., or make it an Input"}});
        else
          warn(t.loc, "'" + t.name + "' is neither defined nor used");
        continue;
      }
      for (const TermPtr& a : s.definitions[0]->lhs->args) {
        const TermPtr i = strip_lets(a);
        if (i->kind != TermKind::Index || !extent_.count(i->name)) {
          if (i->kind != TermKind::Bad)
            error(i->loc,
                  "the shape of '" + t.name + "' cannot be inferred from '" + to_text(i) + "'",
                  {{t.loc, "give it: Tensor " + t.name + "(" + std::string(type_name(t.type)) +
                               ", {N, ...});"}});
          failed_ = true;
          break;
        }
        shape.push_back(k_.index(i->name)->extent);
      }
    }
    std::string conditions;
    std::string xs;
    bool good = !failed_ ||
                shape.size() == (t.shaped ? t.shape.size() : s.definitions[0]->lhs->args.size());
    for (size_t k = 0; good && k < shape.size(); ++k) {
      if (auto c = const_int(shape[k]); c && *c < 0) error(shape[k]->loc, "a negative size");
      auto text = affine(nullptr, shape[k]);
      if (!text) {
        good = false;
        break;
      }
      const isl::set negative = p_.param_context.intersect(parse_set("{ : " + *text + " < 0 }"));
      if (!const_int(shape[k]) && !negative.is_empty()) {
        auto point = poly::lexmin_point(negative);
        std::string at;
        if (point)
          for (const auto& [n, v] : point->params)
            if (text->find(n) != std::string::npos)
              at += (at.empty() ? " at " : ", ") + n + " = " + std::to_string(v);
        error(shape[k]->loc,
              "extent " + to_text(shape[k]) + " of '" + t.name + "' is a negative size" + at,
              {{shape[k]->loc, "state a fact that excludes it: Size N = at_least(...);"}});
        good = false;
      }
      s.extents.push_back(*text);
      s.tensor.extents.push_back(
          isl::pw_aff(ctx_->get(), params_prefix() + "{ [(" + *text + ")] }"));
      const std::string x = "x" + std::to_string(k);
      xs += (k ? "," : "") + x;
      conditions += (k ? " and " : " : ") + std::string("0 <= ") + x + " < " + *text;
    }
    if (!good) {
      failed_ = true;
      continue;
    }
    if (reserved().count(t.name)) continue;
    s.elements = parse_set("{ " + t.name + "[" + xs + "]" + conditions + " }");
    s.total = t.kind == poly::TensorKind::Input;
    s.defined = s.total ? s.elements : parse_set("{ " + t.name + "[" + xs + "] : 0 = 1 }");
    if (t.kind == poly::TensorKind::Input && !s.definitions.empty()) {
      error(s.definitions[0]->lhs->loc, "input '" + t.name + "' cannot be defined",
            {{t.loc, "declare it as Tensor or Output"}});
      continue;
    }
    if (t.kind != poly::TensorKind::Input && s.definitions.empty()) {
      error(t.loc,
            (t.kind == poly::TensorKind::Output ? "output '" : "tensor '") + t.name +
                "' is never defined",
            {{t.loc, "write " + t.name + "(i, ...) = ..."}});
      s.broken = true;
    }
    if (t.kind == poly::TensorKind::Input && shape.empty()) p_.scalars.push_back(t.name);
    tensor_order_.push_back(t.name);
    state_[t.name] = std::move(s);
  }
}

// Tensors so that each comes after those it is defined by; the order of the text where that is
// free.
std::vector<std::string> Lowering::order() {
  std::map<std::string, std::set<std::string>> needs;
  std::vector<std::string> names;  // in order of first definition
  for (const Definition& d : k_.definitions) {
    if (!state_.count(d.lhs->name)) continue;
    if (!needs.count(d.lhs->name)) names.push_back(d.lhs->name);
    collect_tensors(d.rhs, needs[d.lhs->name]);
    for (const TermPtr& a : d.lhs->args) collect_tensors(a, needs[d.lhs->name]);
  }
  std::vector<std::string> out, path;
  std::map<std::string, int> mark;  // 1: on the path, 2: done
  const std::function<bool(const std::string&)> visit = [&](const std::string& n) {
    if (mark[n] == 2 || !needs.count(n)) return true;
    if (mark[n] == 1) {
      std::string cycle;
      for (auto it = std::find(path.begin(), path.end(), n); it != path.end(); ++it)
        cycle += *it + " needs ";
      const Definition& d = *state_.at(n).definitions.front();
      error(d.lhs->loc, "cyclic definition: " + cycle + n,
            {{d.lhs->loc,
              "a tensor cannot be defined by its own elements; recurrences are not part of the "
              "language"}});
      return false;
    }
    mark[n] = 1;
    path.push_back(n);
    for (const std::string& m : needs[n])
      if (!visit(m)) return false;
    path.pop_back();
    mark[n] = 2;
    out.push_back(n);
    return true;
  };
  for (const std::string& n : names)
    if (!visit(n)) break;
  return out;
}

std::vector<std::string> Lowering::left_indices(const Definition& d) const {
  std::vector<std::string> out;
  for (const TermPtr& a : d.lhs->args)
    visit_terms(a, [&](const TermPtr& t) {
      if (t->kind == TermKind::Index && std::find(out.begin(), out.end(), t->name) == out.end())
        out.push_back(t->name);
    });
  return out;
}

// A named value becomes a tensor when several statements need it, or when it does not change with
// all indices of the one that does; otherwise it is written out.
void Lowering::plan_lets() {
  using Key = std::pair<const Term*, const Term*>;
  std::set<Key> seen;
  std::map<const Term*, std::set<const Term*>> contexts;
  auto plain = [](TermPtr t) {
    for (;;) {
      if (t->kind == TermKind::Let)
        t = t->args[0];
      else if (t->kind == TermKind::Where)
        t = t->args[1];
      else if (t->kind == TermKind::Cast)
        t = t->args[0];
      else
        return t->kind == TermKind::Element || t->kind == TermKind::Reduce || !reads_tensors(t);
    }
  };
  const std::function<void(const TermPtr&, const TermPtr&, const std::set<std::string>&)> walk =
      [&](const TermPtr& t, const TermPtr& context, const std::set<std::string>& dims) {
        if (!t || !seen.insert({t.get(), context.get()}).second) return;
        if (t->kind == TermKind::Let && !plain(t)) {
          auto& c = contexts[t.get()];
          c.insert(context.get());
          const auto free = free_indices(t);
          const bool invariant = std::any_of(dims.begin(), dims.end(),
                                             [&](const std::string& d) { return !free.count(d); });
          if (c.size() > 1 || invariant) materialize_[t.get()] = true;
        }
        if (t->kind == TermKind::Reduce) {
          std::set<std::string> inner = free_indices(t);
          for (const OverIndex& o : t->over) inner.insert(o.name);
          for (const TermPtr& a : t->args) walk(a, t, inner);
          return;
        }
        for (const TermPtr& a : t->args) walk(a, context, dims);
      };
  for (const Definition& d : k_.definitions) {
    const auto left = left_indices(d);
    walk(d.rhs, d.rhs, std::set<std::string>(left.begin(), left.end()));
  }
}

void Lowering::define(TensorState& t, const Definition& d) {
  const std::string& name = d.lhs->name;
  target_ = name;
  if (d.lhs->args.size() != t.tensor.rank()) {
    wrong_rank(t, d.lhs);
    return;
  }
  Builder b;
  b.dims = left_indices(d);
  b.n_free = b.dims.size();
  b.write_term = d.lhs;
  std::vector<std::string> write;
  bool plain = true;  // T(i, j): distinct indices over the whole extents
  for (size_t k = 0; k < d.lhs->args.size(); ++k) {
    const TermPtr& a = d.lhs->args[k];
    if (reads_tensors(a)) {
      error(a->loc, "an element that is defined cannot be chosen by data",
            {{a->loc, "indices on the left are affine"}});
      return;
    }
    auto text = affine(&b, a);
    if (!text) return;
    plain &= strip_lets(a)->kind == TermKind::Index && extent_[*text] == t.extents[k];
    write.push_back(*text);
  }
  plain &= b.dims.size() == d.lhs->args.size();

  // A definition that is one reduction into a tensor of the accumulator's type writes it directly.
  isl::set written;
  std::optional<Expr> value;
  const TermPtr top = strip_lets(d.rhs);
  const bool is_reduction = top->kind == TermKind::Reduce && (top->name != "count" || top->args[1]);
  const std::set<std::string> free = free_indices(top);
  if (is_reduction && plain && t.definitions.size() == 1 &&
      free == std::set<std::string>(b.dims.begin(), b.dims.end())) {
    auto parts = reduce_parts(b, top);
    if (!parts) return;
    if (parts->type == t.tensor.type) {
      parts->b.write_term = d.lhs;
      if (!finish(parts->b, name, write, parts->e, parts->reduction, d.lhs->loc)) return;
      t.defined = t.elements;
      t.total = true;
      return;
    }
    if (is_float(parts->type) && is_float(t.tensor.type)) {  // O_acc, then O = f16(O_acc)
      const std::string acc = new_tensor(name + "_acc", parts->type, b.dims);
      if (!finish(parts->b, acc, b.dims, parts->e, parts->reduction, d.lhs->loc)) return;
      auto s = read(b, element_term(acc, b.dims, top->loc));
      value = s ? stored(b, *s, t.tensor.type, top->loc, name) : std::nullopt;
    }
  }
  if (!value) {
    auto s = scalar(b, d.rhs);
    if (!s) return;
    value = stored(b, *s, t.tensor.type, d.rhs->loc, name);
  }
  if (!value || !finish(b, name, write, *value, {}, d.lhs->loc, &written)) return;
  const poly::Statement& s = p_.statements.back();
  if (!s.write.map.intersect_domain(s.domain.intersect_params(p_.param_context)).is_injective()) {
    error(d.lhs->loc, "different index values define the same element of '" + name + "'",
          {{d.lhs->loc, "every element is defined once"}});
    return;
  }
  const isl::set twice = t.defined.intersect(written).intersect_params(p_.param_context);
  if (!twice.is_empty()) {
    error(d.lhs->loc, "'" + name + "' is defined twice",
          {{t.definitions.front()->lhs->loc, "first defined here"},
           {d.lhs->loc,
            "give each definition its own part: " + name + "(...) = where(condition, ...)"}});
    return;
  }
  t.defined = t.defined.unite(written).coalesce();
  if (!b.guard.empty()) {
    if (!plain || t.definitions.size() > 1) {
      error(d.lhs->loc, "a definition under a data-dependent condition must be the only one of '" +
                            name + "' and have plain indices on its left");
      return;
    }
    t.guard = b.guard;
    t.guard_dims = b.dims;
  }
}

// Outputs must be defined everywhere; temporaries may be partial.
void Lowering::check_coverage(TensorState& t) {
  const isl::set missing = t.elements.subtract(t.defined).intersect_params(p_.param_context);
  t.total = missing.is_empty();
  if (t.tensor.kind != poly::TensorKind::Output || (t.total && t.guard.empty())) return;
  const Definition& d = *t.definitions.front();
  const std::string& name = t.tensor.name;
  if (t.total) {
    error(
        d.lhs->loc,
        "definition does not cover the output '" + name + "': where it is defined depends on data",
        {{d.lhs->loc,
          "assign it to a Tensor that a reduction reads, or use select(condition, x, 0)"}});
    return;
  }
  std::string example;
  if (auto point = poly::lexmin_point(missing)) {
    example = ": " + name + "(";
    for (size_t k = 0; k < point->dims.size(); ++k)
      example += (k ? ", " : "") + std::to_string(point->dims[k]);
    example += ") is undefined for ";
    std::string sizes;
    for (const auto& [n, v] : point->params)
      sizes += (sizes.empty() ? "" : ", ") + n + " = " + std::to_string(v);
    example += sizes;
  }
  std::string left;
  for (const TermPtr& a : d.lhs->args) left += (left.empty() ? "" : ", ") + to_text(a);
  error(d.lhs->loc, "definition does not cover the output '" + name + "'" + example,
        {{d.rhs->loc, "what is restricted by where(...) is undefined elsewhere"},
         {d.lhs->loc,
          "define the rest, " + name + "(" + left +
              ") = where(!condition, 0), or assign it to a Tensor that a reduction reads"}});
}

void Lowering::warn_unused() {
  std::set<std::string> read;
  for (const Definition& d : k_.definitions) collect_tensors(d.rhs, read);
  for (const TensorDecl& t : k_.tensors)
    if (t.kind != poly::TensorKind::Output && !read.count(t.name) && state_.count(t.name))
      warn(t.loc, "'" + t.name + "' is never used");
  for (const IndexDecl& i : k_.indices)
    if (!used_indices_.count(i.name)) warn(i.loc, "index '" + i.name + "' is never used");
}

std::optional<poly::Program> Lowering::run() {
  p_.context = ctx_;
  p_.name = k_.name;
  check_name(k_.name, k_.loc);
  sizes();
  if (failed_) return {};
  indices();
  tensors();
  if (std::none_of(k_.tensors.begin(), k_.tensors.end(),
                   [](const TensorDecl& t) { return t.kind == poly::TensorKind::Output; }) &&
      !failed_)
    error(k_.loc, "kernel '" + k_.name + "' has no output",
          {{k_.loc, "declare one: Output O(f32, {N});"}});
  plan_lets();
  for (const std::string& n : order()) {
    TensorState& t = state_.at(n);
    const bool before = failed_;
    failed_ = false;
    for (const Definition* d : t.definitions) define(t, *d);
    t.broken = failed_;
    if (!failed_) check_coverage(t);
    failed_ |= before;
  }
  if (failed_) return {};
  warn_unused();
  for (const std::string& n : tensor_order_) p_.tensors.push_back(state_.at(n).tensor);
  p_.original = poly::textual_order(p_);
  if (auto r = poly::validate(p_)) {
    error(k_.loc, "the program of '" + k_.name + "' is not well formed: " + r->text());
    return {};
  }
  return std::move(p_);
}

std::optional<poly::Program> lower_kernel(poly::ContextPtr ctx, const KernelDecl& k,
                                          const std::string& file, std::vector<Diag>& diags) {
  if (k.broken) return {};
  const size_t before = diags.size();
  auto result = poly::with_quota(ctx->get(), 4 * poly::kDefaultQuota,
                                 [&] { return Lowering(ctx, k, file, diags).run(); });
  if (result) return std::move(*result);
  // What follows from an error already told is not told.
  if (std::none_of(diags.begin() + static_cast<std::ptrdiff_t>(before), diags.end(),
                   [](const Diag& d) { return d.error; }))
    diags.push_back(
        Diag{true, k.loc, "'" + k.name + "' is too hard to analyse: " + result.error().why, {}});
  return {};
}

}  // namespace nautilus::spec
