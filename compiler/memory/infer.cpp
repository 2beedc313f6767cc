// Types of results from those of operands, and names for placements.
#include <algorithm>
#include <set>

#include "compiler/memory/builder.h"
#include "compiler/memory/checks.h"

namespace nautilus::memory {
namespace {

Refusal undecided(const Instr& i, std::string why) {
  return Refusal{"type of " + std::string(i.code == Code::Map ? op_name(i.op) : code_name(i.code)),
                 i.origin, std::move(why), ""};
}

// The operand that has the axes of all; the others must lie as it does.
Expected<FragmentType> widest(const std::vector<const FragmentType*>& in, const Instr& i) {
  const FragmentType* best = in[0];
  for (const FragmentType* t : in)
    if (t->axes.size() > best->axes.size()) best = t;
  for (const FragmentType* t : in)
    if (std::string why = check_broadcast(*t, *best); !why.empty()) return undecided(i, why);
  return *best;
}

}  // namespace

Expected<FragmentType> infer_type(const Kernel& k, const Instr& i, Type elem) {
  std::vector<const FragmentType*> in;
  for (ValueId v : i.operands) {
    auto it = k.types.find(v);
    if (it == k.types.end())
      return undecided(i, "operand %" + std::to_string(v) + " is not defined");
    in.push_back(&it->second);
  }
  if (in.empty()) return undecided(i, "no operands");
  switch (i.code) {
    case Code::Map: {
      if (int(in.size()) != op_arity(i.op) || i.op == Op::Cast)
        return undecided(i, "not an operation on these tiles");
      std::vector<Type> types;
      for (const FragmentType* t : in) types.push_back(t->elem);
      auto t = widest(in, i);
      if (t) t->elem = tile::map_type(i.op, types);
      return t;
    }
    case Code::Mask:
      return widest(in, i);
    case Code::Cast: {
      FragmentType t = *in[0];
      t.elem = elem;
      return t;
    }
    case Code::Mma:
      return *in[0];
    case Code::Reduce: {
      FragmentType t = *in[0];
      const std::set<std::string> gone(i.axes.begin(), i.axes.end());
      std::erase_if(t.axes, [&](const Axis& a) { return gone.count(a.name) > 0; });
      t.place = without(t.place, i.axes);
      const bool logical = i.reduce == poly::ReduceOp::Any || i.reduce == poly::ReduceOp::All;
      t.elem = logical ? Type::Bool : arithmetic_type(t.elem, t.elem);
      return t;
    }
    case Code::Rename: {
      FragmentType t = *in[0];
      const std::map<std::string, std::string> names(i.renames.begin(), i.renames.end());
      std::set<std::string> unique;
      for (Axis& a : t.axes) {
        if (auto it = names.find(a.name); it != names.end()) a.name = it->second;
        if (!unique.insert(a.name).second) return undecided(i, "two axes would be named " + a.name);
      }
      std::sort(t.axes.begin(), t.axes.end(),
                [](const Axis& a, const Axis& b) { return a.name < b.name; });
      t.place = renamed(t.place, names);
      return t;
    }
    default:
      return undecided(i, "operands do not decide it");
  }
}

void name_layouts(Kernel& k) {
  std::set<std::string> names, known;
  for (const auto& [name, place] : k.layouts) {
    names.insert(name);
    known.insert(to_string(place));
  }
  int next = 0;
  auto add = [&](const Placement& p) {
    const std::string text = to_string(p);
    if (text.empty() || !known.insert(text).second) return;
    std::string name;
    do name = "l" + std::to_string(next++);
    while (names.count(name));
    k.layouts.emplace_back(name, p);
  };
  for (const SharedBuffer& b : k.buffers) add(b.place);
  for (const auto& [v, t] : k.types) add(t.place);
}

}  // namespace nautilus::memory
