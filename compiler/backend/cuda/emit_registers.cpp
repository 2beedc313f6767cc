// Instructions on tiles in registers: element by element.
#include "compiler/backend/cuda/emitter.h"
#include "compiler/backend/cuda/scalar.h"

namespace nautilus::cuda {

void KernelEmitter::map(const Instr& i) {
  const int result = i.results[0];
  const Geometry& g = geometry(result);
  std::vector<std::vector<int>> tables;
  std::vector<Type> types;
  for (int v : i.operands) {
    tables.push_back(aligned(geometry(v), g));
    types.push_back(type(v).elem);
  }
  produce(result, type(result).elem, [&](const Pick& p) {
    std::vector<std::string> x;
    for (size_t n = 0; n < i.operands.size(); ++n)
      x.push_back(read(i.operands[n], p.through(tables[n])));
    return apply(i.op, x, types, type(result).elem, helpers_);
  });
}

void KernelEmitter::cast(const Instr& i) {
  const auto table = aligned(geometry(i.operands[0]), geometry(i.results[0]));
  const Type from = type(i.operands[0]).elem, to = type(i.results[0]).elem;
  if (from == to) return take(i.results[0], i.operands[0], table);
  produce(i.results[0], from, [&](const Pick& p) { return read(i.operands[0], p.through(table)); });
}

void KernelEmitter::mask(const Instr& i) {
  const int result = i.results[0];
  const Geometry& g = geometry(result);
  const auto a = aligned(geometry(i.operands[0]), g), b = aligned(geometry(i.operands[1]), g);
  const Atoms atoms = simplify(i.cond, g.axes);
  const bool never = atoms.never, always = !never && atoms.any.empty();
  const CoordinateTest t = ready(atoms, g.axes);
  produce_raw(result, [&](const Pick& p) {
    const std::string x = raw(i.operands[0], p.through(a)), y = raw(i.operands[1], p.through(b));
    if (always) return x;
    if (never) return y;
    const std::string c = t([&](const std::string& axis) { return coordinate(g, axis, p); });
    return (c.find("||") == std::string::npos && c.find("&&") == std::string::npos
                ? c
                : "(" + c + ")") +
           " ? " + x + " : " + y;
  });
}

void KernelEmitter::iota(const Instr& i) {
  const Geometry& g = geometry(i.results[0]);
  produce(i.results[0], Type::I32, [&](const Pick& p) {
    return element(i.index[0], g.axes,
                   [&](const std::string& axis) { return coordinate(g, axis, p); });
  });
}

// The lane holds its elements of the part already: another register of it.
void KernelEmitter::slice(const Instr& i) {
  const Geometry &from = geometry(i.operands[0]), &to = geometry(i.results[0]);
  std::map<std::vector<int64_t>, int> where;
  for (int r = 0; r < from.registers; ++r) where.emplace(from.point(r, from.axes), r);
  std::vector<int> table;
  for (int r = 0; r < to.registers; ++r) {
    std::vector<int64_t> at = to.point(r, from.axes);
    for (size_t n = 0; n < at.size(); ++n) at[n] += i.index[n].constant();
    const auto it = where.find(at);
    bool padding = false;
    for (size_t n = 0; n < at.size(); ++n)
      padding = padding || at[n] - i.index[n].constant() >= to.axes[n].extent;
    if (it == where.end() && !padding) return refuse(i, "elements of the part lie in other lanes");
    table.push_back(it == where.end() ? 0 : it->second);
  }
  take(i.results[0], i.operands[0], table);
}

void KernelEmitter::rename(const Instr& i) { copy(i.results[0], i.operands[0]); }

}  // namespace nautilus::cuda
