// Rules of instructions on registers: types and placements of results from those of operands.
#include <algorithm>

#include "compiler/memory/checks.h"

namespace nautilus::memory {
namespace {

std::string needs_operands(const Instr& i, size_t n) {
  if (i.operands.size() == n) return "";
  return std::to_string(i.operands.size()) + " operands instead of " + std::to_string(n);
}

bool has_axis(const FragmentType& t, const std::string& name) {
  return std::any_of(t.axes.begin(), t.axes.end(), [&](const Axis& a) { return a.name == name; });
}

std::string check_map(const Scope& s, const Instr& i, const FragmentType& result) {
  if (op_arity(i.op) == 0 || i.op == Op::Cast) return "not an operation on tiles";
  if (std::string why = needs_operands(i, size_t(op_arity(i.op))); !why.empty()) return why;
  std::vector<Type> types;
  for (ValueId v : i.operands) {
    types.push_back(s.type(v).elem);
    if (std::string why = check_broadcast(s.type(v), result); !why.empty()) return why;
  }
  const Type elem = tile::map_type(i.op, types);
  if (elem != result.elem) return "the element type should be " + std::string(type_name(elem));
  return "";
}

std::string check_mask(const Scope& s, const Instr& i, const FragmentType& result) {
  if (std::string why = needs_operands(i, 2); !why.empty()) return why;
  for (ValueId v : i.operands) {
    if (s.type(v).elem != result.elem) return "operands and result have different element types";
    if (std::string why = check_broadcast(s.type(v), result); !why.empty()) return why;
  }
  return check_names(s, i.cond, result.axes);
}

std::string check_user(const Instr& i) {
  if (!i.combine || !i.identity) return "a user reduction needs combine and identity";
  for (const std::string& v : free_vars(i.combine))
    if (v != "a" && v != "b") return "combine may only use a and b";
  return free_vars(i.identity).empty() ? "" : "identity must be a constant";
}

std::string check_reduce(const Scope& s, const Instr& i, const FragmentType& result) {
  if (std::string why = needs_operands(i, 1); !why.empty()) return why;
  const FragmentType& t = s.type(i.operands[0]);
  std::set<std::string> axes(i.axes.begin(), i.axes.end());
  if (axes.size() != i.axes.size() || axes.empty()) return "axes are not there or not unique";
  for (const std::string& a : axes)
    if (!has_axis(t, a)) return "the operand has no axis " + a;
  for (const std::string& a : axes)
    for (int b = 0; b < t.place.map.in_bits("warp"); ++b)
      if (t.place.map.image("warp", b, a))
        return "axis " + a + " is spread over warps: a reduction stays inside a warp";
  std::vector<Axis> left = t.axes;
  std::erase_if(left, [&](const Axis& a) { return axes.count(a.name) > 0; });
  if (left != result.axes) return "the result has other axes";
  const bool logical = i.reduce == poly::ReduceOp::Any || i.reduce == poly::ReduceOp::All;
  const Type elem = logical ? Type::Bool : arithmetic_type(t.elem, t.elem);
  if (elem != result.elem) return "the element type should be " + std::string(type_name(elem));
  const Placement wanted = without(t.place, i.axes);
  if (!alike(result.place, wanted))
    return "the result lies as " + to_string(result.place) + ", not as " + to_string(wanted);
  return i.reduce == poly::ReduceOp::User ? check_user(i) : "";
}

// Whether lanes hold what they need shows when a program is run.
std::string check_slice(const Scope& s, const Instr& i, const FragmentType& result) {
  if (std::string why = needs_operands(i, 1); !why.empty()) return why;
  const FragmentType& t = s.type(i.operands[0]);
  if (t.elem != result.elem || t.axes.size() != result.axes.size() ||
      i.index.size() != t.axes.size())
    return "the result has another type";
  for (size_t n = 0; n < t.axes.size(); ++n) {
    if (t.axes[n].name != result.axes[n].name) return "the result has other axes";
    if (!i.index[n].is_const()) return "a slice starts at a constant";
    const int64_t start = i.index[n].constant();
    if (start < 0 || start + result.axes[n].extent > t.axes[n].extent)
      return "from " + std::to_string(start) + " on, " + std::to_string(result.axes[n].extent) +
             " of " + std::to_string(t.axes[n].extent) + " along " + t.axes[n].name;
  }
  return "";
}

std::string check_rename(const Scope& s, const Instr& i, const FragmentType& result) {
  if (std::string why = needs_operands(i, 1); !why.empty()) return why;
  const FragmentType& t = s.type(i.operands[0]);
  std::map<std::string, std::string> names;
  for (const auto& [from, to] : i.renames) {
    if (!has_axis(t, from)) return "the operand has no axis " + from;
    if (!names.emplace(from, to).second) return "axis " + from + " is renamed twice";
  }
  std::vector<Axis> axes = t.axes;
  for (Axis& a : axes)
    if (auto it = names.find(a.name); it != names.end()) a.name = it->second;
  std::sort(axes.begin(), axes.end(), [](const Axis& a, const Axis& b) { return a.name < b.name; });
  for (size_t n = 1; n < axes.size(); ++n)
    if (axes[n - 1].name == axes[n].name) return "two axes would be named " + axes[n].name;
  if (axes != result.axes || t.elem != result.elem) return "the result has another type";
  if (!alike(result.place, renamed(t.place, names))) return "the result has another placement";
  return "";
}

}  // namespace

std::string check_registers(const Scope& s, const Instr& i) {
  if (i.results.size() != 1) return "wrong number of results";
  const FragmentType& result = s.type(i.results[0]);
  switch (i.code) {
    case Code::Const:
      return needs_operands(i, 0);
    case Code::Iota:
      if (i.index.size() != 1 || !i.operands.empty()) return "needs one index expression";
      if (result.elem != Type::I32) return "the element type should be i32";
      return check_names(s, i.index[0], result.axes);
    case Code::Map:
      return check_map(s, i, result);
    case Code::Mask:
      return check_mask(s, i, result);
    case Code::Reduce:
      return check_reduce(s, i, result);
    case Code::Rename:
      return check_rename(s, i, result);
    case Code::Slice:
      return check_slice(s, i, result);
    case Code::Cast:
    case Code::Exchange: {
      if (std::string why = needs_operands(i, 1); !why.empty()) return why;
      const FragmentType& t = s.type(i.operands[0]);
      if (t.axes != result.axes) return "the result has other axes";
      if (i.code == Code::Cast)
        return alike(t.place, result.place) ? "" : "the result has another placement";
      if (t.elem != result.elem) return "the result has another element type";
      return exchange(t.place, result.place) == Exchange::Shared
                 ? "data would move between warps: that goes through shared memory"
                 : "";
    }
    default:
      return "not an instruction on registers";
  }
}

}  // namespace nautilus::memory
