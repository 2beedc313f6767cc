// Passes on the tile program that look at a kernel as a whole, and the list of all of them.
#include <algorithm>
#include <functional>

#include "compiler/memory/lower/layouts.h"

namespace nautilus::memory::lowering {

using tile::TileType;
using TileCode = tile::Code;

namespace {

void each(tile::Region& r, const std::function<void(tile::Instr&)>& f) {
  for (tile::Instr& i : r.body) {
    f(i);
    for (tile::Region& inner : i.regions) each(inner, f);
  }
}

std::set<std::string> names_of(const tile::Kernel& k, const tile::Module& m) {
  std::set<std::string> out(m.sizes.begin(), m.sizes.end());
  for (const tile::GridDim& g : k.grid) out.insert(g.iv);
  for (const auto& [v, t] : k.types)
    for (const Axis& a : t.axes) out.insert(a.name);
  tile::Region body = k.body;
  each(body, [&](tile::Instr& i) {
    if (!i.iv.empty()) out.insert(i.iv);
  });
  return out;
}

// --- an axis in parts
// -----------------------------------------------------------------------------
class Splitting {
 public:
  Splitting(tile::Kernel& k, Axis axis, int64_t parts, std::string name)
      : k_(k), axis_(std::move(axis)), parts_(parts), name_(std::move(name)), old_(k.types) {}
  void run() {
    for (auto& [v, t] : k_.types) t.axes = split(t.axes);
    region(k_.body);
  }

 private:
  tile::Kernel& k_;
  const Axis axis_;
  const int64_t parts_;
  const std::string name_;
  const std::map<TileId, TileType> old_;

  std::vector<Axis> split(std::vector<Axis> axes) const {
    const auto it = std::find(axes.begin(), axes.end(), axis_);
    if (it == axes.end()) return axes;
    it->extent = axis_.extent / parts_;
    axes.push_back({name_, parts_});
    std::sort(axes.begin(), axes.end(),
              [](const Axis& a, const Axis& b) { return a.name < b.name; });
    return axes;
  }
  bool has(TileId v) const {
    auto it = old_.find(v);
    return it != old_.end() && std::find(it->second.axes.begin(), it->second.axes.end(), axis_) !=
                                   it->second.axes.end();
  }
  void region(tile::Region& r) {
    const std::map<std::string, IndexExpr> whole{
        {axis_.name, IndexExpr::var(name_) * (axis_.extent / parts_) + IndexExpr::var(axis_.name)}};
    std::vector<tile::Instr> out;
    for (tile::Instr& i : r.body) {
      for (tile::Region& inner : i.regions) region(inner);
      const bool spans = std::find(i.span.begin(), i.span.end(), axis_) != i.span.end();
      auto any = [&](const std::vector<TileId>& ids) {
        return std::any_of(ids.begin(), ids.end(), [&](TileId v) { return has(v); });
      };
      const bool touched = spans || any(i.operands) || any(i.results);
      i.span = split(i.span);
      if (touched && i.code != TileCode::For && i.code != TileCode::If) {
        for (IndexExpr& e : i.index) e = e.substitute(whole);
        i.cond = i.cond.substitute(whole);
        const bool gone = std::find(i.axes.begin(), i.axes.end(), axis_.name) != i.axes.end();
        if (gone && i.code == TileCode::Dot) i.axes.push_back(name_);
        if (gone && i.code == TileCode::Reduce) {
          tile::Instr parts = i;
          TileType t = k_.types.at(i.results[0]);
          t.axes.push_back({name_, parts_});
          std::sort(t.axes.begin(), t.axes.end(),
                    [](const Axis& a, const Axis& b) { return a.name < b.name; });
          const TileId part = k_.next_value++;
          k_.types[part] = std::move(t);
          i.results = {part};
          parts.operands = {part};
          parts.axes = {name_};
          parts.span.clear();
          out.push_back(std::move(i));
          out.push_back(std::move(parts));
          continue;
        }
      }
      out.push_back(std::move(i));
    }
    r.body = std::move(out);
  }
};

// --- what a block touches of a shared buffer
// -----------------------------------------------------
struct Bound {
  int64_t low = 0, high = 0;
};
using Bounds = std::map<std::string, Bound>;

std::optional<Bound> bound_of(const IndexExpr& e, const Bounds& known) {
  using Kind = IndexExpr::Kind;
  std::vector<Bound> in;
  if (e.kind() != Kind::Const && e.kind() != Kind::Var)
    for (const IndexExpr& a : e.args()) {
      const auto b = bound_of(a, known);
      if (!b) return std::nullopt;
      in.push_back(*b);
    }
  auto floor_div = [](int64_t a, int64_t d) { return a / d - (a % d < 0 ? 1 : 0); };
  switch (e.kind()) {
    case Kind::Const:
      return Bound{e.constant(), e.constant()};
    case Kind::Var: {
      auto it = known.find(e.name());
      return it == known.end() ? std::nullopt : std::optional(it->second);
    }
    case Kind::Add: {
      Bound s = in[0];
      for (size_t n = 1; n < in.size(); ++n) s.low += in[n].low, s.high += in[n].high;
      const int64_t c = e.constant();
      (void)c;
      return s;
    }
    case Kind::Mul:
      return e.constant() < 0 ? Bound{in[0].high * e.constant(), in[0].low * e.constant()}
                              : Bound{in[0].low * e.constant(), in[0].high * e.constant()};
    case Kind::FloorDiv:
      return Bound{floor_div(in[0].low, e.constant()), floor_div(in[0].high, e.constant())};
    case Kind::Mod:
      return Bound{0, e.constant() - 1};
    case Kind::Min:
      return Bound{std::min(in[0].low, in[1].low), std::min(in[0].high, in[1].high)};
    case Kind::Max:
      return Bound{std::max(in[0].low, in[1].low), std::max(in[0].high, in[1].high)};
  }
  return std::nullopt;
}

class Narrowing {
 public:
  explicit Narrowing(tile::Kernel k) : k_(std::move(k)) {
    for (const tile::GridDim& g : k_.grid) grid_.insert(g.iv);
  }
  tile::Kernel run() {
    for (tile::TensorDecl& t : k_.shared) {
      dims_.assign(t.extents.size(), {});
      for (size_t d = 0; d < t.extents.size(); ++d)
        if (t.extents[d].is_const()) dims_[d].extent = t.extents[d].constant();
      name_ = t.name;
      Bounds none;
      look(k_.body, none);
      for (size_t d = 0; d < t.extents.size(); ++d) {
        Dim& dim = dims_[d];
        if (!dim.same || !dim.base || dim.high < dim.low) continue;
        dim.change = true;
        t.extents[d] = IndexExpr(dim.high - dim.low + 1);
      }
      each(k_.body, [&](tile::Instr& i) {
        if (i.tensor != name_) return;
        for (size_t d = 0; d < i.index.size(); ++d)
          if (dims_[d].change) i.index[d] = i.index[d] - *dims_[d].base - dims_[d].low;
      });
    }
    return std::move(k_);
  }

 private:
  struct Dim {
    int64_t extent = 0;
    std::optional<IndexExpr> base;  // the same in all of the block
    bool same = true, change = false;
    int64_t low = INT64_MAX, high = INT64_MIN;
  };
  tile::Kernel k_;
  std::set<std::string> grid_;
  std::string name_;
  std::vector<Dim> dims_;

  // Terms over the grid alone.
  IndexExpr base_of(const IndexExpr& e) const {
    std::vector<std::string> vars;
    e.collect_vars(vars);
    const bool uniform = std::all_of(vars.begin(), vars.end(),
                                     [&](const std::string& v) { return grid_.count(v) > 0; });
    if (uniform && !vars.empty()) return e;
    if (e.kind() != IndexExpr::Kind::Add) return IndexExpr(0);
    IndexExpr sum(0);
    for (const IndexExpr& a : e.args()) {
      vars.clear();
      a.collect_vars(vars);
      if (!vars.empty() && std::all_of(vars.begin(), vars.end(),
                                       [&](const std::string& v) { return grid_.count(v) > 0; }))
        sum = sum + a;
    }
    return sum;
  }
  void look(const tile::Region& r, Bounds& bounds) {
    for (const tile::Instr& i : r.body) {
      if (i.tensor == name_ && (i.code == TileCode::Load || i.code == TileCode::Store))
        access(i, bounds);
      const Bounds before = bounds;
      if (i.code == TileCode::For) {
        const auto low = bound_of(i.lower, bounds), high = bound_of(i.upper, bounds);
        if (low && high) bounds[i.iv] = {low->low, std::max(low->low, high->high - 1)};
      }
      for (const tile::Region& inner : i.regions) look(inner, bounds);
      bounds = before;
    }
  }
  void access(const tile::Instr& i, const Bounds& loops) {
    Bounds bounds = loops;
    for (const auto* ids : {&i.operands, &i.results})
      for (TileId v : *ids)
        for (const Axis& a : k_.types.at(v).axes) bounds[a.name] = {0, a.extent - 1};
    for (const Axis& a : i.span) bounds[a.name] = {0, a.extent - 1};
    for (size_t d = 0; d < i.index.size(); ++d) {
      Dim& dim = dims_[d];
      const IndexExpr base = base_of(i.index[d]);
      if (!dim.base) dim.base = base;
      dim.same = dim.same && *dim.base == base && (i.gather.empty() || i.gather[d] < 0);
      const auto b = bound_of(i.index[d] - base, bounds);
      if (!b) {
        dim.same = false;
        continue;
      }
      dim.low = std::min(dim.low, b->low);
      dim.high = std::max(dim.high, b->high);
    }
  }
};

}  // namespace

std::optional<std::string> split_axis(tile::Kernel& k, const std::string& axis, int64_t parts,
                                      const TileRules& rules) {
  std::optional<Axis> found;
  bool ok = true;
  for (const auto& [v, t] : k.types)
    for (const Axis& a : t.axes)
      if (a.name == axis) {
        ok = ok && (!found || *found == a);
        found = a;
      }
  each(k.body, [&](tile::Instr& i) {
    for (const auto& [from, to] : i.renames) ok = ok && from != axis && to != axis;
  });
  if (!ok || !found || found->extent % parts) return std::nullopt;
  const std::set<std::string> taken = names_of(k, *rules.module);
  std::string name = axis + "_warp";
  for (int n = 0; taken.count(name); ++n) name = axis + "_warp_" + std::to_string(n);
  Splitting(k, *found, parts, name).run();
  return name;
}

tile::Kernel narrow_shared(const tile::Kernel& k) {
  return k.shared.empty() ? k : Narrowing(k).run();
}

tile::Kernel first_writes(const tile::Kernel& k, const tile::Module& m) {
  std::map<std::string, int> stores;
  auto count = [&](const tile::Kernel& of) {
    tile::Region body = of.body;
    each(body, [&](tile::Instr& i) {
      if (i.code == TileCode::Store) ++stores[i.tensor];
    });
  };
  for (const tile::Kernel& other : m.kernels)
    if (other.name != k.name) count(other);
  count(k);
  tile::Kernel out = k;
  const auto uses = use_counts(out);
  std::map<TileId, const tile::Instr*> loads;
  std::map<TileId, TileId> kept;  // select -> what it keeps
  std::set<TileId> any;
  each(out.body, [&](tile::Instr& i) {
    if (i.code == TileCode::Load) loads[i.results[0]] = &i;
    if (i.code == TileCode::Map && i.op == nautilus::Op::Select) kept[i.results[0]] = i.operands[2];
    if (i.code != TileCode::Store || stores[i.tensor] != 1) return;
    auto select = kept.find(i.operands[0]);
    auto load = select == kept.end() ? loads.end() : loads.find(select->second);
    if (load == loads.end() || load->second->tensor != i.tensor || uses.at(load->first) != 1)
      return;
    if (load->second->index == i.index) any.insert(load->first);
  });
  std::function<void(tile::Region&)> replace = [&](tile::Region& r) {
    for (tile::Instr& i : r.body) {
      for (tile::Region& inner : i.regions) replace(inner);
      if (i.code != TileCode::Load || !any.count(i.results[0])) continue;
      tile::Instr zero;
      zero.code = TileCode::Const;
      zero.results = i.results;
      zero.origin = i.origin;
      zero.node = i.node;
      out.types.at(i.results[0]).axes.clear();
      i = std::move(zero);
    }
  };
  if (!any.empty()) replace(out.body);
  return out;
}

namespace {

// Where a value is looked at, if all that look agree; nullopt: nobody has looked yet.
using Needs = std::map<TileId, std::optional<Cond>>;

void need(Needs& needs, TileId v, const Cond& c) {
  std::optional<Cond>& n = needs[v];
  n = !n || *n == c ? c : Cond::always();
}

void needs_of(const tile::Region& r, Needs& needs) {
  for (TileId v : r.yields) need(needs, v, Cond::always());
  for (size_t n = r.body.size(); n-- > 0;) {
    const tile::Instr& i = r.body[n];
    for (const tile::Region& inner : i.regions) needs_of(inner, needs);
    Cond c = Cond::always();
    if ((i.code == TileCode::Map || i.code == TileCode::Cast) && needs[i.results[0]])
      c = *needs[i.results[0]];
    if (i.code == TileCode::Mask) {
      need(needs, i.operands[0], i.cond);
      need(needs, i.operands[1], Cond::always());
      continue;
    }
    for (TileId v : i.operands) need(needs, v, c);
  }
}

bool names_known(const Cond& c, const std::vector<Axis>& axes, const std::set<std::string>& all) {
  std::vector<std::string> vars;
  for (const auto& conj : c.any)
    for (const auto& a : conj) a.expr.collect_vars(vars);
  return std::all_of(vars.begin(), vars.end(),
                     [&](const std::string& v) { return !all.count(v) || has_axis(axes, v); });
}

}  // namespace

tile::Kernel needed_loads(const tile::Kernel& k) {
  tile::Kernel out = k;
  Needs needs;
  needs_of(k.body, needs);
  std::set<std::string> written, axes;
  each(out.body, [&](tile::Instr& i) {
    if (i.code == TileCode::Store) written.insert(i.tensor);
  });
  for (const auto& [v, t] : k.types)
    for (const Axis& a : t.axes) axes.insert(a.name);
  each(out.body, [&](tile::Instr& i) {
    if (i.code != TileCode::Load || !written.count(i.tensor)) return;
    const auto& n = needs[i.results[0]];
    if (!n || n->is_always() || *n == i.cond ||
        !names_known(*n, k.types.at(i.results[0]).axes, axes))
      return;
    Cond both;
    for (const auto& x : i.cond.any)
      for (const auto& y : n->any) {
        both.any.push_back(x);
        both.any.back().insert(both.any.back().end(), y.begin(), y.end());
      }
    i.cond = std::move(both);
  });
  return out;
}

tile::Kernel prepared(const tile::Kernel& k, const TileRules& rules,
                      std::set<std::string>& spread) {
  tile::Kernel out = narrow_shared(needed_loads(first_writes(k, *rules.module)));
  out = fold_renames(drop_unit_axes(out));
  out = small_products(out, rules);
  out = drop_unit_axes(strip_mine(out, rules));
  for (int n = 0; n < 4; ++n) {  // loops have axes of their own
    const auto s = spread_axis(out, {rules.tf32}, spread);
    const auto name = s ? split_axis(out, s->axis, s->extent, rules) : std::nullopt;
    if (!name) break;
    spread.insert(*name);
  }
  return pad_contracted(out, rules);
}

}  // namespace nautilus::memory::lowering
