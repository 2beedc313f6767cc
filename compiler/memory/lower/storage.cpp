// Bytes of shared memory, and registers.
#include <algorithm>

#include "compiler/memory/liveness.h"
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

}  // namespace nautilus::memory::lowering
