#include <algorithm>
#include <set>

#include "compiler/tile/ir.h"

namespace nautilus::tile {

const TensorDecl* find_tensor(const Module& m, const Kernel& k, const std::string& name) {
  for (const TensorDecl& t : k.shared)
    if (t.name == name) return &t;
  for (const TensorDecl& t : m.tensors)
    if (t.name == name) return &t;
  return nullptr;
}

namespace {

const TensorDecl* find_tensor(const Module* m, const Kernel& k, const std::string& name) {
  if (m) return tile::find_tensor(*m, k, name);
  for (const TensorDecl& t : k.shared)
    if (t.name == name) return &t;
  return nullptr;
}

// Gathers become one operand a gathered dimension, in order of the dimensions; the index of those
// is 0.
void canonical_gathers(Instr& i) {
  const size_t first = i.code == Code::Store ? 1 : 0;
  if (std::none_of(i.gather.begin(), i.gather.end(), [](int g) { return g >= 0; })) {
    i.gather.clear();
    return;
  }
  i.gather.resize(i.index.size(), -1);
  std::vector<ValueId> operands(i.operands.begin(),
                                i.operands.begin() + long(std::min(first, i.operands.size())));
  for (size_t d = 0; d < i.gather.size(); ++d) {
    int g = i.gather[d];
    if (g < 0) {
      i.gather[d] = -1;
    } else if (size_t(g) < i.operands.size()) {
      i.gather[d] = int(operands.size());
      operands.push_back(i.operands[size_t(g)]);
      i.index[d] = IndexExpr(0);
    }
  }
  i.operands = std::move(operands);
}

// Axes that an instruction's text names but none of its operands has.
std::vector<Axis> missing_axes(const Kernel& k, const Instr& i,
                               const std::map<std::string, int64_t>& extents) {
  std::set<std::string> wanted;
  std::vector<std::string> vars;
  if (i.code == Code::Reduce) wanted.insert(i.axes.begin(), i.axes.end());
  for (size_t d = 0; d < i.index.size(); ++d)
    if (!(d < i.gather.size() && i.gather[d] >= 0)) i.index[d].collect_vars(vars);
  for (const auto& conj : i.cond.any)
    for (const auto& a : conj) a.expr.collect_vars(vars);
  wanted.insert(vars.begin(), vars.end());
  for (const Axis& a : i.span) wanted.erase(a.name);
  for (ValueId v : i.operands)
    if (auto t = k.types.find(v); t != k.types.end())
      for (const Axis& a : t->second.axes) wanted.erase(a.name);
  std::vector<Axis> out = i.span;
  for (const std::string& w : wanted)
    if (auto e = extents.find(w); e != extents.end()) out.push_back({w, e->second});
  std::sort(out.begin(), out.end(), [](const Axis& a, const Axis& b) { return a.name < b.name; });
  return out;
}

}  // namespace

ValueId Builder::fresh(TileType t) {
  ValueId v = k_->next_value++;
  k_->types[v] = std::move(t);
  return v;
}

ValueId Builder::emit(Instr i) {
  Type elem = Type::F32;
  if (const TensorDecl* t = i.code == Code::Load ? find_tensor(module, *k_, i.tensor) : nullptr)
    elem = t->type;
  return emit(std::move(i), elem);
}

ValueId Builder::emit(Instr i, Type elem) {
  if (i.origin.empty()) i.origin = origin;
  if (i.node < 0) i.node = node;
  if (i.code == Code::Load || i.code == Code::Store) canonical_gathers(i);
  if (i.code == Code::Store || i.code == Code::Reduce) i.span = missing_axes(*k_, i, axis_extents);
  if (i.code == Code::Store && !i.operands.empty())
    if (const TensorDecl* t = find_tensor(module, *k_, i.tensor);
        t && k_->types.count(i.operands[0]))
      i.operands[0] = cast(i.operands[0], t->type);
  if (i.results.empty()) {
    auto types = infer_types(*k_, i, axis_extents, elem);
    if (types) {
      for (TileType& t : *types) i.results.push_back(fresh(std::move(t)));
    } else if (i.code != Code::Store && i.code != Code::Barrier && i.code != Code::For &&
               i.code != Code::If) {
      i.results.push_back(fresh({elem, {}}));
    }
  }
  ValueId first = i.results.empty() ? -1 : i.results[0];
  at_->body.push_back(std::move(i));
  return first;
}

ValueId Builder::constant(double v, Type t) {
  Instr i;
  i.code = Code::Const;
  i.value = v;
  return emit(std::move(i), t);
}

ValueId Builder::map(nautilus::Op op, std::vector<ValueId> args) {
  Instr i;
  i.code = Code::Map;
  i.op = op;
  i.operands = std::move(args);
  return emit(std::move(i));
}

// Nothing is emitted when the value has that type already.
ValueId Builder::cast(ValueId a, Type t) {
  if (auto it = k_->types.find(a); it != k_->types.end() && it->second.elem == t) return a;
  Instr i;
  i.code = Code::Cast;
  i.operands = {a};
  return emit(std::move(i), t);
}

ValueId Builder::reduce(poly::ReduceOp op, ValueId a, std::vector<std::string> axes) {
  Instr i;
  i.code = Code::Reduce;
  i.reduce = op;
  i.operands = {a};
  i.axes = std::move(axes);
  return emit(std::move(i));
}

ValueId Builder::dot(ValueId a, ValueId b, std::vector<std::string> axes, Type acc) {
  Instr i;
  i.code = Code::Dot;
  i.operands = {a, b};
  i.axes = std::move(axes);
  return emit(std::move(i), acc);
}

ValueId Builder::mask(Cond c, ValueId a, ValueId b) {
  Instr i;
  i.code = Code::Mask;
  i.cond = std::move(c);
  i.operands = {a, b};
  return emit(std::move(i));
}

ValueId Builder::rename(ValueId a, std::vector<std::pair<std::string, std::string>> r) {
  Instr i;
  i.code = Code::Rename;
  i.operands = {a};
  i.renames = std::move(r);
  return emit(std::move(i));
}

}  // namespace nautilus::tile
