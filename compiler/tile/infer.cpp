// Types of instructions from those of their operands.
#include <algorithm>
#include <limits>

#include "compiler/tile/ir.h"

namespace nautilus::tile {
namespace {

using Axes = std::map<std::string, int64_t>;

Refusal bad(const Instr& i, std::string why) {
  return Refusal{"type of " + std::string(code_name(i.code)), i.origin, std::move(why), ""};
}

// Adds the axes of t; false if one is there with another extent.
bool unite(Axes& into, const TileType& t) {
  for (const Axis& a : t.axes)
    if (auto [it, fresh] = into.emplace(a.name, a.extent); !fresh && it->second != a.extent)
      return false;
  return true;
}

// Adds the variables of e that are axes.
bool unite(Axes& into, const IndexExpr& e, const Axes& known) {
  std::vector<std::string> vars;
  e.collect_vars(vars);
  for (const std::string& v : vars)
    if (auto k = known.find(v); k != known.end())
      if (auto [it, fresh] = into.emplace(v, k->second); !fresh && it->second != k->second)
        return false;
  return true;
}
bool unite(Axes& into, const Cond& c, const Axes& known) {
  for (const auto& conj : c.any)
    for (const auto& a : conj)
      if (!unite(into, a.expr, known)) return false;
  return true;
}

TileType tile(Type elem, const Axes& axes) {
  TileType t{elem, {}};
  for (const auto& [name, extent] : axes) t.axes.push_back({name, extent});
  return t;
}

bool is_leaf(Op op) {
  return op == Op::Const || op == Op::Var || op == Op::Read || op == Op::Index || op == Op::Param;
}
Type float_type(Type t) { return t == Type::F64 ? Type::F64 : Type::F32; }
Type reduce_elem(poly::ReduceOp op, Type t) {
  if (op == poly::ReduceOp::Any || op == poly::ReduceOp::All) return Type::Bool;
  return arithmetic_type(t, t);
}

size_t operand_count(const Instr& i) {
  switch (i.code) {
    case Code::Map:
      return size_t(op_arity(i.op));
    case Code::Cast:
    case Code::Reduce:
    case Code::Rename:
      return 1;
    case Code::Mask:
    case Code::Dot:
      return 2;
    default:
      return 0;
  }
}

}  // namespace

// Element type of a scalar op, by the rules of Expr::make.
Type map_type(Op op, const std::vector<Type>& t) {
  switch (op) {
    case Op::Lt:
    case Op::Le:
    case Op::Eq:
    case Op::Ne:
    case Op::And:
    case Op::Or:
    case Op::Not:
      return Type::Bool;
    case Op::Select:
      return t[1] == t[2] ? t[1] : arithmetic_type(t[1], t[2]);
    case Op::Exp:
    case Op::Exp2:
    case Op::Log:
    case Op::Log2:
    case Op::Sqrt:
    case Op::Rsqrt:
    case Op::Recip:
    case Op::Tanh:
    case Op::Erf:
    case Op::Sigmoid:
      return float_type(t[0]);
    case Op::Div:
    case Op::Pow:
      return float_type(arithmetic_type(t[0], t[1]));
    default:
      break;
  }
  return t.size() == 2 ? arithmetic_type(t[0], t[1]) : arithmetic_type(t[0], t[0]);
}

int64_t lanes(const TileType& t) {
  int64_t n = 1;
  for (const Axis& a : t.axes)
    if (__builtin_mul_overflow(n, a.extent, &n)) return std::numeric_limits<int64_t>::max();
  return n;
}

Expected<std::vector<TileType>> infer_types(const Kernel& k, const Instr& i, const Axes& axes,
                                            Type elem) {
  std::vector<TileType> in;
  for (ValueId v : i.operands) {
    auto it = k.types.find(v);
    if (it == k.types.end()) return bad(i, "operand %" + std::to_string(v) + " is not defined");
    in.push_back(it->second);
  }
  const bool free_operands =
      i.code == Code::Load || i.code == Code::Store || i.code == Code::For || i.code == Code::If;
  if (!free_operands && in.size() != operand_count(i))
    return bad(
        i, std::to_string(in.size()) + " operands instead of " + std::to_string(operand_count(i)));
  Axes all;
  for (const TileType& t : in)
    if (!unite(all, t)) return bad(i, "operands have an axis of one name with different extents");
  auto one = [](TileType t) { return std::vector<TileType>{std::move(t)}; };
  switch (i.code) {
    case Code::Const:
      return one({elem, {}});
    case Code::Iota:
      if (i.index.size() != 1) return bad(i, "needs one index expression");
      if (!unite(all, i.index[0], axes)) return bad(i, "axis extents disagree");
      return one(tile(Type::I32, all));
    case Code::Load:
      for (size_t d = 0; d < i.index.size(); ++d)
        if (!(d < i.gather.size() && i.gather[d] >= 0) && !unite(all, i.index[d], axes))
          return bad(i, "axis extents disagree");
      if (!unite(all, i.cond, axes)) return bad(i, "axis extents disagree");
      return one(tile(elem, all));
    case Code::Store:
    case Code::Barrier:
      return std::vector<TileType>{};
    case Code::Map: {
      if (is_leaf(i.op) || i.op == Op::Cast)
        return bad(i, "not an operation on tiles: " + std::string(op_name(i.op)));
      std::vector<Type> t;
      for (const TileType& x : in) t.push_back(x.elem);
      return one(tile(map_type(i.op, t), all));
    }
    case Code::Cast:
      return one({elem, in[0].axes});
    case Code::Mask:
      if (in[0].elem != in[1].elem) return bad(i, "operands have different element types");
      if (!unite(all, i.cond, axes)) return bad(i, "axis extents disagree");
      return one(tile(in[0].elem, all));
    case Code::Reduce:
      for (const std::string& a : i.axes)
        if (!all.erase(a) &&
            std::none_of(i.span.begin(), i.span.end(), [&](const Axis& s) { return s.name == a; }))
          return bad(i, "operand has no axis " + a);
      return one(tile(reduce_elem(i.reduce, in[0].elem), all));
    case Code::Dot:
      for (const std::string& a : i.axes) {
        for (const TileType& t : in)
          if (std::none_of(t.axes.begin(), t.axes.end(),
                           [&](const Axis& x) { return x.name == a; }))
            return bad(i, "an operand has no axis " + a);
        if (!all.erase(a)) return bad(i, "axis " + a + " is named twice");
      }
      return one(tile(elem, all));
    case Code::Rename: {
      Axes out;
      for (const auto& [from, to] : i.renames)
        if (!all.count(from)) return bad(i, "operand has no axis " + from);
      for (const auto& [name, extent] : all) {
        std::string to = name;
        for (const auto& r : i.renames)
          if (r.first == name) to = r.second;
        if (!out.emplace(to, extent).second) return bad(i, "two axes would be named " + to);
      }
      return one(tile(in[0].elem, out));
    }
    case Code::For: {
      if (i.regions.size() != 1) return bad(i, "needs one region");
      std::vector<TileType> out;
      for (ValueId a : i.regions[0].args) {
        auto it = k.types.find(a);
        if (it == k.types.end()) return bad(i, "argument %" + std::to_string(a) + " has no type");
        out.push_back(it->second);
      }
      return out;
    }
    case Code::If: {
      if (i.regions.size() != 2 || i.regions[0].yields.size() != i.regions[1].yields.size())
        return bad(i, "needs two regions with equally many yields");
      std::vector<TileType> out;
      for (size_t n = 0; n < i.regions[0].yields.size(); ++n) {
        auto a = k.types.find(i.regions[0].yields[n]), b = k.types.find(i.regions[1].yields[n]);
        if (a == k.types.end() || b == k.types.end()) return bad(i, "a yield is not defined");
        if (a->second.elem != b->second.elem) return bad(i, "yields have different element types");
        Axes joined;
        if (!unite(joined, a->second) || !unite(joined, b->second))
          return bad(i, "yields have an axis of one name with different extents");
        out.push_back(tile(a->second.elem, joined));
      }
      return out;
    }
  }
  return bad(i, "unknown instruction");
}

}  // namespace nautilus::tile
