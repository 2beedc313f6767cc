// The frame of a kernel: its signature, and the constants of a thread: sizes, the block's place,
// shared addresses.
#include <algorithm>

#include "compiler/backend/cuda/emitter.h"

namespace nautilus::cuda {
namespace {

std::string header_of(Type t) {
  switch (t) {
    case Type::F16:
      return "f16";
    case Type::BF16:
      return "bf16";
    case Type::E4M3:
    case Type::E5M2:
      return "fp8";
    default:
      return "";
  }
}

}  // namespace

void KernelEmitter::find_touched(const Region& r) {
  for (const Instr& i : r.body) {
    const bool writes =
        i.code == Code::StoreGlobal || i.code == Code::AtomicAdd || i.code == Code::BulkStore;
    if (!i.tensor.empty()) (writes ? written_ : read_).insert(i.tensor);
    for (const Region& inner : i.regions) find_touched(inner);
  }
}

void KernelEmitter::signature() {
  for (const std::string& l : wrapped(k_.comment, 96))
    if (!l.empty()) lines_.push_back({"// " + l});
  std::string grid;
  for (const auto& g : k_.grid) grid += (grid.empty() ? "" : " x ") + nautilus::to_string(g.extent);
  lines_.push_back({"// Grid: " + (grid.empty() ? "one block" : grid + " blocks") + " of " +
                    std::to_string(k_.threads()) + " threads, " +
                    std::to_string(launch_.shared_bytes) + " bytes of shared memory."});
  for (const auto& [name, place] : k_.layouts)
    lines_.push_back({"// Layout " + name + ": " + memory::to_string(place)});
  std::vector<std::string> parameters;
  for (const TensorDecl& t : m_.tensors) {
    if (const std::string h = header_of(t.type); !h.empty()) helpers_.use("header_" + h);
    // What other threads write is read after a barrier: a restricted pointer would let the compiler
    // take what this thread knew before it.
    const bool written = written_.count(t.name), both = written && read_.count(t.name);
    parameters.push_back((written ? "" : "const ") + std::string(c_type(t.type)) +
                         (both ? "* " : "* __restrict__ ") + source_.tensors.at(t.name));
  }
  for (const std::string& s : m_.sizes)
    parameters.push_back("int64_t " + source_.sizes.at(s) + "_size");
  for (const TensorMap& map : launch_.maps) {
    parameters.push_back("const __grid_constant__ TensorMap " + map.parameter);
  }
  lines_.push_back({"extern \"C\" __global__ void __launch_bounds__(" +
                    std::to_string(k_.threads()) + ", " + std::to_string(k_.blocks_per_sm) + ")"});
  std::string l = launch_.kernel + "(";
  for (size_t n = 0; n < parameters.size(); ++n) {
    const std::string piece = parameters[n] + (n + 1 < parameters.size() ? "," : ") {");
    if (l.size() + piece.size() + 1 > 100) {
      lines_.push_back({l});
      l = "    ";
    } else if (n) {
      l += " ";
    }
    l += piece;
  }
  if (parameters.empty()) l += ") {";
  lines_.push_back({l});
}

// Sizes, the block's place in the grid, shared buffers.
void KernelEmitter::frame() {
  auto constant = [&](const std::string& text) { prologue_.push_back({"  " + text}); };
  for (const std::string& s : m_.sizes) {
    const std::string name = source_.sizes.at(s);
    constant("const int " + name + " = int(" + name + "_size);");
    text_[s] = name;
    facts_.ranges[s] = {0, std::nullopt};
    const auto multiple = m_.multiples.find(s);
    facts_.divisors[s] = multiple == m_.multiples.end() ? 1 : multiple->second;
  }
  std::string block = "blockIdx.x";
  std::string within;   // the place in a section of blocks that start together
  int64_t section = 1;  // its length, along the next dim
  for (size_t n = k_.grid.size(); n-- > 0;) {
    const auto& g = k_.grid[n];
    const Range extent = facts_.range(g.extent);
    facts_.ranges[g.iv] = {0, extent.high ? std::optional(*extent.high - 1) : std::nullopt};
    facts_.divisors[g.iv] = 1;
    facts_.bounds.push_back({g.iv, 0, g.extent - 1});
    if (g.extent == IndexExpr(1)) {
      text_[g.iv] = "0";
      facts_.ranges[g.iv] = {0, 0};
      facts_.divisors[g.iv] = 0;
      continue;
    }
    const std::string name = names_.fresh(g.iv);
    text_[g.iv] = name;
    if (g.together > 1) {
      within = names_.fresh("in_section");
      constant("const unsigned " + within + " = " + block + " % " + std::to_string(g.together) +
               "u;");
      const std::string rest = names_.fresh("block");
      constant("const unsigned " + rest + " = " + block + " / " + std::to_string(g.together) +
               "u;");
      block = rest;
    }
    bool last = true;
    for (size_t m = 0; m < n; ++m) last = last && k_.grid[m].extent == IndexExpr(1);
    // A dim whose points start in sections counts those here. One without points has no blocks.
    const std::string count =
        g.extent.is_const()
            ? std::to_string(std::max<int64_t>(1, g.extent.constant() / section)) + "u"
            : "unsigned(" + uniform(g.extent) + ")";
    std::string at = block + (last ? "" : " % " + count);
    if (section > 1)
      at = (last ? at : in_parens(at)) + " * " + std::to_string(section) + "u + " + within;
    at = "int(" + at + ")";
    constant("const int " + name + " = " + (g.descending ? "int(" + count + ") - 1 - " + at : at) +
             ";");
    section = g.together;
    if (last) continue;
    const std::string rest = names_.fresh("block");
    constant("const unsigned " + rest + " = " + block + " / " + count + ";");
    block = rest;
  }
  constant("const int lane = threadIdx.x % 32;");
  constant("const int warp_index = __shfl_sync(0xffffffffu, int(threadIdx.x) / 32, 0);");
  int64_t end = 0;
  for (const SharedBuffer& b : k_.buffers)
    if (b.offset >= 0)
      end = std::max(end, b.offset + b.place.elements() * b.slots * type_bytes(b.elem));
  if (!k_.buffers.empty() || !k_.mbarriers.empty()) {
    constant("extern __shared__ __align__(1024) uint8_t shared[];");
    constant("const uint32_t shared_base = " + helpers_.use("shared_address") + "(shared);");
  }
  auto at = [&](const std::string& name, int64_t offset, const std::string& comment) {
    buffers_[name] = names_.fresh(name);
    constant("const uint32_t " + buffers_[name] + " = shared_base" +
             (offset ? " + " + std::to_string(offset) : "") + ";  // " + comment);
  };
  for (const SharedBuffer& b : k_.buffers) {
    int64_t offset = b.offset;
    if (offset < 0) {
      offset = (end + b.align - 1) / b.align * b.align;
      end = offset + b.place.elements() * b.slots * type_bytes(b.elem);
    }
    std::string axes;
    for (const Axis& a : b.axes)
      axes += (axes.empty() ? "" : ", ") + a.name + ": " + std::to_string(a.extent);
    at(b.name, offset,
       std::string(type_name(b.elem)) + "[" + axes + "]" +
           (b.slots > 1 ? ", " + std::to_string(b.slots) + " slots" : ""));
  }
  if (!k_.mbarriers.empty()) end = (end + 7) / 8 * 8;
  for (const memory::MBarrier& b : k_.mbarriers) {
    at(b.name, end, "mbarriers, " + std::to_string(b.slots) + " slots");
    end += 8 * b.slots;
  }
  launch_.shared_bytes = end;
  if (k_.mbarriers.empty()) return;
  const std::string init = helpers_.use("mbarrier_init");
  constant("if (threadIdx.x == 0) {");
  for (const memory::MBarrier& b : k_.mbarriers)
    for (int n = 0; n < b.slots; ++n)
      constant("  " + init + "(" + buffers_[b.name] + (n ? " + " + std::to_string(8 * n) : "") +
               ", " + std::to_string(b.arrivals) + ");");
  constant("  mbarrier_init_fence();");
  constant("}");
  constant("__syncthreads();");
}

}  // namespace nautilus::cuda
