// Small rewritings of the tile program, instruction by instruction.
#include "compiler/memory/lower/tiles.h"

#include <algorithm>

#include "compiler/memory/f2.h"

namespace nautilus::memory::lowering {

using tile::TileType;
using TileCode = tile::Code;

bool has_axis(const std::vector<Axis>& axes, const std::string& name) {
  return std::any_of(axes.begin(), axes.end(), [&](const Axis& a) { return a.name == name; });
}

double identity_of(const tile::Instr& reduce) {
  poly::Reduction r;
  r.op = reduce.reduce;
  r.identity = reduce.identity;
  return poly::identity_value(r);
}

namespace {

void count(const tile::Region& r, std::map<TileId, int>& uses) {
  for (const tile::Instr& i : r.body) {
    for (TileId v : i.operands) ++uses[v];
    for (const tile::Region& inner : i.regions) count(inner, uses);
  }
  for (TileId v : r.yields) ++uses[v];
}

// Walks a kernel and appends what takes each instruction's place; values may become others.
class Rewriting {
 public:
  explicit Rewriting(const tile::Kernel& k) : k_(k) {}
  virtual ~Rewriting() = default;
  tile::Kernel run() {
    k_.body = region(k_.body);
    return std::move(k_);
  }

 protected:
  tile::Kernel k_;
  // The operands of `i` are already what they became, its regions too.
  virtual void instr(tile::Instr i, tile::Region& out) = 0;
  virtual void entering(tile::Region&) {}  // before the arguments' users

  void becomes(TileId v, TileId other) { now_[v] = other; }
  TileId now(TileId v) const {
    auto it = now_.find(v);
    return it == now_.end() ? v : it->second;
  }
  const TileType& type(TileId v) const { return k_.types.at(v); }
  tile::Builder at(tile::Region& out, const tile::Instr& like) {
    tile::Builder b(k_, out);
    b.origin = like.origin;
    b.node = like.node;
    return b;
  }

 private:
  std::map<TileId, TileId> now_;
  tile::Region region(const tile::Region& r) {
    tile::Region out;
    out.args = r.args;
    for (tile::Instr i : r.body) {
      for (TileId& v : i.operands) v = now(v);
      for (tile::Region& inner : i.regions) inner = region(inner);
      instr(std::move(i), out);
    }
    for (TileId v : r.yields) out.yields.push_back(now(v));
    return out;
  }
};

// --- unit axes
// ------------------------------------------------------------------------------------
class UnitAxes : public Rewriting {
 public:
  explicit UnitAxes(const tile::Kernel& k) : Rewriting(k), old_(k.types) {
    for (auto& [v, t] : k_.types)
      std::erase_if(t.axes, [](const Axis& a) { return a.extent == 1; });
  }

 private:
  const std::map<TileId, TileType> old_;

  std::vector<Axis> lanes(const tile::Instr& i) const {
    std::vector<Axis> out = i.span;
    for (const std::vector<TileId>* ids : {&i.operands, &i.results})
      for (TileId v : *ids)
        if (auto it = old_.find(v); it != old_.end())
          out.insert(out.end(), it->second.axes.begin(), it->second.axes.end());
    return out;
  }
  void instr(tile::Instr i, tile::Region& out) override {
    if (i.code == TileCode::For || i.code == TileCode::If) {
      out.body.push_back(std::move(i));
      return;
    }
    std::set<std::string> unit;
    for (const Axis& a : lanes(i))
      if (a.extent == 1) unit.insert(a.name);
    for (const Axis& a : lanes(i))
      if (a.extent != 1) unit.erase(a.name);
    std::map<std::string, IndexExpr> zero;
    for (const std::string& a : unit) zero.emplace(a, IndexExpr(0));
    for (IndexExpr& e : i.index) e = e.substitute(zero);
    i.cond = i.cond.substitute(zero);
    std::erase_if(i.span, [](const Axis& a) { return a.extent == 1; });
    auto gone = [&](const std::string& a) { return unit.count(a) > 0; };
    if (i.code == TileCode::Rename)
      std::erase_if(i.renames, [&](const auto& r) { return gone(r.first); });
    if (i.code == TileCode::Reduce || i.code == TileCode::Dot)
      std::erase_if(i.axes, [&](const std::string& a) { return gone(a); });
    if (i.code == TileCode::Rename && i.renames.empty())
      return becomes(i.results[0], i.operands[0]);
    if ((i.code == TileCode::Reduce || i.code == TileCode::Dot) && i.axes.empty())
      return one(i, out);
    out.body.push_back(std::move(i));
  }
  // A reduction of one term, a product of one.
  void one(const tile::Instr& i, tile::Region& out) {
    tile::Builder b = at(out, i);
    const Type elem = type(i.results[0]).elem;
    TileId v = i.operands[0];
    if (i.code == TileCode::Dot)
      v = b.map(nautilus::Op::Mul, {b.cast(i.operands[0], elem), b.cast(i.operands[1], elem)});
    becomes(i.results[0], b.cast(v, elem));
  }
};

// --- renames
// --------------------------------------------------------------------------------------
void stored_tensors(const tile::Region& r, std::set<std::string>& out) {
  for (const tile::Instr& i : r.body) {
    if (i.code == TileCode::Store) out.insert(i.tensor);
    for (const tile::Region& inner : i.regions) stored_tensors(inner, out);
  }
}

class Renames : public Rewriting {
 public:
  explicit Renames(const tile::Kernel& k) : Rewriting(k) { stored_tensors(k.body, stored_); }

 private:
  std::set<std::string> stored_;
  std::map<TileId, tile::Instr> loads_;

  void instr(tile::Instr i, tile::Region& out) override {
    if (i.code == TileCode::Load && i.operands.empty() && !stored_.count(i.tensor))
      loads_[i.results[0]] = i;
    auto load = i.code == TileCode::Rename ? loads_.find(i.operands[0]) : loads_.end();
    if (load == loads_.end()) {
      out.body.push_back(std::move(i));
      return;
    }
    tile::Instr l = load->second;
    std::map<std::string, IndexExpr> names;
    for (const auto& [from, to] : i.renames) names.emplace(from, IndexExpr::var(to));
    for (IndexExpr& e : l.index) e = e.substitute(names);
    l.cond = l.cond.substitute(names);
    l.results = i.results;
    loads_[i.results[0]] = l;
    out.body.push_back(std::move(l));
  }
};

// --- products without a matrix instruction
// --------------------------------------------------------
class SmallProducts : public Rewriting {
 public:
  SmallProducts(const tile::Kernel& k, const TileRules& rules) : Rewriting(k), rules_(rules) {}

 private:
  const TileRules& rules_;

  void instr(tile::Instr i, tile::Region& out) override {
    if (i.code != TileCode::Dot || matrix_shape(k_, i, rules_.tf32)) {
      out.body.push_back(std::move(i));
      return;
    }
    const DotAxes axes = dot_axes(k_, i);
    int64_t terms = 1;
    for (const auto* part : {&axes.m, &axes.n, &axes.k, &axes.batch})
      for (const Axis& a : *part) terms *= a.extent;
    const bool grows =
        terms > std::max(tile::lanes(type(i.operands[0])), tile::lanes(type(i.operands[1])));
    if (grows && terms > rules_.lanes) {
      out.body.push_back(std::move(i));
      return;
    }
    tile::Builder b = at(out, i);
    const Type elem = type(i.results[0]).elem;
    const TileId product =
        b.map(nautilus::Op::Mul, {b.cast(i.operands[0], elem), b.cast(i.operands[1], elem)});
    tile::Instr sum;
    sum.code = TileCode::Reduce;
    sum.operands = {product};
    sum.axes = i.axes;
    sum.results = i.results;
    b.emit(std::move(sum));
  }
};

// --- padding
// --------------------------------------------------------------------------------------
using Key = std::pair<std::string, int64_t>;

void find_padding(const tile::Kernel& k, const tile::Region& r, const TileRules& rules,
                  std::map<Key, int64_t>& out) {
  for (const tile::Instr& i : r.body) {
    for (const tile::Region& inner : i.regions) find_padding(k, inner, rules, out);
    const auto shape = i.code == TileCode::Dot ? matrix_shape(k, i, rules.tf32) : std::nullopt;
    if (!shape) continue;
    const Axis main = dot_axes(k, i).k[0];
    const int64_t step = shape_size(*shape).k;
    auto [it, fresh] = out.emplace(Key(main.name, main.extent), main.extent);
    it->second = std::max(it->second, (main.extent + step - 1) / step * step);
  }
}

Cond below(const std::string& axis, int64_t extent) {
  return Cond{{{Cond::Atom{IndexExpr(extent - 1) - IndexExpr::var(axis), false}}}};
}
Cond both(const Cond& a, const Cond& b) {
  Cond out;
  for (const auto& x : a.any)
    for (const auto& y : b.any) {
      Cond::Conj c = x;
      c.insert(c.end(), y.begin(), y.end());
      out.any.push_back(std::move(c));
    }
  return out;
}

class Padding : public Rewriting {
 public:
  Padding(const tile::Kernel& k, std::map<Key, int64_t> padded)
      : Rewriting(k), padded_(std::move(padded)), old_(k.types) {
    for (auto& [v, t] : k_.types)
      for (Axis& a : t.axes) a.extent = extent(a);
  }

 private:
  const std::map<Key, int64_t> padded_;
  std::map<TileId, TileType> old_;
  std::set<TileId> zero_filled_;

  int64_t extent(const Axis& a) const {
    auto it = padded_.find({a.name, a.extent});
    return it == padded_.end() ? a.extent : it->second;
  }
  std::vector<Axis> grown(const std::vector<Axis>& axes) const {
    std::vector<Axis> out;
    for (const Axis& a : axes)
      if (extent(a) != a.extent) out.push_back(a);
    return out;
  }
  const std::vector<Axis>& old_axes(TileId v) const {
    static const std::vector<Axis> kNone;
    auto it = old_.find(v);
    return it == old_.end() ? kNone : it->second.axes;
  }
  TileId cut(TileId v, const std::vector<std::string>& axes, double fill, tile::Builder& b) {
    Cond c = Cond::always();
    for (const Axis& a : grown(old_axes(v)))
      if (std::find(axes.begin(), axes.end(), a.name) != axes.end())
        c = both(c, below(a.name, a.extent));
    if (c.is_always()) return v;
    const TileId masked = b.mask(c, v, b.constant(fill, type(v).elem));
    old_[masked] = old_.at(v);
    return masked;
  }
  void instr(tile::Instr i, tile::Region& out) override {
    tile::Builder b = at(out, i);
    if (i.code == TileCode::Load) {
      for (const Axis& a : grown(old_axes(i.results[0])))
        i.cond = both(i.cond, below(a.name, a.extent));
      if (i.value == 0) zero_filled_.insert(i.results[0]);
    } else if (i.code == TileCode::Store) {
      std::map<std::string, Axis> axes;
      for (TileId v : i.operands)
        for (const Axis& a : grown(old_axes(v))) axes.emplace(a.name, a);
      for (const Axis& a : grown(i.span)) axes.emplace(a.name, a);
      for (const auto& [name, a] : axes) i.cond = both(i.cond, below(name, a.extent));
      for (Axis& a : i.span) a.extent = extent(a);
    } else if (i.code == TileCode::Reduce) {
      i.operands[0] = cut(i.operands[0], i.axes, identity_of(i), b);
    } else if (i.code == TileCode::Dot) {
      for (TileId& v : i.operands)
        if (!zero_filled_.count(v)) v = cut(v, i.axes, 0, b);
    }
    out.body.push_back(std::move(i));
  }
};

}  // namespace

std::map<TileId, int> use_counts(const tile::Kernel& k) {
  std::map<TileId, int> uses;
  count(k.body, uses);
  return uses;
}

// The longest contracted axis first (of equals one that the instruction's depth divides): it is
// the one that instructions run along.
DotAxes dot_axes(const tile::Kernel& k, const tile::Instr& dot) {
  DotAxes out;
  const auto &a = k.types.at(dot.operands[0]).axes, &b = k.types.at(dot.operands[1]).axes;
  auto contracted = [&](const Axis& x) {
    return std::find(dot.axes.begin(), dot.axes.end(), x.name) != dot.axes.end();
  };
  for (const Axis& x : a) {
    if (contracted(x))
      out.k.push_back(x);
    else
      (has_axis(b, x.name) ? out.batch : out.m).push_back(x);
  }
  for (const Axis& x : b)
    if (!contracted(x) && !has_axis(a, x.name)) out.n.push_back(x);
  std::stable_sort(out.k.begin(), out.k.end(), [](const Axis& x, const Axis& y) {
    const bool fx = x.extent % 16 == 0, fy = y.extent % 16 == 0;
    return fx != fy ? fx : x.extent > y.extent;
  });
  for (auto* part : {&out.m, &out.n})
    std::stable_sort(part->begin(), part->end(),
                     [](const Axis& x, const Axis& y) { return x.extent > y.extent; });
  return out;
}

std::optional<Shape> matrix_shape(const tile::Kernel& k, const tile::Instr& dot, bool tf32) {
  const Type a = k.types.at(dot.operands[0]).elem, b = k.types.at(dot.operands[1]).elem;
  if (k.types.at(dot.results[0]).elem != Type::F32) return std::nullopt;
  const DotAxes axes = dot_axes(k, dot);
  if (axes.m.empty() || axes.n.empty() || axes.k.empty() || !axes.batch.empty())
    return std::nullopt;
  auto in_both = [&](const Axis& x) {
    return has_axis(k.types.at(dot.operands[0]).axes, x.name) &&
           has_axis(k.types.at(dot.operands[1]).axes, x.name);
  };
  if (!std::all_of(axes.k.begin(), axes.k.end(), in_both)) return std::nullopt;
  auto narrow = [](Type t) { return t == Type::F16 || t == Type::BF16; };
  if (narrow(a) && narrow(b)) return a == b ? std::optional(Shape::M16N8K16) : std::nullopt;
  if ((narrow(a) && b == Type::F32) || (narrow(b) && a == Type::F32)) return Shape::M16N8K16;
  if (tf32 && a == Type::F32 && b == Type::F32) return Shape::M16N8K8;
  return std::nullopt;
}

tile::Kernel drop_unit_axes(const tile::Kernel& k) { return UnitAxes(k).run(); }
tile::Kernel fold_renames(const tile::Kernel& k) { return Renames(k).run(); }
tile::Kernel small_products(const tile::Kernel& k, const TileRules& rules) {
  return SmallProducts(k, rules).run();
}
tile::Kernel pad_contracted(const tile::Kernel& k, const TileRules& rules) {
  std::map<Key, int64_t> padded;
  find_padding(k, k.body, rules, padded);
  std::erase_if(padded, [](const auto& p) { return p.first.second == p.second; });
  return padded.empty() ? k : Padding(k, std::move(padded)).run();
}

}  // namespace nautilus::memory::lowering
