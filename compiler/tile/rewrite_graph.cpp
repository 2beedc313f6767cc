#include "compiler/tile/rewrite_graph.h"

#include <algorithm>
#include <cmath>

#include "compiler/tile/text.h"

namespace nautilus::tile::rw {

bool associative_commutative(nautilus::Op op) { return op == Op::Add || op == Op::Mul; }

namespace {

// Ops whose operands may be swapped without any change of bits.
bool commutes(nautilus::Op op) {
  return op == Op::Add || op == Op::Mul || op == Op::Eq || op == Op::Ne || op == Op::And ||
         op == Op::Or;
}

}  // namespace

double Graph::lanes(AxisMask m) const {
  double n = 1;
  for (size_t b = 0; m != 0; ++b, m >>= 1)
    if (m & 1) n *= double(axes_[b].extent);
  return n;
}

AxisMask Graph::axis(const std::string& name, int64_t extent) {
  for (size_t b = 0; b < axes_.size(); ++b)
    if (axes_[b].name == name && axes_[b].extent == extent) return AxisMask(1) << b;
  if (axes_.size() == 64) {
    too_many_axes_ = true;
    return 0;
  }
  axes_.push_back({name, extent});
  return AxisMask(1) << (axes_.size() - 1);
}

std::vector<std::pair<std::string, int64_t>> Graph::axis_list(AxisMask m) const {
  std::vector<std::pair<std::string, int64_t>> out;
  for (size_t b = 0; b < axes_.size(); ++b)
    if (m >> b & 1) out.emplace_back(axes_[b].name, axes_[b].extent);
  std::sort(out.begin(), out.end());
  return out;
}

const ENode* Graph::node_of(ClassId c, Kind k) const {
  for (const ENode& n : nodes(c))
    if (info(n).kind == k) return &n;
  return nullptr;
}
const ENode* Graph::node_of(ClassId c, nautilus::Op op) const {
  for (const ENode& n : nodes(c))
    if (info(n).kind == Kind::Map && info(n).op == op) return &n;
  return nullptr;
}

bool Graph::is_inside(int region, int ancestor) const {
  for (; region >= 0; region = regions[size_t(region)].parent)
    if (region == ancestor) return true;
  return false;
}

Place Graph::place_of(const ENode& n) const {
  const NodeInfo& i = info(n);
  Place p = i.place;
  if (i.kind == Kind::LoopResult || i.kind == Kind::IfResult) return p;
  for (ClassId c : n.children)
    if (p.before(at(c).place)) p = at(c).place;
  return p;
}

AxisMask Graph::axes_of(const ENode& n) const {
  const NodeInfo& i = info(n);
  AxisMask m = 0;
  for (ClassId c : n.children) m |= at(c).axes;
  switch (i.kind) {
    case Kind::Reduce:
    case Kind::Dot:
      return m & ~i.axes;
    case Kind::LoopResult:
      return i.axes;
    case Kind::Rename: {
      AxisMask out = m;
      for (auto [from, to] : i.renames) out &= ~from;
      for (auto [from, to] : i.renames)
        if (m & from) out |= to;
      return out;
    }
    default:
      return m | i.axes;
  }
}

Symbol Graph::symbol(const std::string& key, const NodeInfo& info) {
  auto [it, fresh] = keys_.emplace(key, Symbol(infos_.size()));
  if (fresh) infos_.push_back(info);
  return it->second;
}

bool Graph::join(ClassInfo& into, const ClassInfo& from) const {
  bool changed = false;
  if ((into.axes & from.axes) != into.axes) {
    into.axes &= from.axes;
    changed = true;
  }
  if (from.place.before(into.place)) {
    into.place = from.place;
    changed = true;
  }
  if (!into.constant && from.constant) {
    into.constant = from.constant;
    changed = true;
  }
  return changed;
}

// What a node says about its class.
void Graph::learn(ClassId c, const ENode& n) {
  ClassInfo i;
  i.elem = info(n).elem;
  i.axes = axes_of(n);
  i.place = place_of(n);
  if (info(n).kind == Kind::Const) i.constant = info(n).value;
  if (c < classes_.size()) {
    join(classes_[c], i);
    return;
  }
  if (has_hint) {
    i.origin = at(hint).origin;
    i.node = at(hint).node;
  }
  classes_.push_back(std::move(i));
}

ClassId Graph::add(Symbol s, std::vector<ClassId> children) {
  const NodeInfo& i = infos_[s];
  for (ClassId& c : children) c = find(c);
  if (i.kind == Kind::Map && commutes(i.op) && children.size() == 2 && children[1] < children[0])
    std::swap(children[0], children[1]);
  ENode n{s, std::move(children)};
  const ClassId c = eg.add(n);
  if (c >= classes_.size()) {
    learn(c, n);
    if (rule >= 0) made_by_.emplace_back(n, rule);
  }
  return c;
}

ClassId Graph::constant_class(double v, Type t) {
  NodeInfo i;
  i.kind = Kind::Const;
  i.elem = t;
  i.value = v;
  std::string key = "const " + std::string(type_name(t)) + " " + number_text(v);
  const size_t before = infos_.size();
  const ClassId c = add(symbol(key, i), {});
  if (infos_.size() > before) constants_.emplace_back(v, t, c);
  return c;
}

ClassId Graph::derived_constant(double v, Type t) {
  constexpr double kRounding = 1e-14;
  if (std::abs(v - 1) < kRounding) return constant_class(1, t);
  for (const auto& [u, type, c] : constants_)
    if (type == t && std::abs(u - v) < kRounding * std::abs(v)) return c;
  return constant_class(v, t);
}

ClassId Graph::map(nautilus::Op op, std::vector<ClassId> children) {
  std::vector<Type> types;
  for (ClassId c : children) types.push_back(at(c).elem);
  const Type elem = map_type(op, types);
  const int key = int(op) * 16 + int(elem);
  auto it = map_keys_.find(key);
  if (it == map_keys_.end()) {
    NodeInfo i;
    i.kind = Kind::Map;
    i.op = op;
    i.elem = elem;
    it = map_keys_
             .emplace(
                 key,
                 symbol("map " + std::string(op_name(op)) + " " + std::string(type_name(elem)), i))
             .first;
  }
  return add(it->second, std::move(children));
}

ClassId Graph::fma(int form, ClassId a, ClassId b, ClassId c) {
  NodeInfo i;
  i.kind = Kind::Fma;
  i.form = form;
  i.elem = map_type(Op::Add, {map_type(Op::Mul, {at(a).elem, at(b).elem}), at(c).elem});
  return add(symbol("fma " + std::to_string(form) + " " + std::string(type_name(i.elem)), i),
             {a, b, c});
}

ClassId Graph::cast(ClassId a, Type t) {
  if (at(a).elem == t) return a;
  NodeInfo i;
  i.kind = Kind::Cast;
  i.elem = t;
  return add(symbol("cast " + std::string(type_name(t)), i), {a});
}

// What tells one variable-dependent text from another: its axes, and the loop whose variable it
// names (loops in sequence may use the same name).
std::string Graph::scope_key(const NodeInfo& i) {
  return " axes " + std::to_string(i.axes) + " at " + std::to_string(i.place.region);
}

ClassId Graph::mask(const NodeInfo& i, ClassId a, ClassId b) {
  return add(symbol("mask " + to_string(i.proto->cond) + " " + std::string(type_name(i.elem)) +
                        scope_key(i),
                    i),
             {a, b});
}

ClassId Graph::mask_like(const ENode& mask, ClassId a, ClassId b) {
  NodeInfo i = info(mask);
  i.elem = at(a).elem;
  return this->mask(i, a, b);
}

ClassId Graph::dot(AxisMask axes, Type elem, ClassId a, ClassId b) {
  NodeInfo i;
  i.kind = Kind::Dot;
  i.elem = elem;
  i.axes = axes;
  return add(symbol("dot " + std::to_string(axes) + " " + std::string(type_name(elem)), i), {a, b});
}

ClassId Graph::reduce(poly::ReduceOp op, AxisMask axes, Type elem, ClassId a) {
  static const std::map<poly::ReduceOp, Instr> protos = [] {
    std::map<poly::ReduceOp, Instr> m;
    for (auto o : {poly::ReduceOp::Sum, poly::ReduceOp::Prod, poly::ReduceOp::Max,
                   poly::ReduceOp::Min, poly::ReduceOp::Any, poly::ReduceOp::All}) {
      m[o].code = Code::Reduce;
      m[o].reduce = o;
    }
    return m;
  }();
  NodeInfo i;
  i.kind = Kind::Reduce;
  i.elem = elem;
  i.axes = axes;
  i.proto = &protos.at(op);
  return add(symbol("reduce " + std::string(poly::reduce_op_name(op)) + " " + std::to_string(axes) +
                        " " + std::string(type_name(elem)),
                    i),
             {a});
}

int Graph::open_carried(int loop, int of, Type elem, AxisMask axes) {
  LoopInfo& l = loops[size_t(loop)];
  const int slot = int(l.carried.size());
  NodeInfo i;
  i.kind = Kind::Arg;
  i.elem = elem;
  i.axes = axes;
  i.control = loop;
  i.slot = slot;
  i.place = {l.region, regions[size_t(l.region)].depth, 0};
  Carried c;
  c.of = of;
  c.type = TileType{elem, {}};
  for (auto& [name, extent] : axis_list(axes)) c.type.axes.push_back({name, extent});
  c.arg = add(symbol("arg " + std::to_string(infos_.size()), i), {});
  l.carried.push_back(std::move(c));
  return slot;
}

ClassId Graph::close_carried(int loop, int slot, ClassId init, ClassId yield) {
  LoopInfo& l = loops[size_t(loop)];
  Carried& c = l.carried[size_t(slot)];
  NodeInfo i;
  i.kind = Kind::LoopResult;
  i.elem = c.type.elem;
  for (const Axis& a : c.type.axes) i.axes |= axis(a.name, a.extent);
  i.control = loop;
  i.slot = slot;
  i.place = {l.parent, regions[size_t(l.parent)].depth, l.position + 1};
  c.init = init;
  c.yield = yield;
  c.result =
      add(symbol("loop " + std::to_string(loop) + " " + std::to_string(slot), i), {init, yield});
  return c.result;
}

bool Graph::merge(ClassId a, ClassId b) {
  a = find(a);
  b = find(b);
  if (a == b || classes_[a].elem != classes_[b].elem) return false;
  const ClassInfo x = classes_[a], y = classes_[b];
  eg.merge(a, b);
  const ClassId r = find(a);
  join(classes_[r], x);
  join(classes_[r], y);
  return true;
}

// Restores congruence, then the facts about classes to a fixed point.
void Graph::rebuild() {
  eg.rebuild();
  for (ClassId c = 0; c < classes_.size(); ++c)
    if (const ClassId r = find(c); r != c) join(classes_[r], classes_[c]);
  const auto all = eg.classes();
  for (bool changed = true; changed;) {
    changed = false;
    for (ClassId c : all)
      for (const ENode& n : eg.nodes(c)) {
        ClassInfo i;
        i.axes = axes_of(n);
        i.place = place_of(n);
        changed |= join(classes_[c], i);
      }
  }
}

}  // namespace nautilus::tile::rw
