#include <algorithm>
#include <cmath>
#include <set>

#include "polyhedral/naut.h"
#include "polyhedral/program_check.h"

namespace nautilus::poly {

namespace {

class Structure {
 public:
  explicit Structure(const Program& p) : p_(p) {}

  std::optional<Flaw> run() {
    if (!p_.context) return problem("", "the program has no isl context");
    names();
    if (found_) return found_;
    for (const Tensor& t : p_.tensors)
      if (tensor(t), found_) return found_;
    for (const Statement& s : p_.statements)
      if (statement(s), found_) return found_;
    order();
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

  bool known(const std::string& size) const {
    return std::find(p_.params.begin(), p_.params.end(), size) != p_.params.end();
  }
  bool known(const std::string& item, const std::vector<std::string>& params) {
    for (const std::string& n : params)
      if (!known(n)) {
        problem(item, "'" + n + "' is not a size of the program");
        return false;
      }
    return true;
  }

  void names() {
    if (!naut::is_identifier(p_.name)) problem("", "'" + p_.name + "' cannot name a program");
    std::set<std::string> used;
    auto fresh = [&](const std::string& n, const std::string& what) {
      if (!naut::is_identifier(n))
        problem(n, "'" + n + "' cannot name a " + what,
                naut::is_reserved(n) ? "it is a word of isl's notation; choose another name"
                                     : "use letters, digits, _");
      else if (!used.insert(n).second)
        problem(n, "the name " + n + " is used twice");
    };
    for (const std::string& n : p_.params) fresh(n, "size");
    for (const Tensor& t : p_.tensors) fresh(t.name, "tensor");
    for (const Statement& s : p_.statements) fresh(s.name, "statement");
    if (p_.param_context.is_null())
      problem("", "the program has no facts about its sizes");
    else
      known("", param_names(p_.param_context));
    for (const auto& [n, v] : p_.typical) {
      if (!known(n)) problem("", "a typical value is given for '" + n + "', which is no size");
      if (v < 0) problem("", "the typical value of " + n + " is negative");
    }
    for (const std::string& n : p_.scalars) {
      const Tensor* t = p_.tensor(n);
      if (!t || t->rank() != 0 || t->kind != TensorKind::Input)
        problem(n, "scalar " + n + " is not an input tensor without dimensions");
    }
  }

  void tensor(const Tensor& t) {
    for (const isl::pw_aff& e : t.extents) {
      if (e.is_null()) return void(problem(t.name, "tensor " + t.name + " lacks an extent"));
      if (!known(t.name, param_names(e.as_set()))) return;
    }
  }

  void statement(const Statement& s) {
    if (s.domain.is_null()) return void(problem(s.name, "statement " + s.name + " has no domain"));
    if (tuple_name(s.domain) != s.name || s.domain.is_wrapping())
      return void(problem(s.name, "the domain of " + s.name + " is a set of another statement"));
    const std::vector<std::string> dims = dim_names(s.domain);
    for (const std::string& d : dims)
      if (!naut::is_identifier(d) || known(d) || std::count(dims.begin(), dims.end(), d) > 1)
        return void(
            problem(s.name, "'" + d + "' cannot name a dimension of " + s.name,
                    "dimensions need names that differ from each other and from the sizes"));
    if (!known(s.name, param_names(s.domain))) return;
    access(s, s.write, -1);
    for (size_t k = 0; k < s.reads.size(); ++k) access(s, s.reads[k], static_cast<int>(k));
    for (const isl::aff& a : s.indices) index(s, a);
    if (found_) return;
    if (!s.expr) return void(problem(s.name, "statement " + s.name + " has no expression"));
    expression(s, s.expr);
    if (s.guard) expression(s, s.guard);
    if (s.reduction) reduction(s, *s.reduction);
    if (!found_) gather_cycles(s);
  }

  static std::string name_of(const Access& a, int k) {
    return k < 0 ? "the write of " + a.tensor : "read $" + std::to_string(k) + " of " + a.tensor;
  }

  void access(const Statement& s, const Access& a, int k) {
    if (found_) return;
    const std::string which = name_of(a, k);
    const Tensor* t = p_.tensor(a.tensor);
    if (!t) return void(problem(s.name, "there is no tensor " + a.tensor));
    if (k < 0 && t->kind == TensorKind::Input)
      return void(
          problem(s.name, "input " + a.tensor + " is written", "copy it into a temporary first"));
    if (a.map.is_null() || a.map.domain().is_wrapping() || a.map.range().is_wrapping() ||
        tuple_name_in(a.map) != s.name || n_in(a.map) != s.n_dims())
      return void(problem(s.name, which + " does not start from the statement's domain"));
    if (tuple_name_out(a.map) != a.tensor || n_out(a.map) != t->rank())
      return void(problem(s.name, which + " has " + std::to_string(n_out(a.map)) +
                                      " index values; " + a.tensor + " has rank " +
                                      std::to_string(t->rank())));
    if (!known(s.name, param_names(a.map.wrap()))) return;
    std::set<int> dims;
    for (const Access::Gather& g : a.gathers) {
      if (g.dim < 0 || g.dim >= static_cast<int>(t->rank()) || !dims.insert(g.dim).second)
        return void(
            problem(s.name, which + " gathers a dimension that does not exist, or one twice"));
      if (g.read < 0 || g.read >= static_cast<int>(s.reads.size()) || g.read == k)
        return void(problem(s.name, which + " takes an index from a read that does not exist"));
      const Tensor* source = p_.tensor(s.reads[static_cast<size_t>(g.read)].tensor);
      if (source && is_float(source->type))
        return void(problem(
            s.name, which + " is indexed by " + source->name + ", which holds no integers"));
    }
  }

  void index(const Statement& s, const isl::aff& a) {
    if (found_) return;
    if (a.is_null()) return void(problem(s.name, "an index value is missing"));
    const isl::map m = a.as_map();
    if (m.domain().is_wrapping() || tuple_name_in(m) != s.name || n_in(m) != s.n_dims())
      return void(
          problem(s.name, "an index value is not a function of the statement's dimensions"));
    known(s.name, param_names(m.wrap()));
  }

  void expression(const Statement& s, const Expr& e) {
    visit(e, [&](const Expr& x) {
      if (x->op == Op::Read && (x->index < 0 || x->index >= static_cast<int>(s.reads.size())))
        problem(s.name, "the expression uses $" + std::to_string(x->index) + "; there are " +
                            std::to_string(s.reads.size()) + " reads");
      if (x->op == Op::Index && (x->index < 0 || x->index >= static_cast<int>(s.indices.size())))
        problem(s.name, "the expression uses #" + std::to_string(x->index) + "; there are " +
                            std::to_string(s.indices.size()) + " index values");
      if (x->op == Op::Param && !known(x->name))
        problem(s.name, "the expression uses @" + x->name + ", which is no size");
      if (x->op == Op::Var) problem(s.name, "the expression uses the free variable " + x->name);
    });
  }

  void reduction(const Statement& s, const Reduction& r) {
    for (size_t k = 0; k < r.dims.size(); ++k)
      if (r.dims[k] < 0 || r.dims[k] >= static_cast<int>(s.n_dims()) ||
          (k && r.dims[k] <= r.dims[k - 1]))
        return void(problem(s.name, "the reduced dimensions of " + s.name +
                                        " are not ascending positions of its domain"));
    if (!s.write.gathers.empty())
      return void(problem(s.name, "a reduction may not write to gathered indices"));
    if (r.op != ReduceOp::User) return;
    if (!r.combine || !r.identity)
      return void(problem(s.name, "a user reduction needs 'combine' and 'identity'"));
    visit(r.combine, [&](const Expr& x) {
      if (x->op == Op::Read || x->op == Op::Index || x->op == Op::Param ||
          (x->op == Op::Var && x->name != "a" && x->name != "b"))
        problem(s.name, "the combine expression may only use a and b");
    });
    visit(r.identity, [&](const Expr& x) {
      if (x->op == Op::Read || x->op == Op::Index || x->op == Op::Param || x->op == Op::Var)
        problem(s.name, "the identity must be a constant");
    });
    const Tensor* t = p_.tensor(s.write.tensor);
    if (!found_ && t) monoid(s, r, t->type);
  }

  // Samples commutativity, associativity and the identity (on values that the operation can make),
  // as for a spec's.
  void monoid(const Statement& s, const Reduction& r, Type type) {
    const auto f = [&](double x, double y) {
      EvalEnv env;
      env.vars = {{"a", x}, {"b", y}};
      return evaluate(r.combine, env);
    };
    const auto same = [](double x, double y) {
      return (std::isnan(x) && std::isnan(y)) || x == y ||
             std::fabs(x - y) <= 1e-6 * std::max({1.0, std::fabs(x), std::fabs(y)});
    };
    const auto show = [](double v) { return to_string(Expr::constant(v)); };
    const double id = identity_value(r);
    const std::vector<double> samples = type == Type::Bool ? std::vector<double>{0, 1}
                                        : is_float(type)
                                            ? std::vector<double>{0, 1, -1, 0.5, -2.25, 3.5}
                                            : std::vector<double>{0, 1, -1, 2, -3, 7};
    for (double x : samples)
      for (double y : samples)
        if (!same(f(x, y), f(y, x)))
          return void(problem(s.name, "its combine expression is not commutative: for " + show(x) +
                                          " and " + show(y) + " the order matters"));
    for (double x : samples)
      for (double y : samples) {
        const double xy = f(x, y);
        if (!same(f(id, xy), xy))
          return void(problem(s.name, show(id) + " is not its identity: with " + show(xy) +
                                          " it gives " + show(f(id, xy))));
      }
    for (double x : samples)
      for (double y : samples)
        for (double z : samples)
          if (!same(f(f(x, y), z), f(x, f(y, z))))
            return void(problem(s.name, "its combine expression is not associative: for " +
                                            show(x) + ", " + show(y) + ", " + show(z)));
  }

  // Index reads must not depend on each other in a circle.
  void gather_cycles(const Statement& s) {
    for (size_t start = 0; start < s.reads.size(); ++start) {
      std::set<int> reached;
      std::vector<int> todo{static_cast<int>(start)};
      while (!todo.empty()) {
        const int k = todo.back();
        todo.pop_back();
        for (const Access::Gather& g : s.reads[static_cast<size_t>(k)].gathers) {
          if (g.read == static_cast<int>(start))
            return void(problem(s.name, "gathered reads index each other in a circle"));
          if (reached.insert(g.read).second) todo.push_back(g.read);
        }
      }
    }
  }

  // The schedule tree has exactly the program's instances, and only nodes with a plain meaning.
  void order() {
    if (p_.original.is_null()) return void(problem("", "the program has no order of execution"));
    p_.original.root().foreach_descendant_top_down([&](isl::schedule_node n) {
      if (n.isa<isl::schedule_node_extension>() || n.isa<isl::schedule_node_expansion>() ||
          n.isa<isl::schedule_node_guard>())
        problem("", "the order has an extension, expansion or guard node");
      return !found_;
    });
    if (found_) return;
    if (!p_.original.domain()
             .intersect_params(p_.param_context)
             .is_equal(p_.domain().intersect_params(p_.param_context)))
      problem("", "the order does not cover exactly the statements' domains");
  }
};

}  // namespace

std::optional<Flaw> check_structure(const Program& p) { return Structure(p).run(); }

}  // namespace nautilus::poly
