// Rules that several kinds of instructions share.
#include <algorithm>
#include <limits>
#include <numeric>

#include "compiler/memory/checks.h"
#include "compiler/memory/f2.h"

namespace nautilus::memory {
namespace {

constexpr int64_t kLargestTensor = int64_t(1) << 31, kMaxRegisters = 1024;

bool is_axis(const std::vector<Axis>& axes, const std::string& name) {
  return std::any_of(axes.begin(), axes.end(), [&](const Axis& a) { return a.name == name; });
}

}  // namespace

std::string list_names(const std::vector<std::string>& names) {
  std::string s;
  for (const std::string& n : names) s += (s.empty() ? "" : ", ") + n;
  return s;
}

std::vector<std::string> names_of(const std::vector<Axis>& axes) {
  std::vector<std::string> names;
  for (const Axis& a : axes) names.push_back(a.name);
  return names;
}

std::string check_names(const Scope& s, const IndexExpr& e, const std::vector<Axis>& axes) {
  std::vector<std::string> vars;
  e.collect_vars(vars);
  for (const std::string& v : vars)
    if (!s.uniform.count(v) && !is_axis(axes, v))
      return "unknown name " + v + " in " + nautilus::to_string(e);
  return "";
}

std::string check_names(const Scope& s, const Cond& c, const std::vector<Axis>& axes) {
  for (const auto& conj : c.any)
    for (const auto& a : conj)
      if (std::string why = check_names(s, a.expr, axes); !why.empty()) return why;
  return "";
}

int64_t divisor(const IndexExpr& e, const std::map<std::string, int64_t>& known) {
  using Kind = IndexExpr::Kind;
  auto magnitude = [](int64_t c) {
    return c == std::numeric_limits<int64_t>::min() ? 1 : std::abs(c);
  };
  switch (e.kind()) {
    case Kind::Const:
      return magnitude(e.constant());
    case Kind::Var: {
      auto it = known.find(e.name());
      return it == known.end() ? 1 : it->second;
    }
    case Kind::Mul: {
      int64_t n = 0;
      if (__builtin_mul_overflow(magnitude(e.constant()), divisor(e.args()[0], known), &n))
        return 1;
      return n;
    }
    case Kind::Add:
    case Kind::Min:
    case Kind::Max: {
      int64_t n = 0;
      for (const IndexExpr& a : e.args()) n = std::gcd(n, divisor(a, known));
      return n;
    }
    case Kind::FloorDiv: {
      const int64_t n = divisor(e.args()[0], known);
      return n % e.constant() == 0 ? n / e.constant() : 1;
    }
    case Kind::Mod:
      return std::gcd(divisor(e.args()[0], known), e.constant());
  }
  return 1;
}

std::optional<std::string> plain_axis(const IndexExpr& e, const std::vector<Axis>& axes) {
  std::optional<std::string> found;
  std::vector<std::string> vars;
  e.collect_vars(vars);
  for (const Axis& a : axes) {
    if (std::find(vars.begin(), vars.end(), a.name) == vars.end()) continue;
    if (found || e.coefficient(a.name) != 1) return std::nullopt;
    vars.clear();  // what is left after the axis must not name it again
    (e - IndexExpr::var(a.name)).collect_vars(vars);
    if (std::find(vars.begin(), vars.end(), a.name) != vars.end()) return std::nullopt;
    found = a.name;
  }
  return found;
}

std::string check_slot(const Scope& s, const IndexExpr& slot, int slots, const std::string& name) {
  if (std::string why = check_names(s, slot, {}); !why.empty()) return why;
  const bool known = slot.is_const(), modulo = slot.kind() == IndexExpr::Kind::Mod;
  const int64_t low = known ? slot.constant() : 0, high = known    ? slot.constant()
                                                          : modulo ? slot.constant() - 1
                                                                   : 0;
  if (low < 0 || high >= slots)
    return "slot " + nautilus::to_string(slot) + " of " + name + ", which has " +
           std::to_string(slots);
  return "";
}

std::string check_axes(const std::vector<Axis>& axes, const Placement& place) {
  int64_t elements = 1;
  for (size_t n = 0; n < axes.size(); ++n) {
    const Axis& a = axes[n];
    if (n && !(axes[n - 1].name < a.name)) return "axes are not sorted or not unique";
    if (a.extent < 1) return "axis " + a.name + " has extent " + std::to_string(a.extent);
    if (__builtin_mul_overflow(elements, a.extent, &elements) || elements > kLargestTensor)
      return "too many elements";
  }
  int64_t repeats = 1;
  for (const Extent& e : place.repeats)
    if (e.count < 1 || __builtin_mul_overflow(repeats, e.count, &repeats) ||
        repeats > kLargestTensor)
      return "repeats out of range";
  for (const std::string& a : place.axes())
    if (!is_axis(axes, a)) return "the placement has axis " + a + ", which the tile lacks";
  if (!place.map.surjective()) return "the placement does not reach every element of its block";
  for (const Axis& a : axes)
    if (place.extent(a.name) < a.extent)
      return "the placement holds " + std::to_string(place.extent(a.name)) + " of " +
             std::to_string(a.extent) + " along " + a.name;
  return "";
}

std::string check_fragment(const Scope& s, const FragmentType& t) {
  const Linear& map = t.place.map;
  if (t.axes.empty())
    return map.in().empty() && map.out().empty() && t.place.repeats.empty()
               ? ""
               : "a single value has no placement";
  for (const Bits& d : map.in())
    if (d.name != "register" && d.name != "lane" && d.name != "warp")
      return "a fragment has registers, lanes and warps, not " + d.name;
  if (map.in_bits("lane") != 5) return "a fragment has 5 bits of lanes";
  if (std::string why = check_axes(t.axes, t.place); !why.empty()) return why;
  for (const Axis& a : t.axes)
    if (s.uniform.count(a.name))
      return "axis " + a.name + " has the name of a loop variable or size";
  const Packing p(map.out());
  Basis basis;
  for (int b = 0; b < map.in_bits("register"); ++b)
    if (!basis.add(p.image(map, "register", b))) return "registers hold copies of each other";
  if (map.in_bits("register") > 10 || t.place.registers() > kMaxRegisters)
    return "more than " + std::to_string(kMaxRegisters) + " registers a thread";
  if (s.role->warps % t.place.warps())
    return "a tile over " + std::to_string(t.place.warps()) + " warps in a role of " +
           std::to_string(s.role->warps);
  return "";
}

std::string check_broadcast(const FragmentType& operand, const FragmentType& into) {
  std::vector<std::string> missing;
  for (const Axis& a : operand.axes)
    if (std::find(into.axes.begin(), into.axes.end(), a) == into.axes.end())
      return "an operand has axis " + a.name + " of " + std::to_string(a.extent) +
             ", which the result lacks";
  for (const Axis& a : into.axes)
    if (!is_axis(operand.axes, a.name)) missing.push_back(a.name);
  if (!alike(operand.place, without(into.place, missing)))
    return "an operand lies as " + to_string(operand.place) + ", not as " +
           to_string(without(into.place, missing));
  return "";
}

std::string check_element(const Scope& s, const Instr& i, size_t first,
                          const std::vector<Axis>& axes) {
  const TensorDecl* t = find_tensor(s.module, i.tensor);
  if (!t) return "unknown tensor " + i.tensor;
  if (i.index.size() != t->extents.size())
    return i.tensor + " has " + std::to_string(t->extents.size()) + " dimensions, not " +
           std::to_string(i.index.size());
  if (!i.gather.empty() && i.gather.size() != i.index.size()) return "gather has the wrong length";
  size_t next = first;
  for (int g : i.gather) {
    if (g < 0) continue;
    if (size_t(g) != next || next >= i.operands.size())
      return "gathers are not in order of the dimensions";
    if (is_float(s.type(i.operands[next]).elem)) return "a gathered index must be an integer";
    ++next;
  }
  if (next != i.operands.size()) return "operands that gather nothing";
  for (size_t d = 0; d < i.index.size(); ++d)
    if (i.gather.empty() || i.gather[d] < 0)
      if (std::string why = check_names(s, i.index[d], axes); !why.empty()) return why;
  return check_names(s, i.cond, axes);
}

std::optional<nautilus::Op> combining(poly::ReduceOp op) {
  switch (op) {
    case poly::ReduceOp::Sum:
      return nautilus::Op::Add;
    case poly::ReduceOp::Prod:
      return nautilus::Op::Mul;
    case poly::ReduceOp::Max:
      return nautilus::Op::Max;
    case poly::ReduceOp::Min:
      return nautilus::Op::Min;
    case poly::ReduceOp::Any:
      return nautilus::Op::Or;
    case poly::ReduceOp::All:
      return nautilus::Op::And;
    case poly::ReduceOp::User:
      break;
  }
  return std::nullopt;
}

}  // namespace nautilus::memory
