// Bulk tensor copies: boxes of tensors by the copy engine, through tensor maps that are parameters
// of the kernel.
#include <algorithm>

#include "compiler/backend/cuda/emitter.h"
#include "compiler/memory/checks.h"

namespace nautilus::cuda {

// The parameter whose boxes are a block of this buffer; made where there is none yet.
std::string KernelEmitter::tensor_map(const Instr& i, const SharedBuffer& b, int swizzle) {
  const TensorDecl& t = *memory::find_tensor(m_, i.tensor);
  TensorMap map;
  map.tensor = t.name, map.elem = t.type, map.swizzle = swizzle;
  for (size_t d = t.extents.size(); d-- > 0;) {
    const auto axis = memory::plain_axis(i.index[d], b.axes);
    map.extents.push_back(t.extents[d]);
    map.box.push_back(axis ? int(b.place.block(*axis)) : 1);
  }
  for (const TensorMap& m : launch_.maps)
    if (m.tensor == map.tensor && m.box == map.box && m.swizzle == map.swizzle) return m.parameter;
  map.parameter = names_.fresh(source_.tensors.at(t.name) + "_map");
  launch_.maps.push_back(map);
  helpers_.use("tensor_map");
  return map.parameter;
}

void KernelEmitter::bulk(const Instr& i) {
  const SharedBuffer& b = *memory::find_buffer(k_, i.buffer);
  const bool load = i.code == Code::CopyBulk;
  const auto inner = memory::plain_axis(i.index.back(), b.axes);
  const auto swizzle =
      inner ? memory::hardware_swizzle(b.place, type_bytes(b.elem), *inner) : std::nullopt;
  if (!swizzle) return refuse(i, "no swizzle of the hardware lays the buffer out");
  // The engine fills a box dimension by dimension, the innermost first.
  int bit = 0;
  std::vector<std::string> axes(i.index.size());
  for (size_t d = i.index.size(); d-- > 0;) {
    const auto axis = memory::plain_axis(i.index[d], b.axes);
    if (!axis) continue;
    axes[d] = *axis;
    for (int n = 0; n < b.place.map.out_bits(*axis); ++n, ++bit)
      if (!(b.place.map.image("offset", bit, *axis) >> n & 1))
        return refuse(i, "the buffer's dimensions are in another order than the tensor's");
  }
  const std::string map = tensor_map(i, b, *swizzle);
  const std::string slot = slot_base(b, i.slot), rank = std::to_string(i.index.size()) + "d";
  const int64_t block = (int64_t(1) << b.place.map.in_bits("offset")) * type_bytes(b.elem);
  open("if (" + elected() + ") {");
  for (int64_t r = 0; r < b.place.repeat_count(); ++r) {
    const auto start = b.place.at(r << b.place.map.in_bits("offset"));
    std::string coordinates;
    size_t gathered = i.operands.size();
    for (size_t d = i.index.size(); d-- > 0;) {
      std::string x;
      if (!i.gather.empty() && i.gather[d] >= 0)
        x = read(i.operands[--gathered], Pick{"", {0}});
      else if (axes[d].empty())
        x = uniform(i.index[d]);
      else
        x = uniform(i.index[d] - IndexExpr::var(axes[d]) + start.at(axes[d]));
      coordinates += ", " + x;
    }
    const std::string at = slot + (r ? " + " + std::to_string(r * block) : "");
    line(load ? helpers_.use("bulk_load_" + rank) + "(" + at + ", &" + map + ", " +
                    barrier_slot(i.barrier, i.slot_b) + coordinates + ");"
              : helpers_.use("bulk_store_" + rank) + "(&" + map + ", " + at + coordinates + ");");
  }
  close();
}

}  // namespace nautilus::cuda
