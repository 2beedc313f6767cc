// The order in which blocks start.
#include <algorithm>
#include <optional>
#include <set>

#include "compiler/memory/lower/passes.h"

namespace nautilus::memory::lowering {

namespace {

// Whether an expression grows (1), falls (-1) or stays (0) with a variable, the others fixed;
// nullopt: neither.
std::optional<int> slope(const IndexExpr& e, const std::string& name) {
  using Kind = IndexExpr::Kind;
  switch (e.kind()) {
    case Kind::Const:
      return 0;
    case Kind::Var:
      return e.name() == name;
    case Kind::Mul: {
      const auto s = slope(e.args()[0], name);
      return s ? std::optional(e.constant() < 0 ? -*s : e.constant() > 0 ? *s : 0) : std::nullopt;
    }
    case Kind::FloorDiv:
      return slope(e.args()[0], name);
    case Kind::Mod:
      return slope(e.args()[0], name) == 0 ? std::optional(0) : std::nullopt;
    default: {
      int sign = 0;
      for (const IndexExpr& a : e.args()) {
        const auto s = slope(a, name);
        if (!s || sign * *s < 0) return std::nullopt;
        sign = sign ? sign : *s;
      }
      return sign;
    }
  }
}

void find_loops(const Region& r, std::vector<const Instr*>& out) {
  for (const Instr& i : r.body) {
    if (i.code == Code::For)
      out.push_back(&i);
    else
      for (const Region& inner : i.regions) find_loops(inner, out);
  }
}

void find_tensors(const Region& r, std::set<std::string>& out) {
  for (const Instr& i : r.body) {
    if (i.code == Code::LoadGlobal || i.code == Code::CopyPlain || i.code == Code::CopyAsync ||
        i.code == Code::CopyBulk)
      out.insert(i.tensor);
    for (const Region& inner : i.regions) find_tensors(inner, out);
  }
}

// Bytes that a kernel reads of global memory, at one point of the grid's dims before the last;
// 0 where a size is open.
double bytes_of_a_point(const Kernel& k, const Module& m) {
  std::set<std::string> read;
  for (const Role& r : k.roles) find_tensors(r.body, read);
  double bytes = 0;
  for (const std::string& name : read) {
    const TensorDecl& t = *find_tensor(m, name);
    double n = type_bytes(t.type);
    for (const IndexExpr& e : t.extents) {
      if (!e.is_const()) return 0;
      n *= static_cast<double>(e.constant());
    }
    bytes += n;
  }
  for (size_t n = 0; n + 1 < k.grid.size(); ++n) {
    if (!k.grid[n].extent.is_const()) return 0;
    bytes /= static_cast<double>(std::max<int64_t>(1, k.grid[n].extent.constant()));
  }
  return bytes;
}

// Half of what the L2 keeps of a section: attention on an H200 is fastest with 16 to 32 MB of keys
// and values (hopper-probe.md, 3n).
constexpr double kSection = 24 << 20;

}  // namespace

void longest_first(Kernel& k, const Module& m) {
  std::vector<const Instr*> loops;
  for (const Role& r : k.roles) find_loops(r.body, loops);
  for (GridDim& g : k.grid) {
    int sign = 0;
    const bool agree = std::all_of(loops.begin(), loops.end(), [&](const Instr* l) {
      const auto s = slope(l->upper - l->lower, g.iv);
      if (!s || sign * *s < 0) return false;
      sign = sign ? sign : *s;
      return true;
    });
    g.descending = agree && sign > 0;
  }
  // Of several heads the longest blocks together, as far as the cache holds what they read: the end
  // is then even, and what blocks share is still there.
  if (k.grid.empty() || !k.grid.back().descending) return;
  const auto outer = std::find_if(k.grid.rbegin() + 1, k.grid.rend(),
                                  [](const GridDim& g) { return g.extent != IndexExpr(1); });
  const double bytes = bytes_of_a_point(k, m);
  if (outer == k.grid.rend() || outer->descending || bytes <= 0 || !outer->extent.is_const())
    return;
  int64_t& together = k.grid.back().together;
  while (outer->extent.constant() % (2 * together) == 0 &&
         static_cast<double>(2 * together) * bytes <= kSection)
    together *= 2;
}

}  // namespace nautilus::memory::lowering
