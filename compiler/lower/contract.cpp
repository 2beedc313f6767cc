#include "compiler/lower/contract.h"

#include <algorithm>

#include "compiler/lower/range.h"

namespace nautilus::lower {
namespace {

using tile::Code;
using tile::Instr;
using tile::Region;

// What one dim of a buffer is indexed with, over all accesses so far.
struct DimUse {
  bool contractible = true, seen = false;
  IndexExpr base;  // the part over grid variables
  int64_t lo = 0, hi = 0;
};

class Contraction {
 public:
  explicit Contraction(tile::Kernel& k) : k_(k) {
    for (const tile::GridDim& g : k.grid) {
      const Range last = range_of(g.extent - 1, {});
      ranges_[g.iv] = {0, last.hi};
    }
    for (const tile::TensorDecl& t : k.shared) uses_[t.name].resize(t.extents.size());
  }

  void run() {
    walk(k_.body, [this](Instr& i) { note(i); });
    for (tile::TensorDecl& t : k_.shared)
      for (size_t d = 0; d < t.extents.size(); ++d) {
        DimUse& u = uses_[t.name][d];
        const int64_t extent = u.hi - u.lo + 1;
        u.contractible &= u.seen && (!t.extents[d].is_const() || extent < t.extents[d].constant());
        if (u.contractible) t.extents[d] = IndexExpr(extent);
      }
    walk(k_.body, [this](Instr& i) { rewrite(i); });
  }

 private:
  tile::Kernel& k_;
  Ranges ranges_;  // of grid variables and the loops around
  std::map<std::string, std::vector<DimUse>> uses_;

  template <class F>
  void walk(Region& r, const F& f) {
    for (Instr& i : r.body) {
      if (i.code == Code::Load || i.code == Code::Store) f(i);
      if (i.code == Code::For)
        ranges_[i.iv] = {range_of(i.lower, ranges_).lo, range_of(i.upper - 1, ranges_).hi};
      for (Region& inner : i.regions) walk(inner, f);
      if (i.code == Code::For) ranges_.erase(i.iv);
    }
  }

  // e as a part over grid variables and the rest.
  std::pair<IndexExpr, IndexExpr> split(const IndexExpr& e) const {
    IndexExpr base;
    for (const tile::GridDim& g : k_.grid) base = base + IndexExpr::var(g.iv) * e.coefficient(g.iv);
    return {base, e - base};
  }

  // Ranges of an access's tile axes beside those of the loops.
  Ranges with_axes(const Instr& i) const {
    Ranges out = ranges_;
    const auto add = [&](const std::vector<tile::Axis>& axes) {
      for (const tile::Axis& a : axes) out[a.name] = {0, a.extent - 1};
    };
    for (const tile::ValueId v : i.results) add(k_.types.at(v).axes);
    for (const tile::ValueId v : i.operands) add(k_.types.at(v).axes);
    add(i.span);
    return out;
  }

  void note(const Instr& i) {
    const auto use = uses_.find(i.tensor);
    if (use == uses_.end()) return;
    const Ranges ranges = with_axes(i);
    for (size_t d = 0; d < use->second.size(); ++d) {
      DimUse& u = use->second[d];
      const auto [base, rest] = split(i.index[d]);
      std::vector<std::string> vars;
      rest.collect_vars(vars);
      const Range r = range_of(rest, ranges);
      u.contractible &= (i.gather.empty() || i.gather[d] < 0) && r.lo && r.hi &&
                        (!u.seen || base == u.base) &&
                        std::none_of(k_.grid.begin(), k_.grid.end(), [&](const tile::GridDim& g) {
                          return std::find(vars.begin(), vars.end(), g.iv) != vars.end();
                        });
      if (!u.contractible) continue;
      u.lo = u.seen ? std::min(u.lo, *r.lo) : *r.lo;
      u.hi = u.seen ? std::max(u.hi, *r.hi) : *r.hi;
      u.base = base;
      u.seen = true;
    }
  }

  void rewrite(Instr& i) {
    const auto use = uses_.find(i.tensor);
    if (use == uses_.end()) return;
    for (size_t d = 0; d < use->second.size(); ++d) {
      const DimUse& u = use->second[d];
      if (u.contractible) i.index[d] = i.index[d] - u.base - u.lo;
    }
  }
};

}  // namespace

void contract_buffers(tile::Kernel& k) { Contraction(k).run(); }

}  // namespace nautilus::lower
