#include "gui/models/budget_data.h"

#include <algorithm>
#include <set>

#include "compiler/memory/liveness.h"

namespace nautilus::gui {

using memory::Instr;
using memory::Kernel;

namespace {

QString text_from(const std::string& s) { return QString::fromStdString(s); }

// The instruction that makes a value, or whose region has it as an argument.
void makers(const memory::Region& r, std::map<memory::ValueId, const Instr*>& out) {
  for (const Instr& i : r.body) {
    for (memory::ValueId v : i.results) out[v] = &i;
    for (const memory::Region& inner : i.regions) {
      for (memory::ValueId v : inner.args) out[v] = &i;
      makers(inner, out);
    }
  }
}

void in_order(const memory::Region& r, std::vector<const Instr*>& out) {
  for (const Instr& i : r.body) {
    out.push_back(&i);
    for (const memory::Region& inner : i.regions) in_order(inner, out);
  }
}

// "f32[i: 64, j: 64]", without where it lies.
QString short_type(Type elem, const std::vector<memory::Axis>& axes) {
  QString s = QString::fromUtf8(type_name(elem).data());
  if (axes.empty()) return s;
  QStringList parts;
  for (const memory::Axis& a : axes)
    parts << QStringLiteral("%1: %2").arg(text_from(a.name)).arg(a.extent);
  return s + QLatin1Char('[') + parts.join(QStringLiteral(", ")) + QLatin1Char(']');
}

void registers(const Kernel& k, KernelBudget& out) {
  std::map<const Instr*, int64_t> behind;
  std::set<memory::ValueId> most_live;
  const Instr* at = nullptr;
  for (const memory::Role& r : k.roles)
    memory::for_each_point(r, [&](const Instr* i, const std::set<memory::ValueId>& live) {
      const int64_t n = memory::registers_of(k, live);
      if (i) behind[i] = n;
      if (n <= out.tile_registers) return;
      out.tile_registers = n;
      most_live = live;
      at = i;
    });
  std::map<memory::ValueId, const Instr*> by;
  for (const memory::Role& r : k.roles) makers(r.body, by);
  for (memory::ValueId v : most_live) {
    const auto type = k.types.find(v);
    if (type == k.types.end()) continue;
    const auto maker = by.find(v);
    RegisterValue value{v,
                        short_type(type->second.elem, type->second.axes),
                        {},
                        -1,
                        memory::registers_of(type->second)};
    if (maker != by.end())
      value.statement = text_from(maker->second->origin), value.node = maker->second->node;
    out.live.push_back(std::move(value));
  }
  std::stable_sort(
      out.live.begin(), out.live.end(),
      [](const RegisterValue& a, const RegisterValue& b) { return a.registers > b.registers; });
  std::vector<const Instr*> order;
  for (const memory::Role& r : k.roles) in_order(r.body, order);
  for (const Instr* i : order) {
    if (i == at) out.peak = out.pressure.size();
    out.pressure.push_back({behind[i], QString::fromUtf8(memory::code_name(i->code).data()),
                            text_from(i->origin), i->node});
  }
  if (!at)  // at the end of a region: the highest instruction stands for it
    for (size_t n = 0; n < out.pressure.size(); ++n)
      if (out.pressure[n].registers > out.pressure[out.peak].registers) out.peak = n;
  out.registers =
      std::min<int64_t>(kRegistersOfThread, (out.tile_registers + kRegistersBeside + 7) / 8 * 8);
}

void shared(const Kernel& k, KernelBudget& out) {
  std::vector<const Instr*> order;
  for (const memory::Role& r : k.roles) in_order(r.body, order);
  const double count = std::max<double>(1, double(order.size()));
  for (const memory::SharedBuffer& b : k.buffers) {
    SharedBlock block;
    block.name = text_from(b.name);
    block.type = short_type(b.elem, b.axes);
    block.slots = b.slots;
    block.slot_bytes = b.place.elements() * type_bytes(b.elem);
    block.offset = std::max<int64_t>(0, b.offset);
    block.bytes = block.slot_bytes * b.slots;
    block.first = 1, block.last = 0;
    for (size_t n = 0; n < order.size(); ++n) {
      const Instr& i = *order[n];
      if (i.buffer != b.name && i.buffer_b != b.name) continue;
      block.first = std::min(block.first, double(n) / count);
      block.last = std::max(block.last, double(n + 1) / count);
      const bool fills = i.code == memory::Code::CopyAsync || i.code == memory::Code::CopyPlain ||
                         i.code == memory::Code::CopyBulk || i.code == memory::Code::StoreShared;
      if (fills && block.node < 0) block.node = i.node, block.statement = text_from(i.origin);
    }
    if (block.last < block.first) block.first = 0, block.last = 1;
    out.shared.push_back(std::move(block));
  }
  out.shared_bytes = k.shared_bytes();
  for (const memory::MBarrier& b : k.mbarriers) out.barrier_bytes += 8 * b.slots;
}

void occupancy(const memory::Target& target, KernelBudget& out, const sched::Machine& m) {
  out.occupancy = cuda::occupancy(target, out.threads, int(out.registers), out.shared_bytes);
  const double warps = m.max_threads_per_unit / 32.0;
  out.limits = {
      {QStringLiteral("registers"),
       std::floor(m.registers_per_unit.value / 4 / (double(out.registers) * out.threads))},
      {QStringLiteral("shared memory"),
       std::floor((m.shared_per_unit.value + 1024) / (double(out.shared_bytes) + 1024))},
      {QStringLiteral("threads"), std::floor(warps / std::max(1, out.warps))},
  };
  std::stable_sort(
      out.limits.begin(), out.limits.end(),
      [](const OccupancyLimit& a, const OccupancyLimit& b) { return a.blocks < b.blocks; });
}

}  // namespace

KernelBudget kernel_budget(const memory::Module& module, const Kernel& k, const sched::Machine& m) {
  KernelBudget out;
  out.name = text_from(k.name), out.comment = text_from(k.comment);
  out.threads = k.threads(), out.warps = out.threads / 32;
  out.blocks_per_unit = k.blocks_per_sm;
  for (const tile::GridDim& g : k.grid)
    if (g.extent.is_const()) out.grid *= g.extent.constant();
  registers(k, out);
  shared(k, out);
  if (const auto target = memory::parse_target(module.target)) {
    out.shared_capacity = target->shared_bytes;
    occupancy(*target, out, m);
  }
  out.timeline = simulate(module, k, m);
  return out;
}

Budget make_budget(const PlanStages& p, const sched::Machine& m) {
  Budget out;
  out.node = p.node;
  out.machine = text_from(m.name);
  out.cost = p.cost;
  out.statements = p.statements;
  out.lowered_with = p.lowered_with;
  if (!p.memory) {
    // Why there is no memory IR; that a spec has no text is another matter.
    for (const Stage& s : p.stages)
      if (s.refusal && !out.refusal && s.syntax != Syntax::Spec && s.syntax != Syntax::Loops)
        out.refusal = s.refusal;
    if (!out.refusal)
      out.refusal = Refusal{"count registers and shared memory", m.name,
                            "memory IR is made for GPUs only", "choose a GPU as machine"};
    return out;
  }
  out.target = text_from(p.memory->target);
  for (const Kernel& k : p.memory->kernels) out.kernels.push_back(kernel_budget(*p.memory, k, m));
  return out;
}

}  // namespace nautilus::gui
