// Reads and reductions: what a term takes from other statements.
#include <algorithm>
#include <cmath>

#include "compiler/spec/lower_kernel.h"

namespace nautilus::spec {

std::string Builder::ReadText::key() const {
  std::string s = tensor;
  for (const std::string& a : args) s += "|" + a;
  for (const auto& g : gathers) s += "|" + std::to_string(g.dim) + "<-" + std::to_string(g.read);
  return s;
}

bool Builder::has_dim(const std::string& n) const {
  return std::find(dims.begin(), dims.end(), n) != dims.end();
}

std::string Builder::key() const {
  std::string s;
  for (const std::string& d : dims) s += d + ",";
  s += std::to_string(n_free);
  for (const std::string& c : conditions) s += "&" + c;
  for (const TermPtr& g : guard) s += "?" + to_text(g);
  for (const ReadText& r : reads) s += "$" + r.key();
  for (const std::string& i : indices) s += "#" + i;
  return s;
}

std::nullopt_t Lowering::wrong_rank(const TensorState& t, const TermPtr& element) {
  const size_t rank = t.tensor.rank(), given = element->args.size();
  std::vector<std::pair<Loc, std::string>> notes;
  if (t.decl) notes.emplace_back(t.decl->loc, "'" + element->name + "' is declared here");
  return error(element->loc,
               "'" + element->name + "' has " + std::to_string(rank) +
                   (rank == 1 ? " dimension" : " dimensions") + ", but " + std::to_string(given) +
                   (given == 1 ? " index is given" : " indices are given"),
               std::move(notes));
}

// T(args): adds the access (once), restricts the statement to where T is defined, inherits T's
// guard.
std::optional<Scalar> Lowering::read(Builder& b, const TermPtr& t) {
  auto it = state_.find(t->name);
  if (it == state_.end()) {  // its declaration was refused
    failed_ = true;
    return {};
  }
  TensorState& state = it->second;
  const size_t rank = state.tensor.rank();
  if (t->args.size() != rank) return wrong_rank(state, t);
  if (state.broken) {
    failed_ = true;
    return {};
  }
  Builder::ReadText r;
  r.tensor = t->name;
  r.term = t;
  std::map<std::string, TermPtr> by;
  for (size_t k = 0; k < rank; ++k) {
    const TermPtr arg = strip_lets(t->args[k]);
    if (state.guard_dims.size() == rank) by[state.guard_dims[k]] = arg;
    if (is_integer_term(arg) || !reads_tensors(arg)) {
      auto text = affine(&b, arg);
      if (!text) return {};
      r.args.push_back(*text);
      continue;
    }
    // Indirect: the index is the value of another read. An expression of elements becomes a tensor
    // first.
    TermPtr source = arg;
    if (arg->kind != TermKind::Element) {
      Term let_term;
      let_term.kind = TermKind::Let;
      let_term.name = "index";
      let_term.loc = arg->loc;
      let_term.args = {arg};
      let_term.in_helper = true;
      source = nullptr;
      for (const auto& [made_for, made] : lets_)
        if (made_for == arg.get()) source = element_term(made.tensor, made.dims, arg->loc);
      if (!source) {
        TermPtr wrapped = seal(std::move(let_term));
        materialize_[wrapped.get()] = true;
        auto s = let(b, wrapped);
        if (!s) return {};
        if (s->cls != ScalarClass::Int)
          return error(arg->loc, "an index must be an integer",
                       {{arg->loc, "write i32(" + to_text(arg) + ")"}});
        const Made made = lets_.at(wrapped.get());
        lets_.erase(wrapped.get());
        lets_[arg.get()] = made;
        source = element_term(made.tensor, made.dims, arg->loc);
      }
    }
    auto s = read(b, source);
    if (!s) return {};
    if (s->cls != ScalarClass::Int)
      return error(arg->loc,
                   "an index must be an integer, but '" + source->name + "' holds " +
                       std::string(type_name(state_.at(source->name).tensor.type)),
                   {{arg->loc, "only i32 and i8 tensors can index"}});
    r.gathers.push_back(poly::Access::Gather{static_cast<int>(k), s->e->index});
    r.args.push_back("");
  }
  if (!r.gathers.empty() && !state.total)
    return error(t->loc,
                 "'" + t->name + "' is not defined everywhere, so it cannot be indexed by data",
                 {{t->loc, "define it on its whole shape"}});
  auto at = std::find(b.reads.begin(), b.reads.end(), r);
  if (at == b.reads.end()) {
    at = b.reads.insert(b.reads.end(), r);
    for (const TermPtr& g : state.guard) {
      const TermPtr mine = substitute_indices(g, by);
      bool known = false;
      for (const TermPtr& x : b.guard) known |= to_text(x) == to_text(mine);
      if (!known) b.guard.push_back(mine);
    }
  }
  const int k = static_cast<int>(std::find(b.reads.begin(), b.reads.end(), r) - b.reads.begin());
  const Type type = state.tensor.type;
  const ScalarClass cls = type == Type::Bool ? ScalarClass::Bool
                          : is_float(type)   ? ScalarClass::Float
                                             : ScalarClass::Int;
  return Scalar{Expr::read(k, type), cls, t};
}

// Samples associativity, commutativity and the identity (on values the operation can make).
bool Lowering::check_monoid(const MonoidDecl& m, Type type, poly::Reduction& r) {
  Builder b;
  b.var_type = type;
  auto id = scalar(b, m.identity);
  auto op = scalar(b, m.combine);
  if (!id || !op) return false;
  const bool integral = type == Type::I32;
  auto identity = type == Type::Bool ? as_bool(b, *id)
                  : integral         ? as_int(b, *id)
                                     : as_float(b, *id, type);
  auto combine = type == Type::Bool ? as_bool(b, *op)
                 : integral         ? as_int(b, *op)
                                    : as_float(b, *op, type);
  if (!identity || !combine) return false;
  if (!b.reads.empty() || !b.indices.empty() || (*identity)->op != Op::Const)
    return error(m.loc, "a monoid may use numbers and its two arguments only"), false;
  r.identity = Expr::constant((*identity)->value, type);
  r.combine = *combine;
  auto f = [&](double x, double y) {
    EvalEnv env;
    env.vars = {{"a", x}, {"b", y}};
    return evaluate(r.combine, env);
  };
  auto same = [](double x, double y) {
    return (std::isnan(x) && std::isnan(y)) || x == y ||
           std::fabs(x - y) <= 1e-6 * std::max(1.0, std::max(std::fabs(x), std::fabs(y)));
  };
  auto show = [](double v) {
    char buf[32];
    std::snprintf(buf, sizeof buf, "%g", v);
    return std::string(buf);
  };
  const std::vector<double> samples = type == Type::Bool ? std::vector<double>{0, 1}
                                      : integral         ? std::vector<double>{0, 1, -1, 2, -3, 7}
                                                 : std::vector<double>{0, 1, -1, 0.5, -2.25, 3.5};
  for (double x : samples)
    for (double y : samples)
      if (!same(f(x, y), f(y, x)))
        return error(m.loc, "the operation of '" + m.name + "' is not commutative: for " + show(x) +
                                " and " + show(y) + " the order matters"),
               false;
  for (double x : samples)
    for (double y : samples) {
      const double xy = f(x, y);
      if (!same(f(r.identity->value, xy), xy))
        return error(m.loc, show(r.identity->value) + " is not the identity of '" + m.name +
                                "': with " + show(xy) + " it gives " +
                                show(f(r.identity->value, xy))),
               false;
      for (double z : samples)
        if (!same(f(xy, z), f(x, f(y, z))))
          return error(m.loc, "the operation of '" + m.name + "' is not associative: for " +
                                  show(x) + ", " + show(y) + ", " + show(z)),
                 false;
    }
  return true;
}

// Lowers the term of a reduction in its own builder: free dims first, then the reduced ones.
std::optional<Lowering::ReduceParts> Lowering::reduce_parts(const Builder& outer,
                                                            const TermPtr& t) {
  ReduceParts out;
  const std::set<std::string> free = free_indices(t);
  for (const std::string& d : outer.dims)
    if (free.count(d)) out.b.dims.push_back(d);
  out.b.n_free = out.b.dims.size();
  std::set<std::string> own;
  for (const OverIndex& o : t->over) {
    if (!k_.index(o.name)) {
      failed_ = true;
      return {};
    }
    if (!own.insert(o.name).second)
      return error(o.loc, "the reduction runs over '" + o.name + "' twice");
    if (!t->in_helper && outer.has_dim(o.name))
      return error(o.loc, "reduction index '" + o.name + "' is also free here",
                   {{o.loc,
                     "it already stands on the left of the definition or belongs to a reduction "
                     "around this one; declare another: Index " +
                         o.name + "2(...);"}});
    used_indices_.insert(o.name);
    out.b.dims.push_back(o.name);
    out.reduction.dims.push_back(static_cast<int>(out.b.dims.size()) - 1);
  }
  // Where the result is not wanted, it is not computed: of the conditions around, those on the free
  // dims.
  for (const auto* conditions : {&outer.restrictions, &outer.guard})
    for (const TermPtr& r : *conditions) {
      const auto used = free_indices(r);
      const bool inherits = std::all_of(used.begin(), used.end(),
                                        [&](const std::string& n) { return free.count(n) != 0; });
      if (inherits && !used.empty()) restrict(out.b, r);
    }
  if (t->args[1] && !restrict(out.b, t->args[1])) return {};
  std::optional<Scalar> s;
  if (t->name == "count")
    s = Scalar{Expr::constant(1), ScalarClass::Real, t};
  else
    s = scalar(out.b, t->args[0]);
  if (!s) return {};
  if (t->name != "count" && !t->in_helper) {
    const auto used = free_indices(t->args[0]);
    for (const OverIndex& o : t->over)
      if (!used.count(o.name))
        warn(o.loc, "the term does not depend on '" + o.name + "'",
             {{t->args[0]->loc, "every index value contributes the same"}});
  }
  const bool logical = t->name == "any" || t->name == "all";
  std::optional<Expr> e;
  if (t->name == "user" && s->cls == ScalarClass::Bool)
    out.type = Type::Bool;
  else if (logical)
    out.type = Type::Bool;
  else if (s->cls == ScalarClass::Int || s->cls == ScalarClass::IndexValue)
    out.type = Type::I32;
  else if (s->e && s->e->type == Type::F64)
    out.type = Type::F64;
  e = out.type == Type::Bool  ? as_bool(out.b, *s)
      : out.type == Type::I32 ? as_int(out.b, *s)
                              : as_float(out.b, *s, out.type);
  if (!e) return {};
  out.e = *e;
  if (t->monoid) {
    out.reduction.op = poly::ReduceOp::User;
    if (!check_monoid(*t->monoid, out.type, out.reduction)) {
      failed_ = true;
      return {};
    }
  } else {
    out.reduction.op = t->name == "count"
                           ? poly::ReduceOp::Sum
                           : poly::reduce_op_from_name(t->name).value_or(poly::ReduceOp::Sum);
  }
  return out;
}

// A reduction inside an expression: its own statement and tensor, shared by equal ones.
std::optional<Scalar> Lowering::reduce(Builder& b, const TermPtr& t) {
  if (t->name == "count" && !t->args[1]) {  // plainly the product of the extents
    TermPtr n;
    for (const OverIndex& o : t->over) {
      const IndexDecl* d = k_.index(o.name);
      if (!d || !is_integer_term(d->extent)) {
        failed_ = true;
        return {};
      }
      n = n ? make_apply(Apply::Mul, {n, d->extent}, t->loc) : d->extent;
    }
    return Scalar{{}, ScalarClass::Adaptive, n};
  }
  auto parts = reduce_parts(b, t);
  if (!parts) return {};
  const std::string key = std::string(poly::reduce_op_name(parts->reduction.op)) +
                          (t->monoid ? ":" + t->monoid->name : "") + ":" + parts->b.key() + "=" +
                          to_string(parts->e);
  const std::vector<std::string> dims(parts->b.dims.begin(),
                                      parts->b.dims.begin() + static_cast<long>(parts->b.n_free));
  auto it = reductions_.find(key);
  if (it == reductions_.end()) {
    const std::string suffix = t->monoid ? t->monoid->name : t->name;
    const std::string name = new_tensor(target_ + "_" + suffix, parts->type, dims);
    if (!finish(parts->b, name, dims, parts->e, parts->reduction, t->loc)) return {};
    TensorState& state = state_.at(name);
    state.defined = state.elements;
    state.total = true;
    it = reductions_.emplace(key, Made{name, dims}).first;
  }
  return read(b, element_term(it->second.tensor, it->second.dims, t->loc));
}

}  // namespace nautilus::spec
