// Small questions about modules, and the targets.
#include <algorithm>
#include <array>
#include <charconv>

#include "compiler/memory/ir.h"

namespace nautilus::memory {

std::string_view code_name(Code c) {
  static constexpr std::array<std::string_view, 38> names{
      "const",        "iota",        "map",          "cast",        "mask",
      "reduce",       "exchange",    "rename",       "slice",       "load_global", "store_global",
      "atomic_add",   "load_shared", "store_shared", "copy_plain",  "copy_async",
      "copy_commit",  "copy_wait",   "copy_bulk",    "bulk_store",  "bulk_commit",
      "bulk_wait",    "mma",         "wgmma",        "mma_fence",   "mma_commit",
      "mma_wait",     "arrive",      "expect_bytes", "wait",        "named_sync",
      "named_arrive", "block_sync",  "warp_sync",    "proxy_fence", "set_registers",
      "for",          "if"};
  return names[size_t(c)];
}

int Kernel::threads() const {
  int warps = 0;
  for (const Role& r : roles) warps = std::max(warps, r.first_warp + r.warps);
  return 32 * warps;
}

int64_t Kernel::shared_bytes() const {
  int64_t end = 0, slots = 0;
  for (const SharedBuffer& b : buffers)
    if (b.offset >= 0)
      end = std::max(end, b.offset + b.place.elements() * b.slots * type_bytes(b.elem));
  for (const MBarrier& b : mbarriers) slots += b.slots;
  return (slots ? (end + 7) / 8 * 8 : end) + 8 * slots;
}

namespace {
template <class T>
const T* named(const std::vector<T>& items, const std::string& name) {
  for (const T& t : items)
    if (t.name == name) return &t;
  return nullptr;
}
}  // namespace

const TensorDecl* find_tensor(const Module& m, const std::string& name) {
  return named(m.tensors, name);
}
const SharedBuffer* find_buffer(const Kernel& k, const std::string& name) {
  return named(k.buffers, name);
}
const MBarrier* find_mbarrier(const Kernel& k, const std::string& name) {
  return named(k.mbarriers, name);
}
const NamedBarrier* find_named(const Kernel& k, const std::string& name) {
  return named(k.named, name);
}

// Shared memory of one block: CUDA programming guide, "Technical specifications per compute
// capability".
Expected<Target> parse_target(const std::string& name) {
  static constexpr std::pair<int, int> kilobytes[] = {{80, 163}, {86, 99},   {87, 163},  {89, 99},
                                                      {90, 227}, {100, 227}, {103, 227}, {120, 99}};
  Target t;
  const char* end = name.data() + name.size();
  if (name.starts_with("sm_")) {
    auto r = std::from_chars(name.data() + 3, end, t.capability);
    t.exact = r.ptr != end && *r.ptr == 'a';
    if (r.ec == std::errc() && r.ptr + (t.exact ? 1 : 0) == end)
      for (const auto& [capability, kb] : kilobytes)
        if (capability == t.capability) {
          t.shared_bytes = int64_t(kb) * 1024;
          return t;
        }
  }
  return Refusal{"compile for " + name, "", "not a target that is known here",
                 "sm_80, sm_86, sm_87, sm_89, sm_90, sm_90a, sm_100, sm_103 or sm_120"};
}

}  // namespace nautilus::memory
