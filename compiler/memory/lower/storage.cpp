// Bytes of shared memory, and registers.
#include <algorithm>

#include "compiler/memory/lower/passes.h"

namespace nautilus::memory::lowering {

namespace {

void touched(const Instr& i, std::set<std::string>& out) {
  if (!i.buffer.empty()) out.insert(i.buffer);
  if (!i.buffer_b.empty()) out.insert(i.buffer_b);
  for (const Region& r : i.regions)
    for (const Instr& inner : r.body) touched(inner, out);
}

int64_t bytes_of(const SharedBuffer& b) {
  const int64_t n = b.slots * b.place.elements() * type_bytes(b.elem);
  return (n + b.align - 1) / b.align * b.align;
}

int64_t registers_of(const FragmentType& t) {
  if (t.axes.empty()) return 1;
  return (t.place.registers() * type_bytes(t.elem) + 3) / 4;
}

// Largest sum over the points of a region of what is live there.
class Pressure {
 public:
  explicit Pressure(const Kernel& k) : k_(k) {}
  int64_t region(const Region& r, const std::set<ValueId>& after) {
    std::set<ValueId> live = after;
    live.insert(r.yields.begin(), r.yields.end());
    int64_t most = total(live);
    for (size_t n = r.body.size(); n-- > 0;) {
      const Instr& i = r.body[n];
      std::set<ValueId> through = live;
      for (ValueId v : i.results) through.erase(v);
      for (const Region& inner : i.regions) {
        std::set<ValueId> keep = through;
        if (i.code == Code::For) uses(inner, keep);
        for (ValueId v : inner.args) keep.erase(v);
        most = std::max(most, region(inner, keep));
        uses(inner, live);
      }
      most = std::max(most, total(live));
      for (ValueId v : i.results) live.erase(v);
      for (ValueId v : i.operands) live.insert(v);
    }
    return most;
  }

 private:
  const Kernel& k_;
  int64_t total(const std::set<ValueId>& live) const {
    int64_t n = 0;
    for (ValueId v : live)
      if (auto it = k_.types.find(v); it != k_.types.end()) n += registers_of(it->second);
    return n;
  }
  // Values of outside that a region uses.
  void uses(const Region& r, std::set<ValueId>& out) const {
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
};

}  // namespace

// First fit, in the order in which buffers come to life.
void place_buffers(Kernel& k) {
  struct Range {
    size_t first = SIZE_MAX, last = 0;
  };
  std::map<std::string, Range> live;
  for (const Role& r : k.roles)
    for (size_t n = 0; n < r.body.body.size(); ++n) {
      std::set<std::string> names;
      touched(r.body.body[n], names);
      for (const std::string& b : names) {
        live[b].first = std::min(live[b].first, n);
        live[b].last = std::max(live[b].last, n);
        if (&r != &k.roles[0]) live[b] = {0, SIZE_MAX};  // roles run side by side
      }
    }
  std::erase_if(k.buffers, [&](const SharedBuffer& b) { return !live.count(b.name); });
  std::stable_sort(k.buffers.begin(), k.buffers.end(),
                   [&](const SharedBuffer& a, const SharedBuffer& b) {
                     return live[a.name].first < live[b.name].first;
                   });
  for (size_t n = 0; n < k.buffers.size(); ++n) {
    SharedBuffer& b = k.buffers[n];
    int64_t at = 0;
    for (bool moved = true; moved;) {
      moved = false;
      for (size_t m = 0; m < n; ++m) {
        const SharedBuffer& o = k.buffers[m];
        const Range &x = live[b.name], &y = live[o.name];
        if (x.last < y.first || y.last < x.first) continue;
        if (at < o.offset + bytes_of(o) && o.offset < at + bytes_of(b)) {
          at = (o.offset + bytes_of(o) + b.align - 1) / b.align * b.align;
          moved = true;
        }
      }
    }
    b.offset = at;
  }
}

int64_t register_pressure(const Kernel& k) {
  int64_t most = 0;
  for (const Role& r : k.roles) most = std::max(most, Pressure(k).region(r.body, {}));
  return most;
}

}  // namespace nautilus::memory::lowering
