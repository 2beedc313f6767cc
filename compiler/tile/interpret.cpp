// Runs a module lane by lane in double precision: the steps of each kernel, for every block.
#include <algorithm>
#include <cmath>
#include <limits>

#include "compiler/tile/steps.h"
#include "compiler/tile/text.h"

namespace nautilus::tile {
namespace {

constexpr int64_t kMaxElements = int64_t(1) << 28;

struct Memory {
  const TensorDecl* decl = nullptr;
  std::vector<int64_t> extents;
  std::vector<double> data;
};

double round_value(double v, Type t, bool round) {
  if (t == Type::F64 || (!round && is_float(t))) return v;
  if (t == Type::F32) return double(float(v));
  return round_to_type(v, t);
}

std::optional<Op> fold_op(poly::ReduceOp op) {
  switch (op) {
    case poly::ReduceOp::Sum:
      return Op::Add;
    case poly::ReduceOp::Prod:
      return Op::Mul;
    case poly::ReduceOp::Max:
      return Op::Max;
    case poly::ReduceOp::Min:
      return Op::Min;
    case poly::ReduceOp::Any:
      return Op::Or;
    case poly::ReduceOp::All:
      return Op::And;
    case poly::ReduceOp::User:
      break;
  }
  return std::nullopt;
}

class Machine {
 public:
  Machine(const Module& m, const InterpretOptions& options) : m_(m), options_(options) {}
  std::optional<Refusal> error;
  Scalars scalars;
  std::map<std::string, size_t> tensor_slots;
  std::vector<Memory> memory;

  void fail(std::string why, const Instr* i = nullptr) {
    if (error) return;
    error = Refusal{"interpret tile module " + m_.name, k_ ? "kernel " + k_->name : "",
                    std::move(why), ""};
    if (i) error->where += ": " + print(*i, *k_);
  }

  // Allocates a tensor for these sizes, filled with what marks unwritten elements.
  void declare(const TensorDecl& d, const poly::Sizes& sizes) {
    Memory t;
    t.decl = &d;
    int64_t n = 1;
    for (const IndexExpr& e : d.extents) {
      const int64_t x = e.evaluate(sizes);
      if (x < 0) return fail("tensor " + d.name + " has a negative extent");
      t.extents.push_back(x);
      if (__builtin_mul_overflow(n, x, &n) || n > kMaxElements)
        return fail("tensor " + d.name + " is too large");
    }
    t.data.assign(size_t(n), is_float(d.type) ? std::numeric_limits<double>::quiet_NaN() : 0.0);
    tensor_slots[d.name] = memory.size();
    memory.push_back(std::move(t));
  }

  void run_kernel(const Kernel& k, const poly::Sizes& sizes) {
    k_ = &k;
    std::vector<int64_t> extents;
    for (const GridDim& g : k.grid) extents.push_back(g.extent.evaluate(sizes));
    const size_t globals = memory.size();
    for (const TensorDecl& d : k.shared) declare(d, sizes);
    values_.clear();
    slots_.clear();
    int64_t total = 0;
    for (const auto& [v, t] : k.types) {
      slots_[v] = values_.size();
      total += lanes(t);
      if (total > kMaxElements) return fail("the kernel's values are too large");
      values_.emplace_back(size_t(lanes(t)));
    }
    const StepBlock body = resolve(k, slots_, tensor_slots, scalars);
    std::vector<int> ivs;
    for (const GridDim& g : k.grid) ivs.push_back(scalars.slot(g.iv));
    std::vector<int64_t> at(extents.size(), 0);
    bool more = std::all_of(extents.begin(), extents.end(), [](int64_t e) { return e > 0; });
    while (more && !error) {
      for (size_t d = 0; d < at.size(); ++d) scalars.values[size_t(ivs[d])] = at[d];
      for (size_t s = globals; s < memory.size(); ++s)
        std::fill(memory[s].data.begin(), memory[s].data.end(),
                  std::numeric_limits<double>::quiet_NaN());
      run(body);
      more = false;
      for (size_t d = at.size(); d-- > 0 && !more;) {
        more = ++at[d] < extents[d];
        if (!more) at[d] = 0;
      }
    }
    for (size_t s = globals; s < memory.size(); ++s) tensor_slots.erase(memory[s].decl->name);
    memory.resize(globals);
    k_ = nullptr;
  }

 private:
  const Module& m_;
  InterpretOptions options_;
  const Kernel* k_ = nullptr;
  std::vector<std::vector<double>> values_;
  std::map<ValueId, size_t> slots_;
  uint64_t ops_ = 0;
  std::vector<int64_t> index_, address_;
  std::vector<uint8_t> mask_;

  double lane(const Step& s, size_t operand, size_t l) const {
    const auto& t = s.table[operand];
    return values_[s.in[operand]][t.empty() ? l : t.size() == 1 ? 0 : size_t(t[l])];
  }
  bool spend(const Step& s, int64_t n) {
    ops_ += uint64_t(n) + 1;
    if (ops_ > options_.max_ops)
      fail("more than " + std::to_string(options_.max_ops) + " operations", s.instr);
    return !error;
  }

  void run(const StepBlock& b) {
    for (const Step& s : b.steps) {
      if (error) return;
      run(s);
    }
  }

  void run(const Step& s) {
    if (!spend(s, s.space.lanes)) return;
    switch (s.instr->code) {
      case Code::Barrier:
        return;
      case Code::Const:
        return each(s, [&](size_t) { return s.instr->value; });
      case Code::Iota: {
        index_.resize(size_t(s.space.lanes));
        s.index[0].evaluate(scalars, s.space, index_.data());
        for (size_t l = 0; l < index_.size(); ++l)
          values_[s.out[0]][l] = round_value(double(index_[l]), s.elem, true);
        return;
      }
      case Code::Load:
        return load(s);
      case Code::Store:
        return store(s);
      case Code::Map:
        return map(s);
      case Code::Cast:
        return each(s, [&](size_t l) { return lane(s, 0, l); });
      case Code::Rename:
        return each(s, [&](size_t l) { return lane(s, 0, l); });
      case Code::Mask:
        mask_.resize(size_t(s.space.lanes));
        s.cond.evaluate(scalars, s.space, mask_.data());
        return each(s, [&](size_t l) { return lane(s, mask_[l] ? 0 : 1, l); });
      case Code::Reduce:
        return reduce(s);
      case Code::Dot:
        return dot(s);
      case Code::For:
        return loop(s);
      case Code::If: {
        const size_t taken = side(s);
        const StepBlock& b = s.blocks[taken];
        run(b);
        for (size_t n = 0; n < s.out.size() && !error; ++n)
          copy(values_[b.yields[n]], s.yield_table[taken * s.out.size() + n], values_[s.out[n]]);
        return;
      }
    }
  }

  // Which region of a branch runs.
  size_t side(const Step& s) {
    if (s.in.empty()) return s.cond.scalar(scalars) ? 0 : 1;
    const bool holds = values_[s.in[0]][0] != 0;
    if (options_.branches) {
      BranchCount& n = (*options_.branches)[s.instr->origin];
      ++n.reached;
      n.taken += holds;
    }
    return holds ? 0 : 1;
  }

  template <class F>
  void each(const Step& s, F f) {
    std::vector<double>& out = values_[s.out[0]];
    const bool round = options_.round_values;
    if (s.elem == Type::F32 && round)
      for (size_t l = 0; l < out.size(); ++l) out[l] = double(float(f(l)));
    else if (is_float(s.elem) && (!round || s.elem == Type::F64))
      for (size_t l = 0; l < out.size(); ++l) out[l] = f(l);
    else
      for (size_t l = 0; l < out.size(); ++l) out[l] = round_value(f(l), s.elem, round);
  }

  void map(const Step& s) {
    const Op op = s.instr->op;
    if (is_float(s.elem)) {  // the frequent ones without a call
      if (op == Op::Add) return each(s, [&](size_t l) { return lane(s, 0, l) + lane(s, 1, l); });
      if (op == Op::Sub) return each(s, [&](size_t l) { return lane(s, 0, l) - lane(s, 1, l); });
      if (op == Op::Mul) return each(s, [&](size_t l) { return lane(s, 0, l) * lane(s, 1, l); });
      if (op == Op::Div) return each(s, [&](size_t l) { return lane(s, 0, l) / lane(s, 1, l); });
    }
    const size_t n = s.in.size();
    each(s, [&](size_t l) {
      double a[3] = {};
      for (size_t k = 0; k < n; ++k) a[k] = lane(s, k, l);
      return apply_op(op, a, s.elem);
    });
  }

  void reduce(const Step& s) {
    std::vector<double>& out = values_[s.out[0]];
    std::vector<uint8_t> begun(out.size(), 0);
    const auto op = fold_op(s.instr->reduce);
    EvalEnv env;
    env.round_casts = options_.round_values;
    for (size_t l = 0; l < size_t(s.space.lanes); ++l) {
      const size_t o = s.fold.empty() ? l : size_t(s.fold[l]);
      double a[2] = {out[o], lane(s, 0, l)}, v = a[1];
      if (begun[o]) {
        if (op) {
          v = apply_op(*op, a, s.elem);
        } else {
          env.vars["a"] = a[0];
          env.vars["b"] = a[1];
          v = evaluate(s.instr->combine, env);
        }
      }
      begun[o] = 1;
      out[o] = round_value(v, s.elem, options_.round_values);
    }
  }

  void dot(const Step& s) {
    const std::vector<double>&a = values_[s.in[0]], &b = values_[s.in[1]];
    std::vector<double>& out = values_[s.out[0]];
    if (!spend(s, int64_t(out.size() * s.sum_a.size()))) return;
    const bool f32 = s.elem == Type::F32 && options_.round_values;
    for (size_t o = 0; o < out.size(); ++o) {
      const double *pa = a.data() + s.table[0][o], *pb = b.data() + s.table[1][o];
      double sum = 0;
      if (f32)
        for (size_t n = 0; n < s.sum_a.size(); ++n)
          sum = double(float(sum + pa[s.sum_a[n]] * pb[s.sum_b[n]]));
      else if (is_float(s.elem))
        for (size_t n = 0; n < s.sum_a.size(); ++n) sum += pa[s.sum_a[n]] * pb[s.sum_b[n]];
      else
        for (size_t n = 0; n < s.sum_a.size(); ++n) {
          const double factors[2] = {pa[s.sum_a[n]], pb[s.sum_b[n]]};
          const double terms[2] = {sum, apply_op(Op::Mul, factors, s.elem)};
          sum = apply_op(Op::Add, terms, s.elem);
        }
      out[o] = sum;
    }
  }

  // mask_: lanes that are active; address_: their element. False after an access out of bounds.
  bool addresses(const Step& s) {
    const size_t n = size_t(s.space.lanes);
    mask_.resize(n);
    s.cond.evaluate(scalars, s.space, mask_.data());
    address_.assign(n, 0);
    index_.resize(n);
    const Memory& t = memory[s.tensor];
    for (size_t d = 0; d < s.index.size(); ++d) {
      const int g = s.instr->gather.empty() ? -1 : s.instr->gather[d];
      if (g >= 0)
        for (size_t l = 0; l < n; ++l) index_[l] = mask_[l] ? int64_t(lane(s, size_t(g), l)) : 0;
      else
        s.index[d].evaluate(scalars, s.space, index_.data());
      for (size_t l = 0; l < n; ++l) {
        if (!mask_[l]) continue;
        if (index_[l] < 0 || index_[l] >= t.extents[d]) {
          fail("index " + std::to_string(index_[l]) + " is outside dimension " + std::to_string(d) +
                   " of " + t.decl->name + " (extent " + std::to_string(t.extents[d]) + ")",
               s.instr);
          return false;
        }
        address_[l] = address_[l] * t.extents[d] + index_[l];
      }
    }
    return true;
  }

  void load(const Step& s) {
    if (!addresses(s)) return;
    const std::vector<double>& data = memory[s.tensor].data;
    const double fill = round_value(s.instr->value, s.elem, options_.round_values);
    std::vector<double>& out = values_[s.out[0]];
    for (size_t l = 0; l < out.size(); ++l) out[l] = mask_[l] ? data[size_t(address_[l])] : fill;
  }

  void store(const Step& s) {
    if (!addresses(s)) return;
    Memory& t = memory[s.tensor];
    for (size_t l = 0; l < address_.size(); ++l)
      if (mask_[l])
        t.data[size_t(address_[l])] =
            round_value(lane(s, 0, l), t.decl->type, options_.round_values);
  }

  static void copy(const std::vector<double>& from, const std::vector<int32_t>& table,
                   std::vector<double>& to) {
    if (table.empty())
      to = from;
    else
      for (size_t l = 0; l < to.size(); ++l) to[l] = from[table.size() == 1 ? 0 : size_t(table[l])];
  }

  void loop(const Step& s) {
    const StepBlock& b = s.blocks[0];
    for (size_t n = 0; n < s.in.size(); ++n)
      copy(values_[s.in[n]], s.init_table[n], values_[b.args[n]]);
    const int64_t lower = s.index[0].scalar(scalars), upper = s.index[1].scalar(scalars);
    std::vector<std::vector<double>> next(s.in.size());
    for (size_t n = 0; n < next.size(); ++n) next[n].resize(values_[b.args[n]].size());
    for (int64_t at = lower; at < upper; at += s.instr->step) {
      if (!spend(s, 0)) return;
      scalars.values[size_t(s.iv)] = at;
      run(b);
      if (error) return;
      for (size_t n = 0; n < next.size(); ++n)
        copy(values_[b.yields[n]], s.yield_table[n], next[n]);
      for (size_t n = 0; n < next.size(); ++n) values_[b.args[n]].swap(next[n]);
      if (upper - at <= s.instr->step) break;
    }
    for (size_t n = 0; n < next.size(); ++n) values_[s.out[n]] = values_[b.args[n]];
  }
};

}  // namespace

Expected<poly::Buffers> interpret(const Module& m, const poly::Sizes& sizes,
                                  const poly::Buffers& inputs, const InterpretOptions& options) {
  if (auto r = verify(m)) return *r;
  Machine machine(m, options);
  poly::Sizes bound;
  for (const std::string& s : m.sizes) {
    auto it = sizes.find(s);
    if (it == sizes.end())
      return Refusal{"interpret tile module " + m.name, "", "size " + s + " has no value",
                     "give " + s};
    bound[s] = it->second;
    machine.scalars.values[size_t(machine.scalars.slot(s))] = it->second;
  }
  if (std::string why = broken_multiple(m.multiples, bound); !why.empty())
    return Refusal{"interpret tile module " + m.name, "", why, ""};
  for (const TensorDecl& t : m.tensors) {
    machine.declare(t, bound);
    if (machine.error) return *machine.error;
    if (t.kind != poly::TensorKind::Input) continue;
    auto it = inputs.find(t.name);
    std::vector<double>& data = machine.memory.back().data;
    if (it == inputs.end() || it->second.size() != data.size())
      return Refusal{"interpret tile module " + m.name, "tensor " + t.name,
                     it == inputs.end() ? "no input was given"
                                        : "the input has " + std::to_string(it->second.size()) +
                                              " elements instead of " + std::to_string(data.size()),
                     ""};
    for (size_t n = 0; n < data.size(); ++n)
      data[n] = round_value(it->second[n], t.type, options.round_values);
  }
  for (const Kernel& k : m.kernels) {
    machine.run_kernel(k, bound);
    if (machine.error) return *machine.error;
  }
  poly::Buffers out;
  for (const TensorDecl& t : m.tensors)
    if (t.kind == poly::TensorKind::Output)
      out[t.name] = std::move(machine.memory[machine.tensor_slots.at(t.name)].data);
  return out;
}

}  // namespace nautilus::tile
