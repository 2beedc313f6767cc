// Rules of products: do fragments and shared tiles lie as the instruction wants them?
#include <algorithm>

#include "compiler/memory/checks.h"
#include "compiler/memory/f2.h"

namespace nautilus::memory {
namespace {

using Images = std::vector<uint64_t>;

// The axes of a product: rows and columns of the accumulator, contracted.
struct Roles {
  std::vector<std::string> m, n, k;
};

bool has(const std::vector<std::string>& names, const std::string& name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

// Images of a placement's bits in the axes of a product, packed in one common way.
class View {
 public:
  View(const Placement& p, const Packing& packing) : map_(p.map), packing_(packing) {}
  uint64_t reg(int b) const { return packing_.image(map_, "register", b); }
  uint64_t lane(int b) const { return packing_.image(map_, "lane", b); }
  uint64_t warp(int b) const { return packing_.image(map_, "warp", b); }
  int regs() const { return map_.in_bits("register"); }
  int warps() const { return map_.in_bits("warp"); }

 private:
  const Linear& map_;
  const Packing& packing_;
};

uint64_t bits_of_axes(const Packing& p, const std::vector<std::string>& axes) {
  uint64_t mask = 0;
  for (const std::string& a : axes) mask |= p.put(a, ~uint64_t(0) >> 2);
  return mask;
}

// Blocks of two placements along these axes, and their repeats in order.
bool same_blocks(const Placement& a, const Placement& b, const std::vector<std::string>& axes) {
  auto repeats = [&](const Placement& p) {
    std::vector<Extent> r;
    for (const Extent& e : p.repeats)
      if (e.count > 1 && has(axes, e.axis)) r.push_back(e);
    return r;
  };
  for (const std::string& x : axes)
    if (a.block(x) != b.block(x)) return false;
  return repeats(a) == repeats(b);
}

// Registers of `part` above the instruction's (the first `own`) reach all instructions that those
// of the accumulator name in the axes of `mask`: the same rows or columns in the same order.
bool covers(const View& part, int own, const View& c, uint64_t mask) {
  Basis basis;
  for (int b = own; b < part.regs(); ++b) basis.add(part.reg(b) & mask);
  for (int b = 2; b < c.regs(); ++b)
    if (!basis.contains(c.reg(b) & mask)) return false;
  return true;
}

// Every warp holds all of the contracted block.
bool covers_block(const View& part, uint64_t mask) {
  Basis basis;
  for (int b = 0; b < part.regs(); ++b) basis.add(part.reg(b) & mask);
  for (int b = 0; b < 5; ++b) basis.add(part.lane(b) & mask);
  return basis.rank() == std::popcount(mask);
}

// Nonzero and in these axes alone.
bool pure(const Images& images, uint64_t mask) {
  return std::all_of(images.begin(), images.end(), [&](uint64_t v) { return v && !(v & ~mask); });
}

struct Masks {
  uint64_t m, n, k;
};

// Rows and columns of one instruction's accumulator, lowest bits first.
Images row_bits(const View& c, bool warpgroup) {
  Images rows{c.lane(2), c.lane(3), c.lane(4), c.reg(1)};
  if (warpgroup) rows.insert(rows.end(), {c.warp(0), c.warp(1)});
  return rows;
}
Images col_bits(const View& c) { return {c.reg(0), c.lane(0), c.lane(1)}; }
// Contracted bits of one instruction.
Images a_contracted(const View& a, int k) {
  return k == 16 ? Images{a.reg(0), a.lane(0), a.lane(1), a.reg(2)}
                 : Images{a.lane(0), a.lane(1), a.reg(1)};
}
Images b_contracted(const View& b, int k) {
  return k == 16 ? Images{b.reg(0), b.lane(0), b.lane(1), b.reg(1)}
                 : Images{b.lane(0), b.lane(1), b.reg(0)};
}

std::string check_accumulator(const FragmentType& c, const View& v, const Masks& mask,
                              const ShapeSize& size) {
  const std::string wrong = "the accumulator is not the instruction's: " + to_string(c.place);
  if (v.regs() < 2 || !pure(row_bits(v, size.warpgroup), mask.m) || !pure(col_bits(v), mask.n))
    return wrong;
  Basis basis;
  for (int b = 0; b < v.regs(); ++b)
    if (!basis.add(v.reg(b))) return wrong;
  for (int b = 0; b < 5; ++b)
    if (!basis.add(v.lane(b))) return wrong;
  for (int b = 0; b < v.warps(); ++b)
    if (v.warp(b) & mask.k) return wrong;
  return "";
}

std::string check_a(const FragmentType& c, const FragmentType& a, const Packing& p,
                    const Masks& mask, const ShapeSize& size, const Roles& roles) {
  const View vc(c.place, p), va(a.place, p);
  const std::string wrong = "the first operand is not the instruction's: " + to_string(a.place);
  const Images rows{va.lane(2), va.lane(3), va.lane(4), va.reg(size.k == 16 ? 1 : 0)};
  const Images wanted = row_bits(vc, false);
  if (rows != wanted || !pure(a_contracted(va, size.k), mask.k)) return wrong;
  for (int b = 0; b < std::max(va.warps(), vc.warps()); ++b)
    if (va.warp(b) != (vc.warp(b) & mask.m)) return wrong + ", spread over other warps";
  for (int b = 0; b < va.regs(); ++b)
    if ((va.reg(b) & mask.m) && (va.reg(b) & mask.k)) return wrong;
  if (!same_blocks(c.place, a.place, roles.m) || !covers(va, size.k == 16 ? 3 : 2, vc, mask.m) ||
      !covers_block(va, mask.k))
    return wrong + ", and does not hold all that its warp needs";
  return "";
}

std::string check_b(const FragmentType& c, const FragmentType& a, const FragmentType& b,
                    const Packing& p, const Masks& mask, const ShapeSize& size,
                    const Roles& roles) {
  const View vc(c.place, p), va(a.place, p), vb(b.place, p);
  const std::string wrong = "the second operand is not the instruction's: " + to_string(b.place);
  if (Images{vb.lane(2), vb.lane(3), vb.lane(4)} != col_bits(vc)) return wrong;
  if (b_contracted(vb, size.k) != a_contracted(va, size.k))
    return wrong + ", contracted in another order than the first";
  for (int n = 0; n < std::max(vb.warps(), vc.warps()); ++n)
    if (vb.warp(n) != (vc.warp(n) & mask.n)) return wrong + ", spread over other warps";
  for (int n = 0; n < vb.regs(); ++n)
    if ((vb.reg(n) & mask.n) && (vb.reg(n) & mask.k)) return wrong;
  if (!same_blocks(c.place, b.place, roles.n) || !same_blocks(a.place, b.place, roles.k) ||
      !covers(vb, size.k == 16 ? 2 : 1, vc, mask.n) || !covers_block(vb, mask.k))
    return wrong + ", and does not hold all that its warp needs";
  return "";
}

// Elements of operands: f16 or bf16 for k of 16, f32 (as tf32) for 8; sums in f32.
std::string check_elements(const ShapeSize& size, Type c, Type a, Type b) {
  const bool fits = size.k == 16 ? a == Type::F16 || a == Type::BF16 : a == Type::F32;
  if (!fits || a != b || c != Type::F32)
    return std::string("no product of ") + std::string(type_name(a)) + " and " +
           std::string(type_name(b)) + " in " + std::string(type_name(c)) + " has this shape";
  return "";
}

// Axes sorted into roles; "" and roles, or what is wrong.
std::string find_roles(const std::vector<Axis>& c, const std::vector<Axis>& a,
                       const std::vector<Axis>& b, const std::vector<std::string>& k, Roles& out) {
  auto in = [](const std::vector<Axis>& axes, const Axis& x) {
    return std::find(axes.begin(), axes.end(), x) != axes.end();
  };
  for (const Axis& x : c) {
    if (in(a, x) == in(b, x))
      return "axis " + x.name + " of the accumulator must be in one of the operands";
    (in(a, x) ? out.m : out.n).push_back(x.name);
  }
  for (const auto* side : {&a, &b})
    for (const Axis& x : *side) {
      if (in(c, x)) continue;
      if (!has(k, x.name) || !in(a, x) || !in(b, x))
        return "axis " + x.name + " is neither in the accumulator nor contracted in both operands";
      if (!has(out.k, x.name)) out.k.push_back(x.name);
    }
  if (out.k.size() != k.size()) return "a contracted axis is not in the operands";
  return "";
}

Packing packing_of(const std::vector<const Placement*>& places) {
  std::map<std::string, int> bits;
  for (const Placement* p : places)
    for (const Bits& d : p->map.out()) bits[d.name] = std::max(bits[d.name], d.bits);
  std::vector<Bits> dims;
  for (const auto& [name, n] : bits) dims.push_back({name, n});
  return Packing(dims);
}

std::string check_padding(const FragmentType& t, const std::vector<std::string>& k) {
  for (const Axis& a : t.axes)
    if (has(k, a.name) && t.place.extent(a.name) != a.extent)
      return "padding along contracted axis " + a.name;
  return "";
}

std::string check_mma(const Scope& s, const Instr& i) {
  const ShapeSize size = shape_size(i.shape);
  if (size.warpgroup) return "mma has no shape " + std::string(shape_name(i.shape));
  if (i.operands.size() != 3 || i.results.size() != 1) return "needs three operands, one result";
  const FragmentType &c = s.type(i.operands[0]), &a = s.type(i.operands[1]),
                     &b = s.type(i.operands[2]);
  if (!(c == s.type(i.results[0]))) return "the result has another type than the accumulator";
  if (std::string why = check_elements(size, c.elem, a.elem, b.elem); !why.empty()) return why;
  Roles roles;
  if (std::string why = find_roles(c.axes, a.axes, b.axes, i.axes, roles); !why.empty()) return why;
  for (const FragmentType* t : {&a, &b})
    if (std::string why = check_padding(*t, roles.k); !why.empty()) return why;
  const Packing p = packing_of({&c.place, &a.place, &b.place});
  const Masks mask{bits_of_axes(p, roles.m), bits_of_axes(p, roles.n), bits_of_axes(p, roles.k)};
  if (std::string why = check_accumulator(c, View(c.place, p), mask, size); !why.empty())
    return why;
  if (std::string why = check_a(c, a, p, mask, size, roles); !why.empty()) return why;
  return check_b(c, a, b, p, mask, size, roles);
}

// A shared operand of wgmma: named by the product's axes, in a layout of the hardware, its rows in
// the order of the instruction's. `other`: bits of rows or columns of the accumulator.
std::string check_descriptor(const Scope& s, const std::string& name, const IndexExpr& slot,
                             const std::vector<IndexExpr>& index, const std::vector<Axis>& axes,
                             const std::vector<std::pair<std::string, int>>& other,
                             const std::vector<std::string>& k, Type& elem,
                             std::vector<Axis>& found) {
  const SharedBuffer* b = find_buffer(s.kernel, name);
  if (!b) return "unknown buffer " + name;
  elem = b->elem;
  if (std::string why = check_slot(s, slot, b->slots, name); !why.empty()) return why;
  if (index.size() != b->axes.size())
    return name + " has " + std::to_string(b->axes.size()) + " axes, not " +
           std::to_string(index.size());
  std::map<std::string, std::string> names;
  for (size_t d = 0; d < index.size(); ++d) {
    if (std::string why = check_names(s, index[d], axes); !why.empty()) return why;
    const auto axis = plain_axis(index[d], axes);
    if (!axis) return "an index of " + name + " is one axis of the product plus what is uniform";
    const IndexExpr start = index[d] - IndexExpr::var(*axis);
    if (divisor(start, s.uniform) % (has(k, *axis) ? 32 / type_bytes(b->elem) : 8))
      return name + " is read from " + nautilus::to_string(start) +
             " on, no multiple of 8 rows or "
             "32 bytes";
    for (const auto& [from, to] : names)
      if (to == *axis) return "two axes of " + name + " run along " + to;
    names[b->axes[d].name] = *axis;
    for (const Axis& a : axes)
      if (a.name == *axis) found.push_back(a);
  }
  const Placement place = renamed(b->place, names);
  std::optional<std::string> inner;
  for (const Axis& a : found)
    if (place.map.in_bits("offset") && place.map.image("offset", 0, a.name)) inner = a.name;
  const int bytes = type_bytes(b->elem);
  const auto mode = inner ? hardware_swizzle(place, bytes, *inner) : std::nullopt;
  if (!mode || (*mode == 0 && place.block(*inner) * bytes != 16))
    return name + " does not lie as a descriptor says";
  if (bytes != 2 && !has(k, *inner)) return name + " must run along the contracted axis";
  if (b->align < (*mode ? int64_t(128) << *mode : 16))
    return name + " must be aligned to " + std::to_string(int64_t(128) << *mode) +
           " bytes for its swizzle";
  // Bits of rows that the accumulator counts, in their order in the tile.
  std::vector<std::pair<std::string, int>> lies;
  for (int n = 0; n < place.map.in_bits("offset"); ++n)
    for (const Bits& o : place.map.out()) {
      const uint32_t v = place.map.image("offset", n, o.name);
      const bool column = n < place.map.out_bits(*inner);
      if (v && !has(k, o.name) && (column || o.name != *inner))
        lies.emplace_back(o.name, std::countr_zero(v));
    }
  for (size_t n = 0; n < std::min(lies.size(), other.size()); ++n)
    if (lies[n] != other[n]) return name + " has its rows in another order than the accumulator";
  return "";
}

std::string check_wgmma(const Scope& s, const Instr& i) {
  const ShapeSize size = shape_size(i.shape);
  if (!size.warpgroup) return "wgmma has no shape " + std::string(shape_name(i.shape));
  if (i.operands.empty() || i.operands.size() > 2 || i.results.size() != 1)
    return "needs an accumulator and one result";
  if ((i.operands.size() == 2) != i.buffer.empty())
    return "the first operand is in registers or in shared memory";
  const FragmentType& c = s.type(i.operands[0]);
  if (!(c == s.type(i.results[0]))) return "the result has another type than the accumulator";
  if (c.place.map.in_bits("warp") < 2) return "the accumulator is spread over a warpgroup";
  std::vector<std::string> k;
  for (const Axis& a : i.span) {
    if (a.extent < 1 || a.extent % size.k)
      return "contracted axis " + a.name + " is no multiple of " + std::to_string(size.k);
    k.push_back(a.name);
  }
  if (k != i.axes || k.empty()) return "axes and span differ";
  std::vector<Axis> all = c.axes;
  all.insert(all.end(), i.span.begin(), i.span.end());
  // Single bits of rows and columns of the accumulator: (axis, bit), lowest first.
  auto single = [&](const std::vector<std::pair<const char*, int>>& inputs) {
    std::vector<std::pair<std::string, int>> out;
    for (const auto& [in, bit] : inputs) {
      std::pair<std::string, int> found{"", -1};
      if (bit < c.place.map.in_bits(in))
        for (const Bits& o : c.place.map.out())
          if (const uint32_t v = c.place.map.image(in, bit, o.name))
            found = {found.second < 0 && std::has_single_bit(v) ? o.name : "", std::countr_zero(v)};
      out.push_back(found);
    }
    return out;
  };
  std::vector<Axis> a_axes, b_axes;
  Type a_elem = Type::F16, b_elem = Type::F16;
  if (i.operands.size() == 2) {
    a_elem = s.type(i.operands[1]).elem;
    a_axes = s.type(i.operands[1]).axes;
  } else {
    const auto rows =
        single({{"lane", 2}, {"lane", 3}, {"lane", 4}, {"register", 1}, {"warp", 0}, {"warp", 1}});
    if (std::string why =
            check_descriptor(s, i.buffer, i.slot, i.index, all, rows, k, a_elem, a_axes);
        !why.empty())
      return why;
  }
  const auto cols = single({{"register", 0}, {"lane", 0}, {"lane", 1}});
  if (std::string why =
          check_descriptor(s, i.buffer_b, i.slot_b, i.index_b, all, cols, k, b_elem, b_axes);
      !why.empty())
    return why;
  if (std::string why = check_elements(size, c.elem, a_elem, b_elem); !why.empty()) return why;
  Roles roles;
  if (std::string why = find_roles(c.axes, a_axes, b_axes, k, roles); !why.empty()) return why;
  std::vector<const Placement*> places{&c.place};
  if (i.operands.size() == 2) places.push_back(&s.type(i.operands[1]).place);
  const Packing p = packing_of(places);
  const Masks mask{bits_of_axes(p, roles.m), bits_of_axes(p, roles.n), bits_of_axes(p, roles.k)};
  if (std::string why = check_accumulator(c, View(c.place, p), mask, size); !why.empty())
    return why;
  if (i.operands.size() == 1) return "";
  const FragmentType& a = s.type(i.operands[1]);
  if (std::string why = check_padding(a, k); !why.empty()) return why;
  return check_a(c, a, p, mask, size, roles);
}

}  // namespace

std::string check_product(const Scope& s, const Instr& i) {
  if (i.code == Code::Mma) return check_mma(s, i);
  if (s.target.capability != 90 || !s.target.exact) return "wgmma needs sm_90a";
  if (s.role->warps % 4 || s.role->first_warp % 4) return "wgmma needs a role of whole warpgroups";
  if (s.divergence == Scope::Divergence::Warps)
    return "wgmma is work of a warpgroup, whose warps part here";
  if (i.code == Code::Wgmma) return check_wgmma(s, i);
  if (i.code != Code::MmaWait)
    return i.operands.empty() && i.results.empty() ? "" : "has no operands and results";
  if (i.count < 0) return "a negative number of batches";
  if (i.operands.size() != i.results.size()) return "hands back as many values as it gets";
  for (size_t n = 0; n < i.operands.size(); ++n)
    if (!(s.type(i.operands[n]) == s.type(i.results[n])))
      return "a result has another type than its operand";
  return "";
}

}  // namespace nautilus::memory
