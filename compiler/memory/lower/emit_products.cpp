// Products: on the matrix unit part by part of the contracted axes, or by the lanes' multiply-adds.
#include <algorithm>

#include "compiler/memory/f2.h"
#include "compiler/memory/lower/emit.h"

namespace nautilus::memory::lowering {

namespace {
constexpr int64_t kKept = 64;  // registers a thread of a factor kept over a loop
}

void Emitter::product(const tile::Instr& dot, TileId result, TileId onto) {
  if (auto p = l_.products.find(dot.results[0]); p != l_.products.end())
    return p->second.warpgroup() ? warpgroup_product(p->second, result, onto)
                                 : matrix_product(p->second, dot, result, onto);
  lane_product(dot, result, onto);
}

// A factor in the narrow type: itself, or two parts that sum to an f32 value.
std::vector<ValueId> Emitter::factors(ValueId v, Type narrow, bool split) {
  if (!split) return {v};
  const ValueId high = b_->cast(v, narrow);
  const ValueId rest = b_->map(nautilus::Op::Sub, {v, b_->cast(high, Type::F32)});
  return {high, b_->cast(rest, narrow)};
}

void Emitter::matrix_product(const Product& p, const tile::Instr& dot, TileId result, TileId onto) {
  const FragmentType c{Type::F32, type(result).axes, p.c};
  ValueId sum = onto >= 0 ? get_as(onto, c) : b_->constant(0, c);
  const Axis main = p.axes.k[0];

  struct Side {
    TileId v;
    const Placement &whole, &part;
    bool split;
    std::vector<ValueId> registers;  // whole, in the narrow type
    std::vector<std::string>
        buffers;  // whole; of each part of a split factor if it was split before
  };
  Side sides[2] = {{p.first, p.a, p.a_part, p.split_first, {}, {}},
                   {p.second, p.b, p.b_part, p.split_second, {}, {}}};
  for (Side& s : sides) {
    const FragmentType t = fragment(s.v, s.whole);
    bool registers = p.axes.k.size() == 1 && registers_reach(s.v, s.whole);
    if (staged_.count(s.v) && p.axes.k.size() == 1) {  // kept over the loop
      const auto b = known_buffer(s.v);
      registers = b && b->second + 1 < levels_.size() && &s == &sides[0] &&
                  s.whole.registers() * type_bytes(t.elem) / 4 <= kKept;
    }
    if (registers)
      s.registers = factors(get(s.v, s.whole), p.narrow, s.split);
    else if (s.split && !known_buffer(s.v))
      for (ValueId v : factors(get(s.v, fragment(s.v).place), p.narrow, true))
        s.buffers.push_back(trip(s.v, v));
    else
      s.buffers = {in_shared(s.v)};
  }
  if (error_) return;

  // One step: `depth` terms along the first contracted axis from `start`, one of each other.
  auto part = [&](Side& s, const IndexExpr& start, const std::map<std::string, IndexExpr>& at) {
    FragmentType t = fragment(s.v, s.part);
    std::vector<IndexExpr> index;
    std::vector<Axis> axes;
    for (const Axis& a : t.axes) {
      if (a.name == main.name) {
        index.push_back(IndexExpr::var(a.name) + start);
        axes.push_back({a.name, p.depth});
      } else if (auto o = at.find(a.name); o != at.end()) {
        index.push_back(o->second);
      } else {
        index.push_back(IndexExpr::var(a.name));
        axes.push_back(a);
      }
    }
    t.axes = axes;
    if (!s.registers.empty()) {
      std::vector<ValueId> out;
      for (ValueId v : s.registers) {
        FragmentType st = t;
        st.elem = k_.types.at(v).elem;
        if (main.extent == p.depth) {
          out.push_back(v);
          continue;
        }
        Instr o;
        o.code = Code::Slice;
        o.operands = {v};
        for (const Axis& a : axes) o.index.push_back(a.name == main.name ? start : IndexExpr(0));
        out.push_back(b_->emit(std::move(o), st));
      }
      return out;
    }
    if (s.buffers.size() > 1) t.elem = p.narrow;
    std::vector<ValueId> out;
    for (const std::string& b : s.buffers) out.push_back(load_buffer(b, index, t, true));
    return out.size() > 1 ? out : factors(out[0], p.narrow, s.split);
  };
  auto step = [&](ValueId acc, const IndexExpr& start, const std::map<std::string, IndexExpr>& at) {
    const auto a = part(sides[0], start, at), b = part(sides[1], start, at);
    for (size_t x = 0; x < a.size(); ++x)
      for (size_t y = 0; y < b.size(); ++y)
        if (x + y < 2) acc = b_->mma(p.shape, acc, a[x], b[y], {main.name});
    return acc;
  };

  const int64_t steps = main.extent / p.depth;
  int64_t all = steps;
  for (size_t n = 1; n < p.axes.k.size(); ++n) all *= p.axes.k[n].extent;
  const bool in_registers = !sides[0].registers.empty() || !sides[1].registers.empty();
  const bool roll = all > 8 && !in_registers;
  std::map<std::string, IndexExpr> at;
  std::function<ValueId(size_t, ValueId)> nest = [&](size_t n, ValueId acc) -> ValueId {
    if (n == p.axes.k.size()) {
      if (!roll || steps == 1) {
        for (int64_t s = 0; s < steps; ++s) acc = step(acc, IndexExpr(s * p.depth), at);
        return acc;
      }
      const std::string iv = fresh(main.name + "_part");
      uniform_[iv] = p.depth;
      acc = b_->loop(iv, 0, main.extent, p.depth, {acc},
                     [&](Builder& b, const std::vector<ValueId>& v) {
                       Builder* outer = b_;
                       b_ = &b;
                       const ValueId next = step(v[0], IndexExpr::var(iv), at);
                       b_ = outer;
                       return std::vector<ValueId>{next};
                     })[0];
      uniform_.erase(iv);
      return acc;
    }
    const Axis& a = p.axes.k[n];
    if (!roll) {
      for (int64_t x = 0; x < a.extent; ++x) {
        at[a.name] = IndexExpr(x);
        acc = nest(n + 1, acc);
      }
      return acc;
    }
    const std::string iv = fresh(a.name + "_at");
    uniform_[iv] = 1;
    at[a.name] = IndexExpr::var(iv);
    acc = b_->loop(iv, 0, a.extent, 1, {acc}, [&](Builder& b, const std::vector<ValueId>& v) {
      Builder* outer = b_;
      b_ = &b;
      const ValueId next = nest(n + 1, v[0]);
      b_ = outer;
      return std::vector<ValueId>{next};
    })[0];
    uniform_.erase(iv);
    return acc;
  };
  sum = nest(1, sum);
  (void)dot;
  define(result, sum);
}

// The second factor in shared memory, the first there too if it is loaded, else in registers. Where
// its result is waited for is decided later.
void Emitter::warpgroup_product(const Product& p, TileId result, TileId onto) {
  const FragmentType c{Type::F32, type(result).axes, p.c};
  ValueId sum = onto >= 0 ? get_as(onto, c) : b_->constant(0, c);
  auto shared = [&](TileId v) {
    Builder::SharedTile t{in_shared(v), 0, {}};
    for (const Axis& a : type(v).axes) t.index.push_back(IndexExpr::var(a.name));
    return t;
  };
  std::vector<ValueId> first;
  if (!staged_.count(p.first)) first = factors(get(p.first, p.a), p.narrow, p.split_first);
  if (error_) return;
  b_->plain(Code::MmaFence);
  if (first.empty()) sum = b_->wgmma(p.shape, sum, shared(p.first), shared(p.second), p.axes.k);
  for (ValueId v : first) sum = b_->wgmma(p.shape, sum, v, shared(p.second), p.axes.k);
  b_->plain(Code::MmaCommit);
  define(result, sum);
}

// Both factors in shared memory; a loop over the contracted axes takes a row and a column at a
// time.
void Emitter::lane_product(const tile::Instr& dot, TileId result, TileId onto) {
  auto place = l_.place.find(dot.results[0]);
  const FragmentType c{type(result).elem, type(result).axes,
                       place == l_.place.end() ? Placement{} : place->second};
  ValueId sum = onto >= 0 ? get_as(onto, c) : b_->constant(0, c);
  std::string buffers[2];
  for (size_t n = 0; n < 2; ++n) buffers[n] = in_shared(dot.operands[n]);
  if (error_) return;
  std::map<std::string, IndexExpr> at;
  auto term = [&](size_t n) {
    FragmentType t = fragment(dot.operands[n], Placement{});
    std::vector<IndexExpr> index;
    std::vector<Axis> axes;
    for (const Axis& a : t.axes) {
      auto o = at.find(a.name);
      index.push_back(o == at.end() ? IndexExpr::var(a.name) : o->second);
      if (o == at.end()) axes.push_back(a);
    }
    t.axes = axes;
    t.place = axes.empty() ? Placement{} : without(c.place, missing(c.axes, axes));
    return b_->cast(load_buffer(buffers[n], std::move(index), t, false), c.elem);
  };
  const std::vector<Axis> k = dot_axes(t_, dot).k;
  std::function<ValueId(size_t, ValueId)> nest = [&](size_t n, ValueId acc) -> ValueId {
    if (n == k.size()) {
      Instr mul;
      mul.code = Code::Map;
      mul.op = nautilus::Op::Mul;
      mul.operands = {term(0), term(1)};
      const ValueId product = b_->emit(std::move(mul), c);
      return b_->map(nautilus::Op::Add, {acc, product});
    }
    const std::string iv = fresh(k[n].name + "_at");
    uniform_[iv] = 1;
    at[k[n].name] = IndexExpr::var(iv);
    acc = b_->loop(iv, 0, k[n].extent, 1, {acc}, [&](Builder& b, const std::vector<ValueId>& v) {
      Builder* outer = b_;
      b_ = &b;
      const ValueId next = nest(n + 1, v[0]);
      b_ = outer;
      return std::vector<ValueId>{next};
    })[0];
    uniform_.erase(iv);
    return acc;
  };
  define(result, nest(0, sum));
}

}  // namespace nautilus::memory::lowering
