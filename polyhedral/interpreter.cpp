#include "polyhedral/interpreter.h"

#include <cmath>
#include <limits>

#include "polyhedral/instances.h"

namespace nautilus::poly {

namespace {

constexpr uint64_t kMaxElements = uint64_t{1} << 28;

// Casts between floating types are identities in double precision; casts to integers are not.
Expr without_float_casts(const Expr& e, std::map<Expr, Expr>& done) {
  if (!e || e->args.empty()) return e;
  if (const auto at = done.find(e); at != done.end()) return at->second;
  std::vector<Expr> args;
  for (const Expr& a : e->args) args.push_back(without_float_casts(a, done));
  Expr out = e->op != Op::Cast   ? Expr::make(e->op, args)
             : is_float(e->type) ? args[0]
                                 : Expr::cast(args[0], e->type);
  return done.emplace(e, out).first->second;
}

struct Array {
  const Tensor* tensor = nullptr;
  std::vector<int64_t> extents;
  std::vector<double> data;
};

struct BoundAccess {
  Array* array;
  PiecewiseFunction where;  // of the dims that are not gathered
  std::vector<int> gather;  // per tensor dim: a read's number, or -1
};

struct Compiled {
  const Statement* statement;
  Expr expr, guard;
  std::vector<AffineFunction> indices;
  BoundAccess write;
  std::vector<BoundAccess> reads;
};

}  // namespace

struct Interpreter::State {
 public:
  State(const Program& p, const InterpretOptions& options) : p_(p), options_(options) {}

  std::optional<Refusal> prepare(const Buffers& inputs) {
    uint64_t total = 0;
    for (const Tensor& t : p_.tensors) {
      Array a;
      a.tensor = &t;
      uint64_t n = 1;
      for (const isl::pw_aff& e : t.extents) {
        const isl::set value = e.as_set();
        const auto x = dim_min(value, 0), y = dim_max(value, 0);
        if (!x || x != y || *x < 0)
          return refuse(t.name, "its extents are not bound to sizes", "give every size");
        a.extents.push_back(*x);
        const auto extent = static_cast<uint64_t>(*x);
        n = extent == 0 ? 0 : n > kMaxElements / extent ? kMaxElements + 1 : n * extent;
      }
      total += n;
      if (total > kMaxElements)
        return refuse(t.name, "the tensors have too many elements", "use smaller sizes");
      if (t.kind == TensorKind::Input) {
        const auto given = inputs.find(t.name);
        if (given == inputs.end()) return refuse(t.name, "no data is given for this input", "");
        if (given->second.size() != n)
          return refuse(t.name,
                        "it has " + std::to_string(n) + " elements; " +
                            std::to_string(given->second.size()) + " are given",
                        "");
        a.data = given->second;
      } else {
        a.data.assign(n, initial(t));
      }
      arrays_.emplace(t.name, std::move(a));
    }
    for (const Statement& s : p_.statements) compiled_.emplace(s.name, compile(s));
    return std::nullopt;
  }

  // One instance: guard, operands, value, store. False after an error.
  bool execute(const std::string& name, std::span<const int64_t> dims) {
    const auto at = compiled_.find(name);
    if (at == compiled_.end()) return true;
    const Compiled& c = at->second;
    known_.assign(c.reads.size(), false);
    values_.assign(c.reads.size(), 0);
    EvalEnv env;
    env.read = [&](int k) { return read(c, k, dims); };
    env.index = [&](int k) {
      return static_cast<double>(c.indices.at(static_cast<size_t>(k))(dims));
    };
    env.param = [](const std::string&) { return std::numeric_limits<double>::quiet_NaN(); };
    if (c.guard && evaluate(c.guard, env) == 0) return !error_;
    double value = evaluate(c.expr, env);
    if (error_) return false;
    double* cell = element(c, c.write, dims);
    if (!cell) return false;
    if (c.statement->reduction)
      value = combined(*c.statement->reduction, *cell, value, c.write.array->tensor->type);
    *cell = stored(value, c.write.array->tensor->type);
    return true;
  }

  std::optional<Refusal> error() const { return error_; }
  double* cell(const std::string& tensor, std::span<const int64_t> index) {
    const auto at = arrays_.find(tensor);
    if (at == arrays_.end() || index.size() != at->second.extents.size()) return nullptr;
    int64_t flat = 0;
    for (size_t k = 0; k < index.size(); ++k) {
      if (index[k] < 0 || index[k] >= at->second.extents[k]) return nullptr;
      flat = flat * at->second.extents[k] + index[k];
    }
    return &at->second.data[static_cast<size_t>(flat)];
  }
  Buffers results() {
    Buffers out;
    for (auto& [name, a] : arrays_)
      if (a.tensor->kind == TensorKind::Output ||
          (options_.keep_temps && a.tensor->kind == TensorKind::Temp))
        out.emplace(name, std::move(a.data));
    return out;
  }

 private:
  const Program& p_;
  const InterpretOptions options_;
  std::map<std::string, Array> arrays_;
  std::map<std::string, Compiled> compiled_;
  std::optional<Refusal> error_;
  std::vector<char> known_;
  std::vector<double> values_;

  Refusal refuse(const std::string& where, const std::string& why,
                 const std::string& suggest) const {
    return Refusal{"interpret " + p_.name, where, why, suggest};
  }

  // Identity for reduced tensors; NaN marks elements that were never written.
  double initial(const Tensor& t) const {
    for (const Statement& s : p_.statements)
      if (s.write.tensor == t.name && s.reduction)
        return stored(identity_value(*s.reduction), t.type);
    return is_float(t.type) ? std::numeric_limits<double>::quiet_NaN() : 0;
  }

  double stored(double v, Type t) const {
    return options_.round_stores || !is_float(t) ? round_to_type(v, t) : v;
  }

  static double combined(const Reduction& r, double a, double b, Type t) {
    const double args[2] = {a, b};
    switch (r.op) {
      case ReduceOp::Sum:
        return apply_op(Op::Add, args, t);
      case ReduceOp::Prod:
        return apply_op(Op::Mul, args, t);
      case ReduceOp::Max:
        return apply_op(Op::Max, args, t);
      case ReduceOp::Min:
        return apply_op(Op::Min, args, t);
      case ReduceOp::Any:
        return apply_op(Op::Or, args, t);
      case ReduceOp::All:
        return apply_op(Op::And, args, t);
      case ReduceOp::User:
        break;
    }
    EvalEnv env;
    env.vars = {{"a", a}, {"b", b}};
    return evaluate(r.combine, env);
  }

  BoundAccess bind(const Statement& s, const Access& a) {
    Array& array = arrays_.at(a.tensor);
    std::vector<int> gather(array.extents.size(), -1);
    for (const Access::Gather& g : a.gathers) gather[static_cast<size_t>(g.dim)] = g.read;
    isl::map plain = a.map.intersect_domain(s.domain);
    for (size_t k = gather.size(); k-- > 0;)
      if (gather[k] >= 0) plain = project_out_out(plain, static_cast<unsigned>(k), 1);
    return {&array, PiecewiseFunction(plain.as_pw_multi_aff(), s.domain), gather};
  }

  Compiled compile(const Statement& s) {
    Compiled c{&s, s.expr, s.guard, {}, bind(s, s.write), {}};
    if (!options_.round_stores) {
      std::map<Expr, Expr> done;
      c.expr = without_float_casts(c.expr, done);
      c.guard = without_float_casts(c.guard, done);
    }
    for (const isl::aff& a : s.indices) c.indices.emplace_back(a);
    for (const Access& a : s.reads) c.reads.push_back(bind(s, a));
    return c;
  }

  double read(const Compiled& c, int k, std::span<const int64_t> dims) {
    const size_t at = static_cast<size_t>(k);
    if (at >= known_.size()) return std::numeric_limits<double>::quiet_NaN();
    if (!known_[at]) {
      const double* cell = error_ ? nullptr : element(c, c.reads[at], dims);
      values_[at] = cell ? *cell : std::numeric_limits<double>::quiet_NaN();
      known_[at] = true;
    }
    return values_[at];
  }

  // Address of the element an access names; nothing (and error_) if there is none.
  double* element(const Compiled& c, const BoundAccess& a, std::span<const int64_t> dims) {
    std::vector<int64_t> index;
    if (!a.where(dims, index)) return fail(c, a, dims, index);
    size_t next = 0;
    int64_t flat = 0;
    std::vector<int64_t> full;
    for (size_t k = 0; k < a.array->extents.size(); ++k) {
      const double gathered = a.gather[k] >= 0 ? read(c, a.gather[k], dims) : 0;
      if (error_) return nullptr;
      // A huge or NaN index is out of bounds; the conversion must not see it.
      const int64_t x = a.gather[k] < 0
                            ? index[next++]
                            : (std::abs(gathered) < 9e15 ? static_cast<int64_t>(gathered) : -1);
      full.push_back(x);
      if (x < 0 || x >= a.array->extents[k]) return fail(c, a, dims, full);
      flat = flat * a.array->extents[k] + x;
    }
    return &a.array->data[static_cast<size_t>(flat)];
  }

  double* fail(const Compiled& c, const BoundAccess& a, std::span<const int64_t> dims,
               const std::vector<int64_t>& index) {
    auto text = [](auto values) {
      std::string out = "[";
      for (int64_t v : values) out += (out.size() > 1 ? "," : "") + std::to_string(v);
      return out + "]";
    };
    error_ =
        refuse(c.statement->name + text(dims),
               "touches " + a.array->tensor->name + text(std::span(index)) +
                   ", which does not exist (extents " + text(std::span(a.array->extents)) + ")",
               "check the index data and the sizes");
    return nullptr;
  }
};

Interpreter::Interpreter(std::unique_ptr<State> state) : state_(std::move(state)) {}
Interpreter::~Interpreter() = default;

Expected<std::unique_ptr<Interpreter>> Interpreter::make(const Program& bound,
                                                         const Buffers& inputs,
                                                         const InterpretOptions& options) {
  auto state = std::make_unique<State>(bound, options);
  auto prepared =
      with_quota(bound.context->get(), 10 * kDefaultQuota, [&] { return state->prepare(inputs); });
  if (!prepared) return Refusal{"interpret " + bound.name, "", prepared.error().why, ""};
  if (*prepared) return **prepared;
  return std::unique_ptr<Interpreter>(new Interpreter(std::move(state)));
}

bool Interpreter::execute(const std::string& statement, std::span<const int64_t> dims) {
  return state_->execute(statement, dims);
}
std::optional<Refusal> Interpreter::error() const { return state_->error(); }
double* Interpreter::element(const std::string& tensor, std::span<const int64_t> index) {
  return state_->cell(tensor, index);
}
Buffers Interpreter::results() { return state_->results(); }

Expected<Buffers> interpret(const Program& p, const Sizes& sizes, const Buffers& inputs,
                            const InterpretOptions& options) {
  Refusal asked{"interpret " + p.name, "", "", ""};
  for (const std::string& n : p.params)
    if (!sizes.count(n)) {
      asked.why = "no value is given for size " + n;
      return asked;
    }
  const Expected<Program> bound = instantiate(p, sizes);
  if (!bound) return bound.error();
  auto run = Interpreter::make(*bound, inputs, options);
  if (!run) return run.error();
  const auto done = for_each_instance(
      bound->original, options.max_instances,
      [&](const std::string& s, std::span<const int64_t> d) { return (*run)->execute(s, d); });
  if (!done) return done.error();
  if ((*run)->error()) return *(*run)->error();
  return (*run)->results();
}

}  // namespace nautilus::poly
