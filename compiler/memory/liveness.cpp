#include "compiler/memory/liveness.h"

#include <algorithm>

namespace nautilus::memory {

namespace {

using Visit = std::function<void(const Instr*, const std::set<ValueId>&)>;

// Values of outside that a region uses.
void uses(const Region& r, std::set<ValueId>& out) {
  std::set<ValueId> defined(r.args.begin(), r.args.end()), used;
  for (const Instr& i : r.body) {
    used.insert(i.operands.begin(), i.operands.end());
    for (const Region& inner : i.regions) uses(inner, used);
    defined.insert(i.results.begin(), i.results.end());
  }
  used.insert(r.yields.begin(), r.yields.end());
  for (ValueId v : used)
    if (!defined.count(v)) out.insert(v);
}

void region(const Region& r, const std::set<ValueId>& after, const Visit& visit) {
  std::set<ValueId> live = after;
  live.insert(r.yields.begin(), r.yields.end());
  visit(nullptr, live);
  for (size_t n = r.body.size(); n-- > 0;) {
    const Instr& i = r.body[n];
    std::set<ValueId> through = live;
    for (ValueId v : i.results) through.erase(v);
    for (const Region& inner : i.regions) {
      std::set<ValueId> keep = through;
      if (i.code == Code::For) uses(inner, keep);
      for (ValueId v : inner.args) keep.erase(v);
      region(inner, keep, visit);
      uses(inner, live);
    }
    visit(&i, live);
    for (ValueId v : i.results) live.erase(v);
    for (ValueId v : i.operands) live.insert(v);
  }
}

}  // namespace

int64_t registers_of(const FragmentType& t) {
  if (t.axes.empty()) return 1;
  return (t.place.registers() * type_bytes(t.elem) + 3) / 4;
}

int64_t registers_of(const Kernel& k, const std::set<ValueId>& values) {
  int64_t n = 0;
  for (ValueId v : values)
    if (auto it = k.types.find(v); it != k.types.end()) n += registers_of(it->second);
  return n;
}

void for_each_point(const Role& r, const Visit& visit) { region(r.body, {}, visit); }

int64_t register_pressure(const Kernel& k) {
  int64_t most = 0;
  for (const Role& r : k.roles)
    for_each_point(r, [&](const Instr*, const std::set<ValueId>& live) {
      most = std::max(most, registers_of(k, live));
    });
  return most;
}

}  // namespace nautilus::memory
