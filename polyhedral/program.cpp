#include "polyhedral/program.h"

#include <algorithm>
#include <array>
#include <limits>
#include <regex>

#include "polyhedral/context_hash.h"

namespace nautilus::poly {

namespace {

constexpr std::array<std::pair<ReduceOp, std::string_view>, 7> kReduceNames{{
    {ReduceOp::Sum, "sum"},
    {ReduceOp::Prod, "prod"},
    {ReduceOp::Max, "max"},
    {ReduceOp::Min, "min"},
    {ReduceOp::Any, "any"},
    {ReduceOp::All, "all"},
    {ReduceOp::User, "user"},
}};

}  // namespace

std::string_view reduce_op_name(ReduceOp op) {
  for (const auto& [o, name] : kReduceNames)
    if (o == op) return name;
  return "?";
}

std::optional<ReduceOp> reduce_op_from_name(std::string_view s) {
  for (const auto& [o, name] : kReduceNames)
    if (name == s) return o;
  return std::nullopt;
}

double identity_value(const Reduction& r) {
  switch (r.op) {
    case ReduceOp::Sum:
      return 0;
    case ReduceOp::Prod:
      return 1;
    case ReduceOp::Max:
      return -std::numeric_limits<double>::infinity();
    case ReduceOp::Min:
      return std::numeric_limits<double>::infinity();
    case ReduceOp::Any:
      return 0;
    case ReduceOp::All:
      return 1;
    case ReduceOp::User:
      return r.identity ? evaluate(r.identity, EvalEnv{}) : 0;
  }
  return 0;
}

Expr combine_expr(const Reduction& r, Expr a, Expr b) {
  switch (r.op) {
    case ReduceOp::Sum:
      return Expr::make(Op::Add, {a, b});
    case ReduceOp::Prod:
      return Expr::make(Op::Mul, {a, b});
    case ReduceOp::Max:
      return Expr::make(Op::Max, {a, b});
    case ReduceOp::Min:
      return Expr::make(Op::Min, {a, b});
    case ReduceOp::Any:
      return Expr::make(Op::Or, {a, b});
    case ReduceOp::All:
      return Expr::make(Op::And, {a, b});
    case ReduceOp::User:
      break;
  }
  return substitute(r.combine, std::map<std::string, Expr>{{"a", a}, {"b", b}});
}

const Tensor* Program::tensor(std::string_view n) const {
  for (const Tensor& t : tensors)
    if (t.name == n) return &t;
  return nullptr;
}

const Statement* Program::statement(std::string_view n) const {
  for (const Statement& s : statements)
    if (s.name == n) return &s;
  return nullptr;
}

isl::union_set Program::domain() const {
  isl::union_set all = isl::union_set::empty(context->get());
  for (const Statement& s : statements) all = all.unite(isl::union_set(s.domain));
  return all;
}

// The box 0 <= x_k < extent_k over the tensor's tuple; a scalar has the one element T[].
isl::set Program::elements(const Tensor& t) const {
  isl::ctx ctx = context->get();
  const isl::space space =
      isl::space::unit(ctx).add_named_tuple(t.name, static_cast<unsigned>(t.rank()));
  isl::set box = space.universe_set();
  const isl::multi_aff x = space.identity_multi_aff_on_domain();
  for (size_t k = 0; k < t.rank(); ++k) {
    const isl::pw_aff at = x.at(static_cast<int>(k));
    box = box.intersect(at.ge_set(isl::pw_aff(space.zero_aff_on_domain())));
    box = box.intersect(at.lt_set(t.extents[k].insert_domain(space)));
  }
  return box;
}

// domain { S1; S2; ... } -> sequence of { Sk } filters, each over one band { Sk[i,j] -> [i, j] }.
isl::schedule textual_order(const Program& p) {
  std::vector<isl::schedule> parts;
  for (const Statement& s : p.statements) {
    if (s.domain.is_empty()) continue;
    isl::schedule one = isl::schedule::from_domain(s.domain);
    if (s.n_dims() > 0) {
      const isl::space space = s.domain.space();
      isl::multi_union_pw_aff band =
          isl::multi_pw_aff(space.identity_multi_aff_on_domain()).reset_range_tuple_id();
      one = one.root().child(0).insert_partial_schedule(band).schedule();
    }
    parts.push_back(one);
  }
  if (parts.empty()) return isl::schedule::from_domain(isl::union_set::empty(p.context->get()));
  return in_sequence(parts);
}

namespace {

// What is declared of these sizes alone, in words where isl's notation is not plain; that sizes are
// not negative goes without saying.
std::string facts_text(isl::set facts, const Program& p, const Sizes& about) {
  for (const std::string& n : p.params)
    if (!about.count(n)) facts = facts.project_out_param(isl::id(p.context->get(), n));
  std::string text = isl_text(facts.coalesce());
  const size_t from = text.find(": "), to = text.rfind(" }");
  if (from != std::string::npos && to >= from) text = text.substr(from + 2, to - from - 2);
  static const std::regex multiple(R"(\((\w+)\) mod (\d+) = 0)"), natural(R"( and \w+ >= 0\b)");
  text = std::regex_replace(text, multiple, "$1 is a multiple of $2");
  return std::regex_replace(text, natural, "");
}

// Names the size that contradicts the facts by itself, with the nearest value that does not; or all
// of them together.
void explain_contradiction(const Program& p, const Sizes& sizes, Refusal& r) {
  constexpr int64_t reach = 4096;
  for (const auto& [name, value] : sizes) {
    if (!fix_params(p.param_context, {{name, value}}).is_empty()) continue;
    r.why = name + " = " + std::to_string(value) +
            " contradicts what is declared: " + facts_text(p.param_context, p, {{name, value}});
    // Nothing is left of a program at size 0, so that is suggested to nobody who did not ask for
    // it.
    for (int64_t d = 1; d < reach && r.suggest.empty(); ++d)
      for (const int64_t near : {value + d, value - d})
        if (r.suggest.empty() && near >= (value > 0 ? 1 : 0) &&
            !fix_params(p.param_context, {{name, near}}).is_empty())
          r.suggest = "the nearest value that does not is " + name + "=" + std::to_string(near);
    return;
  }
  r.why =
      "these values together contradict what is declared: " + facts_text(p.param_context, p, sizes);
  r.suggest = "change one of them";
}

// Unknown names, negative values, or values that contradict the declared facts.
std::optional<Refusal> check_sizes(const Program& p, const Sizes& sizes) {
  Refusal r{"bind sizes " + sizes_text(sizes), p.name, "", ""};
  for (const auto& [name, value] : sizes) {
    if (std::find(p.params.begin(), p.params.end(), name) == p.params.end()) {
      r.why = "there is no size named " + name;
      std::string known;
      for (const std::string& n : p.params) known += (known.empty() ? "" : ", ") + n;
      r.suggest = known.empty() ? "this program has no sizes" : "the sizes are " + known;
      return r;
    }
    if (value < 0) {
      r.why = name + " = " + std::to_string(value) + " is negative";
      r.suggest = "a size is 0 or more";
      return r;
    }
  }
  if (fix_params(p.param_context, sizes).is_empty()) {
    explain_contradiction(p, sizes, r);
    return r;
  }
  return std::nullopt;
}

Expr substitute_sizes(const Expr& e, const Sizes& sizes) {
  if (!e) return e;
  return substitute(e, [&](const Expr& x) -> std::optional<Expr> {
    if (x->op != Op::Param) return std::nullopt;
    const auto at = sizes.find(x->name);
    if (at == sizes.end()) return std::nullopt;
    return Expr::constant(static_cast<double>(at->second), x->type);
  });
}

}  // namespace

Program in_param_order(Program p) {
  const auto align = [&](auto& object) {
    if (!object.is_null()) object = align_params(object, p.params);
  };
  align(p.param_context);
  for (Tensor& t : p.tensors)
    for (isl::pw_aff& e : t.extents) align(e);
  for (Statement& s : p.statements) {
    align(s.domain);
    align(s.write.map);
    for (Access& a : s.reads) align(a.map);
    for (isl::aff& a : s.indices) align(a);
  }
  align(p.original);
  return p;
}

Expected<Program> bind_sizes(const Program& p, const Sizes& sizes) {
  if (auto bad = check_sizes(p, sizes)) return *bad;
  Program out = p;
  out.param_context = fix_params(p.param_context, sizes);
  return in_param_order(std::move(out));
}

Expected<Program> instantiate(const Program& p, const Sizes& sizes) {
  if (auto bad = check_sizes(p, sizes)) return *bad;
  Program out = p;
  std::erase_if(out.params, [&](const std::string& n) { return sizes.count(n) > 0; });
  out.param_context = substitute_params(p.param_context, sizes);
  for (Tensor& t : out.tensors)
    for (isl::pw_aff& e : t.extents) e = substitute_params(e, sizes);
  for (Statement& s : out.statements) {
    s.domain = substitute_params(s.domain, sizes);
    s.write.map = substitute_params(s.write.map, sizes);
    for (Access& a : s.reads) a.map = substitute_params(a.map, sizes);
    for (isl::aff& a : s.indices) a = substitute_params(a, sizes);
    s.expr = substitute_sizes(s.expr, sizes);
    s.guard = substitute_sizes(s.guard, sizes);
  }
  out.original = substitute_params(p.original, sizes);
  return out;
}

namespace {

// Re-reads isl objects in another context from their text.
struct Transfer {
  isl::ctx ctx;
  template <class T>
  T operator()(const T& object) const {
    return object.is_null() ? T() : T(ctx, isl_text(object));
  }
};

}  // namespace

ProgramPtr clone_into(ContextPtr context, const Program& p) {
  const Transfer to{context->get()};
  Program out = p;
  for (Tensor& t : out.tensors)
    for (isl::pw_aff& e : t.extents) e = to(e);
  for (Statement& s : out.statements) {
    s.domain = to(s.domain);
    s.write.map = to(s.write.map);
    for (Access& a : s.reads) a.map = to(a.map);
    for (isl::aff& a : s.indices) a = to(a);
  }
  out.param_context = to(p.param_context);
  out.original = to(p.original);
  out.context = std::move(context);
  return std::make_shared<const Program>(std::move(out));
}

namespace {

bool same(const isl::set& a, const isl::set& b) {
  return a.space().is_equal(b.space()) ? a.is_equal(b)
                                       : (tuple_name(a) == tuple_name(b) && a.is_equal(b));
}

bool same(const Access& a, const Access& b) {
  if (a.tensor != b.tensor || a.gathers.size() != b.gathers.size()) return false;
  for (size_t k = 0; k < a.gathers.size(); ++k)
    if (a.gathers[k].dim != b.gathers[k].dim || a.gathers[k].read != b.gathers[k].read)
      return false;
  return a.map.is_equal(b.map);
}

bool same(const std::optional<Reduction>& a, const std::optional<Reduction>& b) {
  if (a.has_value() != b.has_value()) return false;
  return !a || (a->op == b->op && a->dims == b->dims && a->combine == b->combine &&
                a->identity == b->identity);
}

bool same(const Tensor& a, const Tensor& b) {
  if (a.name != b.name || a.type != b.type || a.kind != b.kind || a.rank() != b.rank())
    return false;
  for (size_t k = 0; k < a.rank(); ++k)
    if (!a.extents[k].as_set().is_equal(b.extents[k].as_set())) return false;
  return true;
}

bool same(const Statement& a, const Statement& b) {
  if (a.name != b.name || a.reads.size() != b.reads.size() ||
      a.indices.size() != b.indices.size() || !(a.expr == b.expr) || !(a.guard == b.guard) ||
      !same(a.reduction, b.reduction))
    return false;
  if (dim_names(a.domain) != dim_names(b.domain) || !same(a.domain, b.domain) ||
      !same(a.write, b.write))
    return false;
  for (size_t k = 0; k < a.reads.size(); ++k)
    if (!same(a.reads[k], b.reads[k])) return false;
  for (size_t k = 0; k < a.indices.size(); ++k)
    if (!a.indices[k].as_map().is_equal(b.indices[k].as_map())) return false;
  return true;
}

template <class T>
bool all_same(const std::vector<T>& a, const std::vector<T>& b) {
  if (a.size() != b.size()) return false;
  for (size_t k = 0; k < a.size(); ++k)
    if (!same(a[k], b[k])) return false;
  return true;
}

}  // namespace

// Same names, types, expressions and sets (as sets, not as texts); source locations do not count.
bool equal(const Program& a, const Program& other) {
  ProgramPtr copy;
  if (a.context != other.context) copy = clone_into(a.context, other);
  const Program& b = copy ? *copy : other;
  if (a.name != b.name || a.params != b.params || a.typical != b.typical || a.scalars != b.scalars)
    return false;
  if (!a.param_context.is_equal(b.param_context)) return false;
  if (!all_same(a.tensors, b.tensors) || !all_same(a.statements, b.statements)) return false;
  return isl_text(a.original) == isl_text(b.original) ||
         a.original.map()
             .intersect_domain(a.domain())
             .is_equal(b.original.map().intersect_domain(a.domain()));
}

uint64_t content_hash(const Program& p) {
  if (const uint64_t known = p.hash.get()) return known;
  const uint64_t h = std::max<uint64_t>(1, hash_bytes(kHashSeed, print_naut(p)));
  p.hash.set(h);
  return h;
}

std::string sizes_text(const Sizes& sizes) {
  std::string out;
  for (const auto& [name, value] : sizes)
    out += (out.empty() ? "" : ", ") + name + "=" + std::to_string(value);
  return out;
}

std::string with_sizes(const Sizes& sizes) {
  return sizes.empty() ? "" : " (with " + sizes_text(sizes) + ")";
}

}  // namespace nautilus::poly
