// Instructions on tiles in registers. Arithmetic is in double precision per operation, rounded to
// the element type; padding is computed like the rest and means nothing.
#include <cmath>

#include "compiler/memory/checks.h"
#include "compiler/memory/interpret_machine.h"

namespace nautilus::memory {
namespace {

// An operand read at the positions of the result.
struct Operand {
  const double* data;
  const int32_t* at;  // null: the same positions
  double operator[](size_t p) const {
    return at == nullptr ? data[p] : at[p] < 0 ? 0.0 : data[size_t(at[p])];
  }
};

}  // namespace

double Machine::round(double v, Type t) const {
  if (t == Type::F64 || (!options_.round_values && is_float(t))) return v;
  if (t == Type::F32) return double(float(v));
  return round_to_type(v, t);
}

// A value that ordinary instructions read must not be in flight in the matrix unit.
void Machine::ready(Warp& w, const Step& s, int slot) {
  const Value& v = w.values[size_t(slot)];
  if (v.batch <= w.products_done) return;
  report(FaultKind::InFlight, s,
         who(w) + " reads the result of a product that it has not waited for (batch " +
             std::to_string(v.batch) + "; " + std::to_string(w.products_done) + " are done)");
}

std::vector<double>& Machine::define(Warp& w, const Step& s, size_t result) {
  Value& v = w.values[size_t(s.out[result])];
  v.at.resize(value_fragments_[size_t(s.out[result])]->positions);
  v.batch = 0;
  v.accumulator = false;
  v.defined = true;
  v.touched = ++w.serial;
  return v.at;
}

void Machine::constant(Warp& w, const Step& s) {
  std::vector<double>& out = define(w, s);
  out.assign(out.size(), round(s.instr->value, s.elem));
}

void Machine::iota(Warp& w, const Step& s) {
  s.index[0].evaluate(w.env, s.frag->of(w.index).points, index_);
  std::vector<double>& out = define(w, s);
  for (size_t p = 0; p < out.size(); ++p) out[p] = round_to_type(double(index_[p]), s.elem);
}

void Machine::map(Warp& w, const Step& s) {
  std::vector<Operand> in;
  for (size_t n = 0; n < s.in.size(); ++n) {
    const std::vector<int32_t>& at = s.align[n]->of(w.index);
    in.push_back({w.values[size_t(s.in[n])].at.data(), at.empty() ? nullptr : at.data()});
  }
  std::vector<double>& out = define(w, s);
  const bool cast = s.instr->code == Code::Cast;
  const nautilus::Op op = s.instr->op;
  const bool f32 = s.elem == Type::F32 && options_.round_values;
  auto each = [&](auto f) {
    if (f32)
      for (size_t p = 0; p < out.size(); ++p) out[p] = double(float(f(p)));
    else
      for (size_t p = 0; p < out.size(); ++p) out[p] = round(f(p), s.elem);
  };
  if (cast) return each([&](size_t p) { return in[0][p]; });
  if (is_float(s.elem)) {  // the frequent ones without a call
    if (op == nautilus::Op::Add) return each([&](size_t p) { return in[0][p] + in[1][p]; });
    if (op == nautilus::Op::Sub) return each([&](size_t p) { return in[0][p] - in[1][p]; });
    if (op == nautilus::Op::Mul) return each([&](size_t p) { return in[0][p] * in[1][p]; });
  }
  each([&](size_t p) {
    double a[3] = {};
    for (size_t n = 0; n < in.size(); ++n) a[n] = in[n][p];
    return apply_op(op, a, s.elem);
  });
}

void Machine::mask(Warp& w, const Step& s) {
  s.cond.evaluate(w.env, s.frag->of(w.index).points, mask_);
  Operand in[2];
  for (size_t n = 0; n < 2; ++n) {
    const std::vector<int32_t>& at = s.align[n]->of(w.index);
    in[n] = {w.values[size_t(s.in[n])].at.data(), at.empty() ? nullptr : at.data()};
  }
  std::vector<double>& out = define(w, s);
  for (size_t p = 0; p < out.size(); ++p) out[p] = round(in[mask_[p] ? 0 : 1][p], s.elem);
}

// Exchange: from wherever the warp holds the element. Rename: the same registers.
void Machine::move(Warp& w, const Step& s) {
  const std::vector<double>& in = w.values[size_t(s.in[0])].at;
  const std::vector<int32_t>* at = s.align[0] ? &s.align[0]->of(w.index) : nullptr;
  std::vector<double>& out = define(w, s);
  for (size_t p = 0; p < out.size(); ++p)
    out[p] = at == nullptr || at->empty() ? in[p] : (*at)[p] < 0 ? 0.0 : in[size_t((*at)[p])];
}

bool Machine::any_held(const Warp& w, const Step& s) const {
  const Held& h = value_fragments_[size_t(s.in[0])]->of(w.index);
  const std::vector<double>& in = w.values[size_t(s.in[0])].at;
  for (size_t p = 0; p < in.size(); ++p)
    if (h.logical[p] >= 0 && in[p] != 0) return true;
  return false;
}

// In the order of the hardware: each lane its registers, then lanes pairwise.
void Machine::reduce(Warp& w, const Step& s) {
  const Fold::Warp& f = s.fold->of(w.index);
  const std::vector<double>& in = w.values[size_t(s.in[0])].at;
  const auto op = combining(s.instr->reduce);
  EvalEnv env;
  env.round_casts = options_.round_values;
  auto combine = [&](double a, double b) {
    if (op) {
      const double args[2] = {a, b};
      return round(apply_op(*op, args, s.elem), s.elem);
    }
    env.vars["a"] = a;
    env.vars["b"] = b;
    return round(evaluate(s.instr->combine, env), s.elem);
  };
  std::vector<double> results, runs;
  int32_t item = 0, run = 0;
  for (int32_t end : f.result_end) {
    runs.clear();
    for (; run < end; ++run) {
      double v = round(in[size_t(f.order[size_t(item++)])], s.elem);
      for (; item < f.run_end[size_t(run)]; ++item)
        v = combine(v, in[size_t(f.order[size_t(item)])]);
      runs.push_back(v);
    }
    for (size_t width = runs.size(); width > 1; width = (width + 1) / 2)
      for (size_t n = 0; n < width / 2; ++n) {
        runs[n] = combine(runs[2 * n], runs[2 * n + 1]);
        if (n + 1 == width / 2 && width % 2) runs[n + 1] = runs[width - 1];
      }
    results.push_back(runs[0]);
  }
  std::vector<double>& out = define(w, s);
  for (size_t p = 0; p < out.size(); ++p)
    out[p] = f.result_of[p] < 0 ? 0.0 : results[size_t(f.result_of[p])];
}

}  // namespace nautilus::memory
