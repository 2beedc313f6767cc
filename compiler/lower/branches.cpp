#include "compiler/lower/branches.h"

#include <algorithm>
#include <set>
#include <utility>

#include "compiler/lower/range.h"

namespace nautilus::lower {
namespace {

using tile::Axis;
using tile::Code;
using tile::Instr;
using tile::Region;
using tile::TileType;
using tile::ValueId;

constexpr int kMostInside = 2;    // branches one in the other
constexpr size_t kLongest = 600;  // instructions that a kernel may come to

size_t length(const Region& r) {
  size_t n = r.body.size();
  for (const Instr& i : r.body)
    for (const Region& inner : i.regions) n += length(inner);
  return n;
}

class Parting {
 public:
  explicit Parting(tile::Kernel& k) : k_(k) {
    for (const auto& [v, t] : k.types)
      for (const Axis& a : t.axes) {
        extents_[a.name] = a.extent;
        ranges_[a.name] = {0, a.extent - 1};
      }
    for (const tile::GridDim& g : k.grid) ranges_[g.iv] = {0, range_of(g.extent - 1, {}).hi};
  }
  // False: a side cannot stand by itself.
  bool run(Region& r, int depth = 0) {
    if (depth == kMostInside || r.body.empty()) return true;
    const auto at = std::find_if(r.body.begin(), r.body.end() - 1, [](const Instr& i) {
      return i.code == Code::If && i.operands.empty() && !i.results.empty();
    });
    if (at == r.body.end() - 1) return true;
    Region rest;
    rest.body.assign(std::make_move_iterator(at + 1), std::make_move_iterator(r.body.end()));
    r.body.erase(at + 1, r.body.end());
    if (length(k_.body) + 2 * length(rest) > kLongest) {
      for (Instr& i : rest.body) r.body.push_back(std::move(i));
      return true;
    }
    Instr& branch = r.body.back();
    const Ranges around = ranges_;
    for (size_t side = 0; side < 2; ++side) {
      now_.clear();
      ranges_ = ranges_where(around, branch.cond, side == 0);
      const Region own = std::exchange(branch.regions[side], {});
      Region& inner = branch.regions[side];
      for (const Instr& i : own.body) copy(i, inner);
      for (size_t n = 0; n < branch.results.size(); ++n)
        now_[branch.results[n]] = now(own.yields[n]);
      for (const Instr& i : rest.body)
        if (i.code == Code::If && i.operands.empty() && i.cond == branch.cond)
          take(i, side, inner);
        else
          copy(i, inner);
    }
    branch.results.clear();
    for (size_t side = 0; side < 2 && possible_; ++side) {
      ranges_ = ranges_where(around, branch.cond, side == 0);
      possible_ = run(branch.regions[side], depth + 1);
    }
    ranges_ = around;
    return possible_;
  }

 private:
  tile::Kernel& k_;
  std::map<std::string, int64_t> extents_;  // of axes
  Ranges ranges_;                           // of axes, grid variables and the loops around
  std::map<ValueId, ValueId> now_;
  bool possible_ = true;

  ValueId now(ValueId v) const {
    const auto it = now_.find(v);
    return it == now_.end() ? v : it->second;
  }
  ValueId define(ValueId v, const TileType& type) {
    const ValueId fresh = k_.next_value++;
    k_.types[fresh] = type;
    return now_[v] = fresh;
  }
  void copy(const Instr& from, Region& to) {
    Instr i = from;
    bool narrower = false;  // an operand lacks axes over which a branch's result repeated it
    for (ValueId& v : i.operands) {
      narrower |= k_.types.at(now(v)).axes != k_.types.at(v).axes;
      v = now(v);
    }
    i.cond = simplify(i.cond, ranges_);
    if (i.code == Code::If && i.operands.empty() && (i.cond.is_always() || i.cond.any.empty()))
      return take(from, i.cond.is_always() ? 0 : 1, to);
    if (i.code == Code::Mask && i.cond.is_always() &&
        k_.types.at(i.operands[0]) == k_.types.at(from.results[0])) {
      now_[from.results[0]] = i.operands[0];
      return;
    }
    if (i.code == Code::For || i.code == Code::If) {
      if (i.code == Code::For)
        ranges_[i.iv] = {range_of(i.lower, ranges_).lo, range_of(i.upper - 1, ranges_).hi};
      for (Region& r : i.regions) {
        const Region whole = std::exchange(r, {});
        for (ValueId v : whole.args) r.args.push_back(define(v, TileType(k_.types.at(v))));
        for (const Instr& inner : whole.body) copy(inner, r);
        for (ValueId v : whole.yields) r.yields.push_back(now(v));
      }
    } else if (narrower) {
      return copy_narrower(from, std::move(i), to);
    }
    for (ValueId& v : i.results) v = define(v, TileType(k_.types.at(v)));
    to.body.push_back(std::move(i));
  }
  void copy_narrower(const Instr& from, Instr i, Region& to) {
    std::set<std::string> there;
    for (ValueId v : i.operands)
      for (const Axis& a : k_.types.at(v).axes) there.insert(a.name);
    if (i.code == Code::Rename) {
      std::erase_if(i.renames, [&](const auto& r) { return !there.count(r.first); });
      if (i.renames.empty()) {
        now_[from.results[0]] = i.operands[0];
        return;
      }
    }
    if (i.code == Code::Store || i.code == Code::Reduce) {
      std::map<std::string, int64_t> span;
      for (const Axis& a : from.span) span[a.name] = a.extent;
      for (ValueId v : from.operands)
        for (const Axis& a : k_.types.at(v).axes)
          if (!there.count(a.name)) span[a.name] = a.extent;
      i.span.clear();
      for (const auto& [name, extent] : span) i.span.push_back({name, extent});
    }
    const Type elem = from.results.empty() ? Type::F32 : k_.types.at(from.results[0]).elem;
    auto types = tile::infer_types(k_, i, extents_, elem);
    if (!types || types->size() != i.results.size()) {
      possible_ = false;
      return;
    }
    for (size_t n = 0; n < i.results.size(); ++n)
      i.results[n] = define(from.results[n], (*types)[n]);
    to.body.push_back(std::move(i));
  }
  // One side of a branch whose condition is known.
  void take(const Instr& branch, size_t side, Region& to) {
    const Region& r = branch.regions[side];
    for (const Instr& i : r.body) copy(i, to);
    for (size_t n = 0; n < branch.results.size(); ++n) now_[branch.results[n]] = now(r.yields[n]);
  }
};

}  // namespace

void part_blocks(tile::Kernel& k) {
  tile::Kernel parted = k;
  if (Parting(parted).run(parted.body)) k = std::move(parted);
}

}  // namespace nautilus::lower
