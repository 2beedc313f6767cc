// Long reductions and products as loops over pieces.
#include <algorithm>

#include "compiler/memory/checks.h"
#include "compiler/memory/lower/tiles.h"

namespace nautilus::memory::lowering {

using tile::TileType;
using TileCode = tile::Code;

namespace {

// What a reduction takes along one axis: instructions of the same region, all used by it alone.
struct Chain {
  std::set<size_t> instrs;  // positions in the region
  std::set<TileId> values;
  std::vector<TileId> loads;  // that others use too, or of outside: made again
  int64_t lanes = 1;          // of the largest tile
};

void all_names(const tile::Region& r, std::set<std::string>& out) {
  for (const tile::Instr& i : r.body) {
    if (!i.iv.empty()) out.insert(i.iv);
    for (const tile::Region& inner : i.regions) all_names(inner, out);
  }
}

bool writes(const tile::Instr& i, const std::set<std::string>& tensors) {
  if (i.code == TileCode::Barrier) return !tensors.empty();
  if (i.code == TileCode::Store && tensors.count(i.tensor)) return true;
  for (const tile::Region& r : i.regions)
    for (const tile::Instr& inner : r.body)
      if (writes(inner, tensors)) return true;
  return false;
}

class StripMining {
 public:
  StripMining(const tile::Kernel& k, const TileRules& rules) : k_(k), rules_(rules) {
    all_names(k.body, names_);
    for (const tile::GridDim& g : k.grid) names_.insert(g.iv);
    for (const std::string& s : rules.module->sizes) names_.insert(s);
    for (const auto& [v, t] : k.types)
      for (const Axis& a : t.axes) names_.insert(a.name);
    find_loads(k.body);
    for (const std::string& t : stored_)
      std::erase_if(loads_, [&](const auto& l) { return l.second.tensor == t; });
  }
  tile::Kernel run() {
    region(k_.body, nullptr);
    return std::move(k_);
  }

 private:
  tile::Kernel k_;
  const TileRules& rules_;
  std::set<std::string> names_;
  std::map<TileId, int> uses_;
  std::map<TileId, tile::Instr> loads_;  // that may be made again anywhere below
  std::set<std::string> stored_;

  void find_loads(const tile::Region& r) {
    for (const tile::Instr& i : r.body) {
      if (i.code == TileCode::Load && i.operands.empty()) loads_[i.results[0]] = i;
      if (i.code == TileCode::Store) stored_.insert(i.tensor);
      for (const tile::Region& inner : i.regions) find_loads(inner);
    }
  }

  // `around`: the loop whose body the region is.
  void region(tile::Region& r, tile::Instr* around) {
    for (tile::Instr& i : r.body)
      for (tile::Region& inner : i.regions) region(inner, i.code == TileCode::For ? &i : nullptr);
    for (size_t n = 0; n < r.body.size(); ++n) {
      const tile::Instr& i = r.body[n];
      if (i.code != TileCode::Reduce && i.code != TileCode::Dot) continue;
      if (i.reduce == poly::ReduceOp::User) continue;
      uses_ = use_counts(k_);
      for (const Axis& a : longest_first(i)) {
        const auto chain = chain_of(r, n, a);
        const int64_t piece = chain ? piece_of(i, a, *chain) : a.extent;
        if (piece >= a.extent) continue;
        if (around && shorten(*around, r, n, a, piece, *chain)) return;
        n = replace(r, n, a, piece, *chain);
        break;
      }
    }
  }

  std::vector<Axis> longest_first(const tile::Instr& i) const {
    std::vector<Axis> axes;
    for (const Axis& a : k_.types.at(i.operands[0]).axes)
      if (std::find(i.axes.begin(), i.axes.end(), a.name) != i.axes.end()) axes.push_back(a);
    std::stable_sort(axes.begin(), axes.end(),
                     [](const Axis& x, const Axis& y) { return x.extent > y.extent; });
    return axes;
  }

  // Everything with axis `a` that the reduction at `end` depends on, if it is made in this region
  // from loads, and nobody else looks at it.
  std::optional<Chain> chain_of(const tile::Region& r, size_t end, const Axis& a) const {
    Chain c;
    std::set<std::string> tensors;
    std::map<TileId, int> used;
    auto wants = [&](const tile::Instr& i) {
      for (TileId v : i.operands)
        if (has_axis(k_.types.at(v).axes, a.name)) c.values.insert(v), ++used[v];
    };
    wants(r.body[end]);
    for (size_t n = end; n-- > 0;) {
      const tile::Instr& i = r.body[n];
      const bool wanted = i.results.size() == 1 && c.values.count(i.results[0]);
      if (!wanted) continue;
      switch (i.code) {
        case TileCode::Load:
          tensors.insert(i.tensor);
          break;
        case TileCode::Iota:
        case TileCode::Map:
        case TileCode::Cast:
        case TileCode::Mask:
        case TileCode::Reduce:
        case TileCode::Dot:
          break;
        default:
          return std::nullopt;
      }
      if (uses_.at(i.results[0]) != used[i.results[0]]) {
        if (!loads_.count(i.results[0])) return std::nullopt;
        c.loads.push_back(i.results[0]);
        c.lanes = std::max(c.lanes, tile::lanes(k_.types.at(i.results[0])));
        continue;
      }
      if (!i.span.empty()) return std::nullopt;
      c.instrs.insert(n);
      c.lanes = std::max(c.lanes, tile::lanes(k_.types.at(i.results[0])));
      wants(i);
    }
    for (TileId v : c.values) {
      const bool here = std::any_of(c.instrs.begin(), c.instrs.end(),
                                    [&](size_t n) { return r.body[n].results[0] == v; });
      if (here || std::find(c.loads.begin(), c.loads.end(), v) != c.loads.end()) continue;
      if (!loads_.count(v)) return std::nullopt;
      c.loads.push_back(v);
      c.lanes = std::max(c.lanes, tile::lanes(k_.types.at(v)));
    }
    if (c.instrs.empty() && c.loads.empty()) return std::nullopt;
    for (size_t n = c.instrs.empty() ? end : *c.instrs.begin(); n < end; ++n)
      if (writes(r.body[n], tensors)) return std::nullopt;
    return c;
  }

  // How much of the axis at a time: all of it where that fits.
  int64_t piece_of(const tile::Instr& i, const Axis& a, const Chain& c) const {
    int64_t piece = a.extent;
    auto halve_while = [&](auto too_much) {
      while (piece > 1 && too_much(piece)) {
        int64_t p = 1;
        while (2 * p < piece) p *= 2;
        piece = p;
      }
    };
    if (i.code == TileCode::Dot) {
      const DotAxes axes = dot_axes(k_, i);
      const bool matrix = matrix_shape(k_, i, rules_.tf32).has_value();
      int64_t rows = 0;
      for (size_t n = 0; n < 2; ++n) {
        const TileType& t = k_.types.at(i.operands[n]);
        rows += tile::lanes(t) / a.extent * type_bytes(t.elem);
      }
      // What is loaded once for several products is better kept than loaded again.
      if (matrix && !c.loads.empty() && rows * a.extent <= 3 * rules_.staged_bytes) return piece;
      const int64_t least = matrix ? 64 : 32;
      halve_while([&](int64_t p) { return p > least && rows * p > rules_.staged_bytes / 2; });
      halve_while([&](int64_t p) { return p > 16 && rows * p > rules_.staged_bytes; });
      if (all_loads(i, c)) return piece;
      const int64_t per = std::max<int64_t>(1, c.lanes / a.extent);
      halve_while([&](int64_t p) { return p > 16 && per * p > rules_.lanes; });
      return piece;
    }
    const int64_t per = std::max<int64_t>(1, c.lanes / a.extent);
    halve_while([&](int64_t p) { return per * p > rules_.lanes; });
    return piece;
  }
  static bool all_loads(const tile::Instr&, const Chain& c) {
    return c.instrs.size() + c.loads.size() <= 2;
  }

  std::string fresh(const std::string& axis) {
    for (int n = 0;; ++n) {
      std::string name = axis + "_" + std::to_string(n);
      if (names_.insert(name).second) return name;
    }
  }

  // A loop that does nothing but sum over consecutive pieces of the axis sums over shorter ones.
  bool shorten(tile::Instr& loop, tile::Region& r, size_t end, const Axis& a, int64_t piece,
               const Chain& c) {
    const int64_t factor = a.extent / piece;
    if (!c.loads.empty()) return false;
    const bool whole = a.extent % piece == 0 && end + 2 == r.body.size() &&
                       c.instrs.size() == end && r.args.size() == 1 && r.yields.size() == 1;
    if (!whole || !(loop.lower == IndexExpr(0)) || loop.step != 1) return false;
    const tile::Instr &reduce = r.body[end], &sum = r.body[end + 1];
    const nautilus::Op op =
        reduce.code == TileCode::Dot ? nautilus::Op::Add : *combining(reduce.reduce);
    if (sum.code != TileCode::Map || sum.op != op || sum.results != r.yields) return false;
    const std::set<TileId> terms(sum.operands.begin(), sum.operands.end());
    if (terms != std::set<TileId>{reduce.results[0], r.args[0]}) return false;
    // loop variable and axis appear as c * (extent * loop + axis) alone
    auto together = [&](const IndexExpr& e) {
      const int64_t n = e.coefficient(a.name);
      if (e.coefficient(loop.iv) != n * a.extent) return false;
      std::vector<std::string> vars;
      (e - IndexExpr::var(a.name) * n - IndexExpr::var(loop.iv) * (n * a.extent))
          .collect_vars(vars);
      return std::none_of(vars.begin(), vars.end(),
                          [&](const std::string& v) { return v == a.name || v == loop.iv; });
    };
    for (size_t n = 0; n < end; ++n) {
      for (const IndexExpr& e : r.body[n].index)
        if (!together(e)) return false;
      for (const auto& conj : r.body[n].cond.any)
        for (const auto& atom : conj)
          if (!together(atom.expr)) return false;
    }
    const std::map<std::string, IndexExpr> names{
        {loop.iv, IndexExpr(0)},
        {a.name, IndexExpr::var(a.name) + IndexExpr::var(loop.iv) * piece}};
    for (size_t n = 0; n < end; ++n) {
      tile::Instr& i = r.body[n];
      for (IndexExpr& e : i.index) e = e.substitute(names);
      i.cond = i.cond.substitute(names);
      for (Axis& x : k_.types.at(i.results[0]).axes)
        if (x.name == a.name) x.extent = piece;
    }
    loop.upper = loop.upper * factor;
    return true;
  }

  // The instructions of the chain move into a loop in front of what the reduction was; its result
  // is the loop's. Answers the loop's position.
  size_t replace(tile::Region& r, size_t end, const Axis& a, int64_t piece, const Chain& c) {
    const tile::Instr reduce = r.body[end];
    const std::string iv = fresh(a.name);
    const std::map<std::string, IndexExpr> shift{
        {a.name, IndexExpr::var(iv) + IndexExpr::var(a.name)}};
    Cond rest = Cond::always();
    if (a.extent % piece)
      rest = Cond{{{Cond::Atom{
          IndexExpr(a.extent - 1) - IndexExpr::var(iv) - IndexExpr::var(a.name), false}}}};
    const bool cut = !rest.is_always();
    const TileId result = reduce.results[0];
    const TileType total = k_.types.at(result);
    const bool dot = reduce.code == TileCode::Dot;
    const double identity = dot ? 0 : identity_of(reduce);

    tile::Region body;
    tile::Builder b(k_, body);
    b.origin = reduce.origin;
    b.node = reduce.node;
    const TileId carried = b.fresh(total);
    body.args = {carried};
    std::vector<tile::Instr> pieces;
    std::map<TileId, TileId> again;
    for (TileId v : c.loads) {
      tile::Instr i = loads_.at(v);
      again[v] = b.fresh(k_.types.at(v));
      i.results = {again[v]};
      pieces.push_back(std::move(i));
    }
    for (size_t n : c.instrs) pieces.push_back(r.body[n]);
    auto current = [&](tile::Instr& i) {
      for (TileId& v : i.operands)
        if (auto it = again.find(v); it != again.end()) v = it->second;
    };
    for (tile::Instr& i : pieces) {
      current(i);
      for (Axis& x : k_.types.at(i.results[0]).axes)
        if (x.name == a.name) x.extent = piece;
      for (IndexExpr& e : i.index) e = e.substitute(shift);
      i.cond = i.cond.substitute(shift);
      if (cut && i.code == TileCode::Load) i.cond = both(i.cond, rest);
      body.body.push_back(std::move(i));
    }
    tile::Instr part = reduce;
    current(part);
    if (cut)
      for (TileId& v : part.operands)
        if (has_axis(k_.types.at(v).axes, a.name))
          v = b.mask(rest, v, b.constant(identity, k_.types.at(v).elem));
    part.results = {b.fresh(total)};
    const TileId term = part.results[0];
    body.body.push_back(std::move(part));
    body.yields = {b.map(dot ? nautilus::Op::Add : *combining(reduce.reduce), {term, carried})};

    std::vector<tile::Instr> out;
    for (size_t n = 0; n < end; ++n)
      if (!c.instrs.count(n)) out.push_back(std::move(r.body[n]));
    tile::Region before;
    tile::Builder outer(k_, before);
    outer.origin = reduce.origin;
    outer.node = reduce.node;
    const TileId start = outer.constant(identity, total.elem);
    out.insert(out.end(), before.body.begin(), before.body.end());
    tile::Instr loop;
    loop.code = TileCode::For;
    loop.operands = {start};
    loop.results = {result};
    loop.iv = iv;
    loop.lower = IndexExpr(0);
    loop.upper = IndexExpr(a.extent);
    loop.step = piece;
    loop.origin = reduce.origin;
    loop.node = reduce.node;
    loop.regions.push_back(std::move(body));
    const size_t at = out.size();
    out.push_back(std::move(loop));
    for (size_t n = end + 1; n < r.body.size(); ++n) out.push_back(std::move(r.body[n]));
    r.body = std::move(out);
    return at;
  }
  static Cond both(const Cond& x, const Cond& y) {
    Cond out;
    for (const auto& p : x.any)
      for (const auto& q : y.any) {
        Cond::Conj c = p;
        c.insert(c.end(), q.begin(), q.end());
        out.any.push_back(std::move(c));
      }
    return out;
  }
};

}  // namespace

tile::Kernel strip_mine(const tile::Kernel& k, const TileRules& rules) {
  return StripMining(k, rules).run();
}

}  // namespace nautilus::memory::lowering
