// Reductions inside a warp: each thread its registers, in groups of four, then lanes pairwise.
#include <algorithm>
#include <cmath>
#include <limits>
#include <set>

#include "compiler/backend/cuda/emitter.h"
#include "compiler/backend/cuda/scalar.h"

namespace nautilus::cuda {
namespace {

struct Combine {
  std::optional<Op> op;
  double identity = 0;
};

Combine combine_of(poly::ReduceOp op) {
  constexpr double inf = std::numeric_limits<double>::infinity();
  switch (op) {
    case poly::ReduceOp::Sum:
      return {Op::Add, 0};
    case poly::ReduceOp::Prod:
      return {Op::Mul, 1};
    case poly::ReduceOp::Max:
      return {Op::Max, -inf};
    case poly::ReduceOp::Min:
      return {Op::Min, inf};
    case poly::ReduceOp::Any:
      return {Op::Or, 0};
    case poly::ReduceOp::All:
      return {Op::And, 1};
    case poly::ReduceOp::User:
      break;
  }
  return {};
}

// Lane masks to fold over: steps between lanes that hold other elements of the same result.
// Nullopt if such lanes need another register.
std::optional<std::vector<int>> lane_masks(const Geometry& g, const std::set<std::string>& gone) {
  std::vector<int> masks;
  for (int b = 0; b < 5; ++b) {
    bool moves_gone = false, moves_kept = false;
    for (const Axis& a : g.axes) {
      const auto& images = g.lane.at(a.name);
      if (size_t(b) >= images.size() || !images[size_t(b)]) continue;
      (gone.count(a.name) ? moves_gone : moves_kept) = true;
    }
    if (moves_gone && (moves_kept || copies_of(g).lanes >> b & 1)) return std::nullopt;
    if (moves_gone) masks.push_back(1 << b);
  }
  return masks;
}

}  // namespace

void KernelEmitter::reduce(const Instr& i) {
  const int x = i.operands[0], result = i.results[0];
  const Geometry &g = geometry(x), &to = geometry(result);
  const std::set<std::string> gone(i.axes.begin(), i.axes.end());
  const Type elem = type(result).elem, from = type(x).elem;
  const auto masks = lane_masks(g, gone);
  if (!masks) return refuse(i, "lanes along the reduced axes also hold other results");
  // Registers of each result, all results as many.
  const std::vector<int> result_of = aligned(to, g);
  std::vector<std::vector<int>> terms(size_t(to.registers));
  for (int r = 0; r < g.registers; ++r) {
    if (to.point(result_of[size_t(r)], to.axes) != g.point(r, to.axes))
      return refuse(i, "registers of a lane are terms of results that other lanes hold");
    terms[size_t(result_of[size_t(r)])].push_back(r);
  }
  // Registers that step along reduced axes by what lanes step by would be counted twice.
  for (const std::string& a : i.axes)
    if (!g.apart(a)) return refuse(i, "registers and lanes hold copies of each other");

  const Combine c = combine_of(i.reduce);
  const bool user = !c.op;
  const Type w = wide(elem);
  double identity = c.identity;
  if (user) identity = evaluate(i.identity, {});
  if (elem == Type::I32 && std::isinf(identity))
    identity = identity < 0 ? -2147483648.0 : 2147483647.0;
  std::string combine;
  if (user) {
    combine = names_.fresh("combine");
    line("const auto " + combine + " = [](" + wide_c(w) + " a, " + wide_c(w) + " b) { return " +
         expression(i.combine, {{"a", "a"}, {"b", "b"}}, w, helpers_) + "; };");
  }
  auto both = [&](const std::string& a, const std::string& b) {
    return user ? combine + "(" + a + ", " + b + ")" : apply(*c.op, {a, b}, {w, w}, elem, helpers_);
  };

  Cond inside = Cond::always();
  for (const std::string& a : i.axes)
    if (g.padded(a))
      inside.any[0].push_back({IndexExpr(g.extent(a) - 1) - IndexExpr::var(a), false});
  std::vector<Axis> reach = g.axes;
  for (Axis& a : reach) a.extent = g.place.extent(a.name);
  const Atoms atoms = simplify(inside, reach);
  const CoordinateTest t = ready(atoms, reach);
  auto term = [&](const Pick& p) {
    std::string v = convert(read(x, p), from, w);
    if (atoms.any.empty()) return v;
    const std::string cond = t([&](const std::string& axis) { return coordinate(g, axis, p); });
    return "(" + cond + " ? " + v + " : " + literal(identity, elem) + ")";
  };

  // Chains of a quarter of the terms.
  const size_t count = terms[0].size();
  auto at = [&](size_t n, const std::string& var) {
    Pick p{to.registers > 1 ? var : "", {}};
    for (const auto& list : terms) p.regs.push_back(list[n]);
    return p;
  };
  auto group = [&](size_t n, size_t size, const std::string& var) {
    std::vector<std::string> v;
    for (size_t m = n; m < n + size; ++m) v.push_back(term(at(m, var)));
    while (v.size() > 1) {
      std::vector<std::string> next;
      for (size_t m = 0; m + 1 < v.size(); m += 2) next.push_back(both(v[m], v[m + 1]));
      if (v.size() % 2) next.push_back(v.back());
      v = std::move(next);
    }
    return v[0];
  };
  const Pick results = all(to.registers, "q");
  auto body = [&] {
    const std::string acc = storage(result, results);
    if (count <= 8) {
      line(acc + " = " + group(0, count, "q") + ";");
    } else if (to.registers == 1) {
      const size_t groups = count / 4;
      line(acc + " = " + group(0, 4, "q") + ";");
      Pick p[4];
      for (size_t e = 0; e < 4; ++e) {
        p[e].var = groups > 2 ? "n" : "";
        for (size_t n = 1; n < groups; ++n) p[e].regs.push_back(terms[0][4 * n + e]);
      }
      unrolled(Pick{p[0].var, p[0].regs},
               acc + " = " +
                   both(acc, both(both(term(p[0]), term(p[1])), both(term(p[2]), term(p[3])))) +
                   ";");
      for (size_t n = groups * 4; n < count; ++n)
        line(acc + " = " + both(acc, term(at(n, "q"))) + ";");
    } else {
      line(acc + " = " + group(0, 4, "q") + ";");
      for (size_t n = 4; n < count; n += 4)
        line(acc + " = " + both(acc, group(n, std::min<size_t>(4, count - n), "q")) + ";");
    }
    for (int m : *masks) {
      std::string other = "__shfl_xor_sync(0xffffffffu, " +
                          (w == Type::Bool ? "int(" + acc + ")" : acc) + ", " + std::to_string(m) +
                          ")";
      if (w == Type::Bool) other += " != 0";
      line(acc + " = " + both(acc, w == Type::Bool ? "(" + other + ")" : other) + ";");
    }
  };
  if (to.registers == 1)
    body();
  else
    unrolled("q", to.registers, body);
}

}  // namespace nautilus::cuda
