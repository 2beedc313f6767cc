// The order in which blocks start.
#include <algorithm>
#include <optional>

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

}  // namespace

void longest_first(Kernel& k) {
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
}

}  // namespace nautilus::memory::lowering
