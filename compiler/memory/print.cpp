// Text form `.mtile` of the memory IR; parse.cpp reads it back exactly.
#include <cmath>

#include "compiler/memory/lines.h"
#include "compiler/tile/text.h"

namespace nautilus::memory {
namespace {

using tile::quote_name;
using tile::quote_text;

// Names of placements by their text.
using Names = std::map<std::string, std::string>;
Names names_of(const Kernel& k) {
  Names names;
  for (const auto& [name, place] : k.layouts) names.emplace(to_string(place), name);
  return names;
}

// " in acc" or " in {register: ...}"; nothing for the placement of a single value.
std::string place_text(const Placement& p, const Names& names) {
  if (p == Placement{} && p.map.in().empty() && p.map.out().empty()) return "";
  const std::string text = to_string(p);
  auto it = names.find(text);
  return " in " + (it == names.end() ? "{" + text + "}" : quote_name(it->second));
}

std::string fragment_text(const FragmentType& t, const Names& names) {
  std::string s(type_name(t.elem));
  if (!t.axes.empty()) s += "[" + tile::axes_text(t.axes) + "]";
  return s + place_text(t.place, names);
}

std::string value_text(ValueId v) { return "%" + std::to_string(v); }
std::string typed(ValueId v, const Kernel& k, const Names& names) {
  auto it = k.types.find(v);
  return value_text(v) + ": " + (it == k.types.end() ? "?" : fragment_text(it->second, names));
}

template <class T, class F>
std::string list(const std::vector<T>& items, F text) {
  std::string s;
  for (size_t i = 0; i < items.size(); ++i) s += (i ? ", " : "") + text(items[i]);
  return s;
}
std::string index_list(const std::vector<IndexExpr>& index) {
  return list(index, [](const IndexExpr& e) { return nautilus::to_string(e); });
}

// "Q[64*i0 + i, %5]": gathered dims show the value that indexes them.
std::string element(const Instr& i) {
  std::string s = quote_name(i.tensor) + "[";
  for (size_t d = 0; d < i.index.size(); ++d) {
    const int g = d < i.gather.size() ? i.gather[d] : -1;
    const bool gathered = g >= 0 && size_t(g) < i.operands.size();
    s += (d ? ", " : "") +
         (gathered ? value_text(i.operands[size_t(g)]) : nautilus::to_string(i.index[d]));
  }
  return s + "]";
}
std::string slot_text(const std::string& name, const IndexExpr& slot) {
  return quote_name(name) + "[" + nautilus::to_string(slot) + "]";
}
std::string part_text(const std::string& buffer, const IndexExpr& slot,
                      const std::vector<IndexExpr>& index) {
  return slot_text(buffer, slot) + "(" + index_list(index) + ")";
}
std::string where(const Instr& i) {
  return i.cond == Cond::always() ? "" : " where (" + nautilus::to_string(i.cond) + ")";
}
std::string fill(const Instr& i) {
  return i.value != 0 || std::signbit(i.value) ? " fill " + tile::number_text(i.value) : "";
}
std::string flags(const Instr& i) {
  return std::string(i.matrix ? " matrix" : "") + (i.transposed ? " transposed" : "") +
         (i.vector ? " vector " + std::to_string(i.vector) : "");
}
std::string first(const Instr& i) { return i.operands.empty() ? "?" : value_text(i.operands[0]); }

std::string loop(const Instr& i, const Kernel& k, const Names& names) {
  std::string s = " " + quote_name(i.iv) + " in [" + nautilus::to_string(i.lower) + ", " +
                  nautilus::to_string(i.upper) + ") step " + std::to_string(i.step);
  if (i.regions.empty() || i.regions[0].args.empty()) return s;
  s += " carry (";
  for (size_t n = 0; n < i.regions[0].args.size(); ++n)
    s += (n ? ", " : "") + typed(i.regions[0].args[n], k, names) + " = " +
         (n < i.operands.size() ? value_text(i.operands[n]) : "?");
  return s + ")";
}

std::string product(const Instr& i) {
  std::string s = " " + std::string(shape_name(i.shape)) + " " + list(i.operands, value_text);
  if (i.code == Code::Mma) return s + " over (" + list(i.axes, quote_name) + ")";
  if (!i.buffer.empty()) s += ", " + part_text(i.buffer, i.slot, i.index);
  return s + ", " + part_text(i.buffer_b, i.slot_b, i.index_b) + " over (" +
         tile::axes_text(i.span) + ")";
}

// What follows the name of the instruction.
std::string rest(const Instr& i, const Kernel& k, const Names& names) {
  const auto operands = list(i.operands, value_text);
  switch (i.code) {
    case Code::Const:
      return " " + tile::number_text(i.value);
    case Code::Iota:
      return " " + (i.index.empty() ? "0" : nautilus::to_string(i.index[0]));
    case Code::Map:
    case Code::Cast:
    case Code::Exchange:
      return " " + operands;
    case Code::Mask:
      return " " + operands + " where (" + nautilus::to_string(i.cond) + ")";
    case Code::Reduce:
      return " " + std::string(poly::reduce_op_name(i.reduce)) + " " + operands + " over (" +
             list(i.axes, quote_name) + ")" +
             (i.combine ? " combine " + quote_text(to_string(i.combine)) : "") +
             (i.identity ? " identity " + quote_text(to_string(i.identity)) : "");
    case Code::Rename:
      return " " + operands + " (" +
             list(i.renames,
                  [](const auto& r) {
                    return quote_name(r.first) + " -> " + quote_name(r.second);
                  }) +
             ")";
    case Code::Slice:
      return " " + operands + " from (" + index_list(i.index) + ")";
    case Code::LoadGlobal:
      return " " + element(i) + where(i) + fill(i) + flags(i);
    case Code::StoreGlobal:
      return " " + element(i) + " = " + first(i) + where(i) + flags(i);
    case Code::AtomicAdd:
      return " " + element(i) + " += " + first(i) + where(i) + flags(i);
    case Code::LoadShared:
      return " " + part_text(i.buffer, i.slot, i.index) + where(i) + fill(i) + flags(i);
    case Code::StoreShared:
      return " " + part_text(i.buffer, i.slot, i.index) + " = " + first(i) + where(i) + flags(i);
    case Code::CopyPlain:
    case Code::CopyAsync:
      return " " + slot_text(i.buffer, i.slot) + " = " + element(i) + where(i) + flags(i);
    case Code::CopyBulk:
      return " " + slot_text(i.buffer, i.slot) + " = " + element(i) + where(i) + " signal " +
             slot_text(i.barrier, i.slot_b);
    case Code::BulkStore:
      return " " + element(i) + " = " + slot_text(i.buffer, i.slot) + where(i);
    case Code::CopyWait:
    case Code::SetRegisters:
      return " " + std::to_string(i.count);
    case Code::BulkWait:
      return " " + std::to_string(i.count) + (i.read ? " read" : "");
    case Code::MmaWait:
      return " " + std::to_string(i.count) + (operands.empty() ? "" : " (" + operands + ")");
    case Code::Mma:
    case Code::Wgmma:
      return product(i);
    case Code::Arrive:
      return " " + slot_text(i.barrier, i.slot) + " count " + std::to_string(i.count);
    case Code::ExpectBytes:
      return " " + slot_text(i.barrier, i.slot) + " bytes " + std::to_string(i.count);
    case Code::Wait:
      return " " + slot_text(i.barrier, i.slot) + " parity " + nautilus::to_string(i.parity);
    case Code::NamedSync:
    case Code::NamedArrive:
      return " " + quote_name(i.barrier);
    case Code::For:
      return loop(i, k, names);
    case Code::If:
      return i.operands.empty() ? " (" + nautilus::to_string(i.cond) + ")" : " any " + operands;
    case Code::CopyCommit:
    case Code::BulkCommit:
    case Code::MmaFence:
    case Code::MmaCommit:
    case Code::BlockSync:
    case Code::WarpSync:
    case Code::ProxyFence:
      return "";
  }
  return "";
}

std::string origin_text(const Instr& i) {
  if (i.origin.empty() && i.node < 0) return "";
  return " @" + (i.origin.empty() ? "" : quote_name(i.origin)) +
         (i.node < 0 ? "" : ":" + std::to_string(i.node));
}

std::string line(const Instr& i, const Kernel& k, const Names& names) {
  std::string s = list(i.results, [&](ValueId v) { return typed(v, k, names); });
  if (!s.empty()) s += " = ";
  return s + std::string(i.code == Code::Map ? op_name(i.op) : code_name(i.code)) +
         rest(i, k, names) + origin_text(i);
}

void print_region(MappedText& out, const Region& r, const Kernel& k, const Names& names, int indent,
                  const LineOrigin& around) {
  const std::string pad(size_t(indent) * 2, ' ');
  for (const Instr& i : r.body) {
    const LineOrigin here{i.origin, i.node};
    out.at(here);
    if (!i.note.empty()) out += pad + "note " + quote_text(i.note) + "\n";
    out += pad + line(i, k, names);
    for (size_t n = 0; n < i.regions.size(); ++n) {
      out += n ? pad + "} else {\n" : " {\n";
      print_region(out, i.regions[n], k, names, indent + 1, here);
    }
    out += i.regions.empty() ? "\n" : pad + "}\n";
  }
  out.at(around);
  if (!r.yields.empty()) out += pad + "yield " + list(r.yields, value_text) + "\n";
}

std::string buffer_text(const SharedBuffer& b, const Names& names) {
  return quote_name(b.name) + ": " + std::string(type_name(b.elem)) + "[" +
         tile::axes_text(b.axes) + "] slots " + std::to_string(b.slots) +
         (b.offset < 0 ? "" : " offset " + std::to_string(b.offset)) + " align " +
         std::to_string(b.align) + place_text(b.place, names);
}

void print_kernel(MappedText& out, const Kernel& k) {
  const Names names = names_of(k);
  out += "  kernel " + quote_name(k.name) + " {\n";
  if (!k.comment.empty()) out += "    comment " + quote_text(k.comment) + "\n";
  for (const GridDim& g : k.grid)
    out += std::string(g.descending ? "    grid_descending " : "    grid ") + quote_name(g.iv) +
           (g.together > 1 ? " together " + std::to_string(g.together) : "") + " < " +
           nautilus::to_string(g.extent) + "\n";
  out += "    blocks_per_sm " + std::to_string(k.blocks_per_sm) + "\n";
  for (const auto& [name, place] : k.layouts)
    out += "    layout " + quote_name(name) + " {" + to_string(place) + "}\n";
  for (const SharedBuffer& b : k.buffers) out += "    buffer " + buffer_text(b, names) + "\n";
  for (const MBarrier& b : k.mbarriers)
    out += "    mbarrier " + quote_name(b.name) + " slots " + std::to_string(b.slots) +
           " arrivals " + std::to_string(b.arrivals) + "\n";
  for (const NamedBarrier& b : k.named)
    out += "    named " + quote_name(b.name) + " id " + std::to_string(b.id) + " warps " +
           std::to_string(b.warps) + "\n";
  out += "    values " + std::to_string(k.next_value) + "\n";
  for (const Role& r : k.roles) {
    out += "    role " + quote_name(r.name) + " first " + std::to_string(r.first_warp) + " warps " +
           std::to_string(r.warps) + " {\n";
    print_region(out, r.body, k, names, 3, {});
    out += "    }\n";
  }
  out += "  }\n";
}

}  // namespace

std::string to_string(const FragmentType& t) { return fragment_text(t, {}); }

std::string print(const Instr& i, const Kernel& k) { return line(i, k, names_of(k)); }

MappedLines to_lines(const Module& m) {
  MappedText out;
  out += "module " + quote_name(m.name) + " {\n";
  out += "  target " + quote_name(m.target) + "\n";
  if (!m.sizes.empty()) out += "  sizes " + list(m.sizes, quote_name) + "\n";
  out += tile::multiples_text(m.multiples);
  for (const TensorDecl& t : m.tensors) out += "  tensor " + tile::declaration_text(t) + "\n";
  for (const Kernel& k : m.kernels) print_kernel(out, k);
  out += "}\n";
  return std::move(out).take();
}

std::string print(const Module& m) { return to_lines(m).text; }

}  // namespace nautilus::memory
