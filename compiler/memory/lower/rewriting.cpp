#include "compiler/memory/lower/rewriting.h"

#include <algorithm>

namespace nautilus::memory::lowering {

void each_operand(Instr& i, const std::function<void(ValueId&)>& f) {
  for (ValueId& v : i.operands) f(v);
  for (Region& r : i.regions) {
    for (Instr& inner : r.body) each_operand(inner, f);
    for (ValueId& v : r.yields) f(v);
  }
}
std::set<ValueId> used_by(const Instr& i) {
  std::set<ValueId> out(i.operands.begin(), i.operands.end());
  for (const Region& r : i.regions) {
    for (const Instr& inner : r.body) out.merge(used_by(inner));
    out.insert(r.yields.begin(), r.yields.end());
  }
  return out;
}

void substitute(Instr& i, const std::map<std::string, IndexExpr>& by) {
  for (auto* list : {&i.index, &i.index_b})
    for (IndexExpr& e : *list) e = e.substitute(by);
  for (IndexExpr* e : {&i.slot, &i.slot_b, &i.parity, &i.lower, &i.upper}) *e = e->substitute(by);
  i.cond = i.cond.substitute(by);
  for (Region& r : i.regions)
    for (Instr& inner : r.body) substitute(inner, by);
}

bool touches(const Instr& i, const std::string& buffer) {
  if (i.buffer == buffer || i.buffer_b == buffer) return true;
  return std::any_of(i.regions.begin(), i.regions.end(), [&](const Region& r) {
    return std::any_of(r.body.begin(), r.body.end(),
                       [&](const Instr& inner) { return touches(inner, buffer); });
  });
}

IndexExpr iterations(const Instr& loop) {
  return IndexExpr::floordiv(loop.upper - loop.lower + (loop.step - 1), loop.step);
}

}  // namespace nautilus::memory::lowering
