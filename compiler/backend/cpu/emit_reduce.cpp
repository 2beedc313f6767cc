// Reductions of tiles: down a non-contiguous axis as vector updates of the result, along the
// contiguous one into an accumulator.
#include <algorithm>

#include "compiler/backend/cpu/emitter.h"

namespace nautilus::cpu {

std::string Emitter::fold_step(const Fold& f, const std::string& acc, const std::string& x) const {
  const Type t = k_.type(f.result).elem;
  if (f.op != poly::ReduceOp::User) return combine_text(f.op, t, acc, x);
  const Names vars{{"a", acc}, {"b", x}};
  return convert_text(expression_text(f.combine, vars, t), f.combine->type, t);
}

void Emitter::fold(const Fold& f) {
  const TileType& type = k_.type(f.result);
  const bool scalar = type.axes.empty();
  const Axes result = scalar ? Axes{} : axes_of(f.result);
  const std::string start = literal(f.identity, type.elem);
  const bool vertical =
      !scalar && (f.operand_inner.empty() || f.operand_inner == result.back().name ||
                  std::none_of(f.summed.begin(), f.summed.end(),
                               [&](const Axis& a) { return a.name == f.operand_inner; }));
  const std::string name = variable(f.result);
  if (vertical) {
    if (!f.accumulate)
      nest(result,
           [&](Element& e) { return array_at(name, f.result, e.names) + " = " + start + ";"; });
    Axes all(result.begin(), result.end() - 1);
    all.insert(all.end(), f.summed.begin(), f.summed.end());
    all.push_back(result.back());
    nest(all, [&](Element& e) {
      const std::string x = f.term(e), at = array_at(name, f.result, e.names);
      return at + " = " + fold_step(f, at, x) + ";";
    });
    return;
  }
  // Loops over the result, each with an accumulator over the summed axes, the contiguous one
  // innermost.
  Axes summed = f.summed;
  std::stable_partition(summed.begin(), summed.end(),
                        [&](const Axis& a) { return a.name != f.operand_inner; });
  Element e;
  e.names = ivs_;
  int opened = 0;
  for (const Axis& a : result) {
    const std::string v = fresh(("a_" + identifier(a.name) + "_").c_str());
    e.names[a.name] = v;
    line("for (long " + v + " = 0; " + v + " < " + std::to_string(a.extent) + "; ++" + v + ") {");
    ++indent_;
    ++opened;
  }
  const std::string to = scalar ? name : array_at(name, f.result, e.names);
  const std::string acc = fresh("s"), c = c_type(type.elem);
  const bool extreme = f.op == poly::ReduceOp::Max || f.op == poly::ReduceOp::Min;
  const bool lanes =
      extreme && is_float(type.elem) && !summed.empty() && summed.back().extent % 16 == 0;
  line(c + " " + acc + (lanes ? "[16]" : "") +
       (lanes ? ";" : " = " + (f.accumulate ? to : start) + ";"));
  if (lanes) line("for (long l = 0; l < 16; ++l) " + acc + "[l] = " + start + ";");
  std::vector<std::string> heads;
  for (size_t n = 0; n < summed.size(); ++n) {
    const std::string v = fresh(("a_" + identifier(summed[n].name) + "_").c_str());
    e.names[summed[n].name] = v;
    const bool split = lanes && n + 1 == summed.size();
    heads.push_back("for (long " + v + (split ? "0" : "") + " = 0; " + v + (split ? "0" : "") +
                    " < " + std::to_string(summed[n].extent) + "; " +
                    (split ? v + "0 += 16" : "++" + v) + ")");
    if (split) {
      heads.push_back("for (long l = 0; l < 16; ++l)");
      e.names[summed[n].name] = "(" + v + "0 + l)";
    }
  }
  const std::string x = f.term(e), at = lanes ? acc + "[l]" : acc;
  block(e.before);
  for (size_t n = 0; n < heads.size(); ++n)
    line(std::string(2 * n, ' ') + heads[n] + (n + 1 == heads.size() ? " {" : ""));
  ++indent_;
  block(e.lets);
  line(at + " = " + fold_step(f, at, x) + ";");
  --indent_;
  if (!heads.empty()) line("}");
  if (lanes) {
    line(c + " " + acc + "r = " + (f.accumulate ? to : start) + ";");
    line("for (long l = 0; l < 16; ++l) " + acc + "r = " + fold_step(f, acc + "r", acc + "[l]") +
         ";");
    line(to + " = " + acc + "r;");
  } else {
    line(to + " = " + acc + ";");
  }
  for (; opened > 0; --opened) {
    --indent_;
    line("}");
  }
}

void Emitter::reduce(const Instr& i) {
  const ValueId operand = i.operands[0], result = i.results[0];
  poly::Reduction r;
  r.op = i.reduce;
  r.identity = i.identity;
  Fold f{result, i.reduce, i.combine, poly::identity_value(r), false, {}, "", {}};
  for (const std::string& a : i.axes) {
    int64_t extent = k_.extent(operand, a);
    for (const Axis& s : i.span)
      if (s.name == a) extent = s.extent;
    f.summed.push_back({a, extent});
  }
  if (!k_.order.at(operand).empty()) f.operand_inner = k_.order.at(operand).back();
  f.term = [this, operand, result](Element& e) {
    return convert_text(element(operand, e), k_.type(operand).elem, k_.type(result).elem);
  };
  fold(f);
}

}  // namespace nautilus::cpu
