// Values in the placements in which they are wanted.
#include <algorithm>

#include "compiler/memory/f2.h"
#include "compiler/memory/lower/emit.h"

namespace nautilus::memory::lowering {

FragmentType Emitter::fragment(TileId v) const {
  auto it = l_.place.find(v);
  return fragment(v, it == l_.place.end() ? Placement{} : it->second);
}
FragmentType Emitter::fragment(TileId v, const Placement& p) const {
  const tile::TileType& t = type(v);
  return {t.elem, t.axes, t.axes.empty() ? Placement{} : p};
}

std::optional<std::pair<ValueId, size_t>> Emitter::known(TileId v) const {
  for (size_t n = levels_.size(); n-- > 0;)
    if (auto it = levels_[n].values.find(v); it != levels_[n].values.end())
      return std::pair(it->second[0], n);
  return std::nullopt;
}
std::optional<std::pair<std::string, size_t>> Emitter::known_buffer(TileId v) const {
  for (size_t n = levels_.size(); n-- > 0;)
    if (auto it = levels_[n].buffers.find(v); it != levels_[n].buffers.end())
      return std::pair(it->second, n);
  return std::nullopt;
}

// What regions inside want of it is made here.
void Emitter::define(TileId v, ValueId is) {
  levels_.back().values[v].push_back(is);
  auto it = demands_.find(v);
  if (it == demands_.end()) return;
  if (it->second.shared) in_shared(v);
  for (const Placement& p : it->second.places) get(v, p);
}
void Emitter::defined_in_shared(TileId v, const std::string& buffer) {
  levels_.back().buffers[v] = buffer;
  if (auto it = demands_.find(v); it != demands_.end())
    for (const Placement& p : it->second.places) get(v, p);
}

ValueId Emitter::get(TileId v, const Placement& p) {
  for (size_t n = levels_.size(); n-- > 0;)
    if (auto it = levels_[n].values.find(v); it != levels_[n].values.end())
      for (ValueId m : it->second)
        if (type(v).axes.empty() || alike(k_.types.at(m).place, p)) return m;
  const auto value = known(v);
  const auto buffer = known_buffer(v);
  if (!value && !buffer) {
    if (!error_)
      error_ = Refusal{"lower kernel " + t_.name, "%" + std::to_string(v),
                       "the value is used where it is not made", ""};
    return b_->constant(0, fragment(v, p));
  }
  const size_t level = std::max(value ? value->second : 0, buffer ? buffer->second : 0);
  if (level + 1 < levels_.size()) {
    Demand& d = demands_[v];
    if (std::none_of(d.places.begin(), d.places.end(),
                     [&](const Placement& q) { return alike(q, p); })) {
      d.places.push_back(p);
      again_ = true;
    }
  }
  const ValueId made = convert(v, p);
  levels_.back().values[v].push_back(made);
  return made;
}

// From where it is: lanes exchange, a load loads again, everything else goes through shared memory.
ValueId Emitter::convert(TileId v, const Placement& p) {
  const FragmentType t = fragment(v, p);
  if (const auto buffer = known_buffer(v)) {
    std::vector<IndexExpr> index;
    for (const Axis& a : t.axes) index.push_back(IndexExpr::var(a.name));
    return load_buffer(buffer->first, std::move(index), t, true);
  }
  std::optional<ValueId> from;
  for (size_t n = levels_.size(); n-- > 0;)
    if (auto it = levels_[n].values.find(v); it != levels_[n].values.end())
      for (ValueId m : it->second)
        if (!from && move(k_.types.at(m).place, p) != Exchange::Shared) from = m;
  if (from) return b_->exchange(*from, p);
  auto load = defs_.find(v);
  if (load != defs_.end() && load->second->code == tile::Code::Load &&
      !written_.count(load->second->tensor))
    return load_as(*load->second, p);
  if (load != defs_.end() && load->second->code == tile::Code::Iota)
    return b_->iota(load->second->index[0], t.axes, p);
  const std::string buffer = in_shared(v);
  std::vector<IndexExpr> index;
  for (const Axis& a : t.axes) index.push_back(IndexExpr::var(a.name));
  return load_buffer(buffer, std::move(index), t, true);
}

bool Emitter::registers_reach(TileId v, const Placement& p) {
  if (staged_.count(v)) return false;
  for (size_t n = levels_.size(); n-- > 0;)
    if (auto it = levels_[n].values.find(v); it != levels_[n].values.end())
      for (ValueId m : it->second)
        if (move(k_.types.at(m).place, p) != Exchange::Shared) return true;
  return false;
}

// All of a tile in shared memory.
std::string Emitter::in_shared(TileId v) {
  if (const auto b = known_buffer(v)) return b->first;
  const auto value = known(v);
  if (value->second + 1 < levels_.size()) {
    Demand& d = demands_[v];
    if (!d.shared) again_ = true;
    d.shared = true;
  }
  return levels_.back().buffers[v] = trip(v, value->first);
}

// Rows along the registers of a lane.
std::string Emitter::trip(TileId of, ValueId v) {
  // Warps that part cannot meet at a barrier.
  if (divergent_ && selects_.insert(divergent_).second) again_ = true;
  const FragmentType t = k_.types.at(v);
  std::string along;
  for (const Axis& a : t.axes)
    if (along.empty() && t.place.map.in_bits("register") &&
        t.place.map.image("register", 0, a.name) == 1)
      along = a.name;
  if (along.empty()) along = t.axes.back().name;
  const std::string name = buffer_for("trip", t.elem, t.axes, along, needed_extents(of));
  Instr o;
  o.code = Code::StoreShared;
  o.buffer = name;
  o.operands = {v};
  for (const Axis& a : t.axes) o.index.push_back(IndexExpr::var(a.name));
  widen_shared(o, t);
  b_->emit(std::move(o));
  return name;
}

// Lanes that would pick one of many registers are better served by shared memory: that takes one
// store and one load, the exchange a shuffle and a selection for each of them. So are exchanges
// that follow no rule.
Exchange Emitter::move(const Placement& from, const Placement& to) {
  constexpr int kMostSources = 4;
  auto [it, fresh_one] = moves_.try_emplace({to_string(from), to_string(to)});
  if (!fresh_one) return it->second;
  it->second = exchange(from, to);
  if (it->second == Exchange::Shared || it->second == Exchange::None) return it->second;
  const auto sources = sources_a_register(from, to);
  if (!sources || *sources > kMostSources) it->second = Exchange::Shared;
  return it->second;
}

ValueId Emitter::broadcast(ValueId v, const FragmentType& t) {
  const ValueId zero = b_->constant(0, t);
  Instr o;
  o.code = Code::Mask;
  o.operands = {v, zero};
  return b_->emit(std::move(o), t);
}

ValueId Emitter::get_as(TileId v, const FragmentType& t) {
  if (auto c = constants_.find(v); c != constants_.end() && !t.axes.empty())
    return b_->constant(c->second, t);
  ValueId m = get(v, without(t.place, missing(t.axes, type(v).axes)));
  m = b_->cast(m, t.elem);
  return type(v).axes == t.axes ? m : broadcast(m, t);
}

}  // namespace nautilus::memory::lowering
