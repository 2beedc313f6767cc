// The walk over a tile kernel.
#include "compiler/memory/lower/emit.h"

#include <algorithm>
#include <functional>
#include <numeric>

namespace nautilus::memory::lowering {

using tile::TileType;
using TileCode = tile::Code;

namespace {

void names_in(const tile::Region& r, std::set<std::string>& out) {
  for (const tile::Instr& i : r.body) {
    if (!i.iv.empty()) out.insert(i.iv);
    for (const tile::Region& inner : i.regions) names_in(inner, out);
  }
}

// Where the result lies, with everything that is reduced into it in further registers of the lane;
// nothing if that is much.
std::optional<Placement> beside(const Placement& result, const std::vector<Axis>& axes,
                                const std::vector<std::string>& reduced) {
  Placement p = result;
  if (p.map.in_bits("lane") == 0) p.map = Linear::zeros("lane", 5);
  int64_t all = 1;
  for (const Axis& a : axes) {
    if (std::find(reduced.begin(), reduced.end(), a.name) == reduced.end()) continue;
    all *= a.extent;
    int bits = 0;
    while ((int64_t(1) << bits) < a.extent) ++bits;
    if (all > 32 || (int64_t(1) << bits) != a.extent) return std::nullopt;
    p.map = p.map * Linear::identity("register", a.name, bits);
  }
  return p;
}

}  // namespace

// Emitted again while regions inside want values in ways that are better made outside.
Expected<Kernel> Emitter::run() {
  analyze();
  for (int round = 0; round < 8; ++round) {
    k_ = Kernel{};
    k_.name = t_.name;
    k_.comment = t_.comment;
    k_.grid = t_.grid;
    levels_.assign(1, {});
    shared_tensors_.clear();
    constants_.clear();
    uniform_.clear();
    names_.clear();
    names_in(t_.body, names_);
    for (const std::string& s : m_.sizes) uniform_[s] = 1, names_.insert(s);
    for (const auto& [s, n] : m_.multiples) uniform_[s] = n;
    for (const GridDim& g : t_.grid) uniform_[g.iv] = 1, names_.insert(g.iv);
    for (const auto& [v, t] : t_.types)
      for (const Axis& a : t.axes) names_.insert(a.name);
    for (const TensorDecl& t : m_.tensors) names_.insert(t.name);
    again_ = false;
    Region body;
    Builder b(k_, body);
    b_ = &b;
    clear_partial();
    region(t_.body);
    if (error_) return *error_;
    Role role;
    role.name = "all";
    role.warps = l_.warps;
    role.body = std::move(body);
    k_.roles.push_back(std::move(role));
    if (!again_) return std::move(k_);
  }
  return Refusal{"lower kernel " + t_.name, "", "placements of its tiles do not settle", ""};
}

// Shared buffers of which stores leave parts out start at zero: what is read of those parts is
// multiplied by zero in the end, and must be finite.
void Emitter::clear_partial() {
  std::set<std::string> partial;
  std::function<void(const tile::Region&)> look = [&](const tile::Region& r) {
    for (const tile::Instr& i : r.body) {
      if (i.code == TileCode::Store && !i.cond.is_always()) partial.insert(i.tensor);
      for (const tile::Region& inner : i.regions) look(inner);
    }
  };
  look(t_.body);
  for (const TensorDecl& t : t_.shared) {
    if (!partial.count(t.name) || error_) continue;
    const std::string name = shared_tensor(t.name);
    if (error_) return;
    const SharedBuffer b = *find_buffer(k_, name);
    Blocking how;
    how.inner = b.axes.back().name;
    how.warps = l_.warps;
    how.vector = std::max<int64_t>(
        1,
        std::min<int64_t>(16 / type_bytes(b.elem), b.axes.back().extent & -b.axes.back().extent));
    const FragmentType f{b.elem, b.axes, block_placement(b.axes, how, {})};
    Instr o;
    o.code = Code::StoreShared;
    o.buffer = name;
    o.operands = {b_->constant(0, f)};
    for (const Axis& a : b.axes) o.index.push_back(IndexExpr::var(a.name));
    widen_shared(o, f);
    b_->emit(std::move(o));
  }
}

void Emitter::analyze() {
  analyze(t_.body, use_counts(t_));
  for (const auto& [v, p] : l_.products)
    for (TileId f : {p.first, p.second})
      if (loads_.count(f)) staged_.insert(f);
  for (TileId v : l_.lane_products)
    for (TileId f : defs_.at(v)->operands)
      if (loads_.count(f)) staged_.insert(f);
}

void Emitter::analyze(const tile::Region& r, const std::map<TileId, int>& uses) {
  std::map<TileId, const tile::Instr*> dots;
  for (const tile::Instr& i : r.body) {
    for (TileId v : i.results) defs_[v] = &i;
    if (i.code == TileCode::Store) written_.insert(i.tensor);
    if (i.code == TileCode::Load && i.operands.empty() && i.value == 0 &&
        memory::find_tensor(m_, i.tensor) && !type(i.results[0]).axes.empty())
      loads_[i.results[0]] = &i;
    if (i.code == TileCode::Dot && uses.count(i.results[0]) && uses.at(i.results[0]) == 1)
      dots[i.results[0]] = &i;
    if (i.code == TileCode::Map && i.op == nautilus::Op::Add && i.operands[0] != i.operands[1])
      for (size_t n = 0; n < 2; ++n) {
        auto dot = dots.find(i.operands[n]);
        if (dot == dots.end() || type(dot->first) != type(i.results[0])) continue;
        sums_[i.results[0]] = {dot->second, i.operands[1 - n]};
        left_out_.insert(dot->first);
        break;
      }
    if (i.code == TileCode::If && !i.operands.empty()) {
      auto vote = defs_.find(i.operands[0]);
      if (vote != defs_.end() && vote->second->code == TileCode::Reduce &&
          vote->second->reduce == poly::ReduceOp::Any && uses.at(i.operands[0]) == 1)
        left_out_.insert(i.operands[0]);
    }
    for (const tile::Region& inner : i.regions) analyze(inner, uses);
  }
}

void Emitter::refuse(const tile::Instr& i, std::string why, std::string suggest) {
  if (!error_)
    error_ = Refusal{"lower kernel " + t_.name + " to the memory IR", tile::print(i, t_),
                     std::move(why), std::move(suggest)};
}

std::string Emitter::fresh(const std::string& base) {
  std::string name = base;
  for (int n = 0; !names_.insert(name).second; ++n) name = base + "_" + std::to_string(n);
  return name;
}

void Emitter::region(const tile::Region& r) {
  for (const tile::Instr& i : r.body) {
    if (error_) return;
    b_->origin = i.origin;
    b_->node = i.node;
    instr(i);
  }
}

void Emitter::instr(const tile::Instr& i) {
  if (i.results.size() == 1 && left_out_.count(i.results[0])) return;
  switch (i.code) {
    case TileCode::Const:
      constants_[i.results[0]] = i.value;
      return define(i.results[0], b_->constant(i.value, fragment(i.results[0])));
    case TileCode::Iota: {
      const FragmentType t = fragment(i.results[0]);
      return define(i.results[0], b_->iota(i.index[0], t.axes, t.place));
    }
    case TileCode::Load:
      return load(i);
    case TileCode::Store:
      return store(i);
    case TileCode::Map:
    case TileCode::Cast:
      return map(i);
    case TileCode::Mask:
      return mask(i);
    case TileCode::Reduce:
      return reduce(i);
    case TileCode::Dot:
      return product(i, i.results[0], -1);
    case TileCode::Rename:
      return rename(i);
    case TileCode::For:
      return loop(i);
    case TileCode::If:
      return i.operands.empty() ? branch(i) : branch_on_data(i);
    case TileCode::Barrier:
      return;  // follows from what is read and written
  }
}

void Emitter::map(const tile::Instr& i) {
  const TileId result = i.results[0];
  if (auto sum = sums_.find(result); sum != sums_.end())
    return product(*sum->second.dot, result, sum->second.onto);
  const FragmentType t = fragment(result);
  Instr o;
  o.code = i.code == TileCode::Cast ? Code::Cast : Code::Map;
  o.op = i.op;
  for (TileId v : i.operands)
    o.operands.push_back(get(v, without(t.place, missing(t.axes, type(v).axes))));
  define(result, b_->emit(std::move(o), t));
}

void Emitter::mask(const tile::Instr& i) {
  const FragmentType t = fragment(i.results[0]);
  Instr o;
  o.code = Code::Mask;
  o.cond = i.cond;
  for (TileId v : i.operands) {
    FragmentType in = fragment(v, without(t.place, missing(t.axes, type(v).axes)));
    in.elem = t.elem;
    o.operands.push_back(get_as(v, in));
  }
  define(i.results[0], b_->emit(std::move(o), t));
}

// Inside a warp: an operand whose reduced axes lie over several warps is moved first.
void Emitter::reduce(const tile::Instr& i) {
  const TileId v = i.operands[0];
  FragmentType from = fragment(v);
  if (!i.span.empty()) {
    std::vector<Axis> axes = from.axes;
    axes.insert(axes.end(), i.span.begin(), i.span.end());
    std::sort(axes.begin(), axes.end(),
              [](const Axis& a, const Axis& b) { return a.name < b.name; });
    Blocking how;
    how.inner = axes[0].name;
    how.warps = l_.warps;
    from = {from.elem, axes, block_placement(axes, how, l_.reduced)};
  }
  auto over_warps = [&](const Placement& p) {
    for (const std::string& a : i.axes)
      for (int b = 0; b < p.map.in_bits("warp"); ++b)
        if (p.map.image("warp", b, a)) return true;
    return false;
  };
  if (over_warps(from.place)) {
    std::set<std::string> reduced(i.axes.begin(), i.axes.end());
    if (const auto p = beside(fragment(i.results[0]).place, from.axes, i.axes)) {
      from.place = *p;
    } else {
      Blocking how;
      how.inner = i.axes[0];
      how.warps = l_.warps;
      from.place = block_placement(from.axes, how, reduced);
    }
  }
  const ValueId operand = get_as(v, from);
  Instr o;
  o.code = Code::Reduce;
  o.reduce = i.reduce;
  o.combine = i.combine;
  o.identity = i.identity;
  o.axes = i.axes;
  o.operands = {operand};
  FragmentType t = fragment(i.results[0], without(from.place, i.axes));
  define(i.results[0], b_->emit(std::move(o), t));
}

void Emitter::rename(const tile::Instr& i) {
  std::map<std::string, std::string> back;
  for (const auto& [from, to] : i.renames) back[to] = from;
  const FragmentType t = fragment(i.results[0]);
  define(i.results[0], b_->rename(get(i.operands[0], renamed(t.place, back)), i.renames));
}

// One region: arguments and names known inside, and what it gives in the types of `results`.
std::vector<ValueId> Emitter::inside(Builder& b, const tile::Region& r,
                                     const std::vector<ValueId>& args,
                                     const std::vector<TileId>& results) {
  Builder* outer = b_;
  b_ = &b;
  levels_.emplace_back();
  for (size_t n = 0; n < args.size(); ++n) define(r.args[n], args[n]);
  region(r);
  std::vector<ValueId> out;
  for (size_t n = 0; n < results.size() && !error_; ++n)
    out.push_back(get_as(r.yields[n], fragment(results[n])));
  levels_.pop_back();
  b_ = outer;
  return out;
}

void Emitter::loop(const tile::Instr& i) {
  const tile::Region& r = i.regions[0];
  std::vector<ValueId> initial;
  for (size_t n = 0; n < r.args.size(); ++n)
    initial.push_back(get_as(i.operands[n], fragment(r.args[n])));
  if (error_) return;
  const auto before = uniform_;
  uniform_[i.iv] = std::gcd(i.step, divisor(i.lower, uniform_));
  const auto results = b_->loop(i.iv, i.lower, i.upper, i.step, initial,
                                [&](Builder& b, const std::vector<ValueId>& carried) {
                                  return inside(b, r, carried, r.args);
                                });
  uniform_ = before;
  if (error_) return;
  for (size_t n = 0; n < results.size(); ++n) define(i.results[n], results[n]);
}

void Emitter::branch(const tile::Instr& i) {
  std::vector<ValueId> results;
  results = b_->branch(
      i.cond, [&](Builder& b) { return inside(b, i.regions[0], {}, i.results); },
      [&](Builder& b) { return inside(b, i.regions[1], {}, i.results); });
  if (error_) return;
  for (size_t n = 0; n < results.size(); ++n) define(i.results[n], results[n]);
}

// The vote: whatever of the condition's tile the warp holds. A side that moves data between warps
// cannot be taken by some of them: then both are computed, and lanes choose.
void Emitter::branch_on_data(const tile::Instr& i) {
  TileId flag = i.operands[0];
  if (left_out_.count(flag)) flag = defs_.at(flag)->operands[0];
  const ValueId vote = get(flag, fragment(flag).place);
  if (!selects_.count(&i) && !divergent_) {
    divergent_ = &i;
    auto results = b_->branch(
        Cond::always(), [&](Builder& b) { return inside(b, i.regions[0], {}, i.results); },
        [&](Builder& b) { return inside(b, i.regions[1], {}, i.results); });
    divergent_ = nullptr;
    if (error_) return;
    b_->last().operands = {vote};
    for (size_t n = 0; n < results.size(); ++n) define(i.results[n], results[n]);
    return;
  }
  std::vector<std::vector<ValueId>> sides;
  for (const tile::Region& r : i.regions) {
    levels_.emplace_back();
    region(r);
    sides.emplace_back();
    for (size_t n = 0; n < i.results.size() && !error_; ++n)
      sides.back().push_back(get_as(r.yields[n], fragment(i.results[n])));
    levels_.pop_back();
  }
  if (error_) return;
  for (size_t n = 0; n < i.results.size(); ++n) {
    const FragmentType t = fragment(i.results[n]);
    // A vote over lanes that the result does not tell apart is taken for all of them.
    if (!missing(type(flag).axes, t.axes).empty())
      return refuse(
          i,
          "its sides move data between warps, and its condition has more axes than what it chooses",
          "a plan without lazy references");
    Instr o;
    o.code = Code::Map;
    o.op = nautilus::Op::Select;
    o.operands = {get(flag, without(t.place, missing(t.axes, type(flag).axes))), sides[0][n],
                  sides[1][n]};
    define(i.results[n], b_->emit(std::move(o), t));
  }
}

}  // namespace nautilus::memory::lowering
