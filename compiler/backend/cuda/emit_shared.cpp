// Shared memory and registers. The offset of an element is linear over bits: the lane's part is
// computed once a thread, the register's part is a constant, joined by XOR where a swizzle needs it
// and by addition where bits are apart.
#include <algorithm>
#include <bit>

#include "compiler/backend/cuda/emitter.h"
#include "compiler/backend/cuda/scalar.h"

namespace nautilus::cuda {
namespace {

int log2_up(int64_t n) { return n <= 1 ? 0 : 64 - std::countl_zero(uint64_t(n - 1)); }

// The inverse of a buffer's block: images of the bits of each axis in its offset, and the stride of
// a repeat along the axis.
struct Inverse {
  std::map<std::string, std::vector<uint64_t>> bits;
  std::map<std::string, int64_t> repeat_stride;
  bool plain_repeats = true;  // at most one repeat an axis
  uint64_t of(const std::string& axis, uint64_t coordinate) const {
    uint64_t v = 0;
    const auto& images = bits.at(axis);
    for (size_t b = 0; b < images.size(); ++b)
      if (coordinate >> b & 1) v ^= images[b];
    return v;
  }
};

Inverse invert(const SharedBuffer& b) {
  Inverse out;
  const auto inverse = b.place.map.inverse();
  for (const Axis& a : b.axes) {
    auto& images = out.bits[a.name];
    for (int n = 0; inverse && n < inverse->in_bits(a.name); ++n)
      images.push_back(inverse->image(a.name, n, "offset"));
  }
  int64_t stride = int64_t(1) << b.place.map.in_bits("offset");
  for (size_t n = b.place.repeats.size(); n-- > 0;) {
    const memory::Extent& e = b.place.repeats[n];
    if (!out.repeat_stride.emplace(e.axis, stride).second) out.plain_repeats = false;
    stride *= e.count;
  }
  return out;
}

}  // namespace

std::string KernelEmitter::slot_base(const SharedBuffer& b, const IndexExpr& slot) {
  const std::string base = buffers_.at(b.name);
  const int64_t bytes = b.place.elements() * type_bytes(b.elem);
  const IndexExpr offset = slot * bytes;
  if (slot == IndexExpr(0)) return base;
  return local("const uint32_t", b.name + "_slot",
               base + " + " +
                   (offset.is_const() ? uniform(offset)
                                      : in_parens(uniform(slot)) + " * " + std::to_string(bytes)));
}

// Offset in elements from texts of coordinates.
std::string KernelEmitter::offset_text(const SharedBuffer& b,
                                       const std::map<std::string, std::string>& at) {
  const Inverse inverse = invert(b);
  std::vector<std::string> low, high;
  std::map<std::string, std::string> rest;  // of axes with several repeats, outer parts
  for (const Axis& a : b.axes) {
    const std::string x = at.at(a.name);
    const auto& images = inverse.bits.at(a.name);
    const int64_t block = b.place.block(a.name);
    const bool repeats = b.place.extent(a.name) > block;
    if (!images.empty())
      low.push_back(bits_text(
          repeats ? "(" + in_parens(x) + " & " + std::to_string(block - 1) + ")" : x, images));
  }
  int64_t stride = int64_t(1) << b.place.map.in_bits("offset");
  std::map<std::string, int64_t> inner;
  for (size_t n = b.place.repeats.size(); n-- > 0;) {
    const memory::Extent& e = b.place.repeats[n];
    auto [it, fresh] = inner.emplace(e.axis, b.place.block(e.axis));
    std::string digit = "(" + in_parens(at.at(e.axis)) + " / " + std::to_string(it->second) + ")";
    if (it->second * e.count < b.place.extent(e.axis))
      digit = "(" + digit + " % " + std::to_string(e.count) + ")";
    it->second *= e.count;
    high.push_back(digit + " * " + std::to_string(stride));
    stride *= e.count;
  }
  std::string s;
  std::erase(low, "0");
  for (const std::string& t : low)
    s += (s.empty() ? "" : " ^ ") + (low.size() > 1 ? in_parens(t) : t);
  if (low.size() > 1) s = "(" + s + ")";
  high.insert(high.begin(), s.empty() ? "0" : s);
  return sum_text(high);
}

KernelEmitter::SharedPlace KernelEmitter::shared_place(const SharedBuffer& b, const IndexExpr& slot,
                                                       const std::vector<IndexExpr>& index,
                                                       const Geometry& g) {
  const Inverse inverse = invert(b);
  const int bytes = type_bytes(b.elem);
  const std::string slot_text = slot_base(b, slot);
  SharedPlace out;
  // Linear: every index is one axis plus what is uniform, whose bits lie above the axis.
  struct Part {
    std::string axis;  // "": none
    IndexExpr uniform;
  };
  std::vector<Part> parts;
  out.linear = inverse.plain_repeats;
  for (size_t d = 0; d < index.size() && out.linear; ++d) {
    const Affine a = split(index[d], g.axes);
    Part part{"", a.uniform};
    out.linear = a.affine && a.axes.size() <= 1 && (a.axes.empty() || a.axes.begin()->second == 1);
    if (out.linear && !a.axes.empty()) {
      part.axis = a.axes.begin()->first;
      out.linear =
          facts_.divisor(a.uniform) % (int64_t(1) << log2_up(g.place.extent(part.axis))) == 0;
    }
    out.linear = out.linear && (a.uniform == IndexExpr(0) || facts_.never_negative(a.uniform));
    parts.push_back(part);
  }
  if (!out.linear) {
    out.place.base = slot_text;
    out.place.add = [=, this, &b, &g](const Pick& p) {
      std::map<std::string, std::string> at;
      for (size_t d = 0; d < index.size(); ++d)
        at[b.axes[d].name] =
            element(index[d], g.axes, [&](const std::string& x) { return coordinate(g, x, p); });
      const std::string o = offset_text(b, at);
      return bytes == 1 ? o : in_parens(o) + " * " + std::to_string(bytes);
    };
    return out;
  }

  const auto shifted = [&](uint64_t v) { return v * uint64_t(bytes); };
  std::vector<uint64_t> lanes(5, 0), warps(size_t(g.place.map.in_bits("warp")), 0);
  std::vector<int64_t> flips(size_t(g.registers), 0), repeats(size_t(g.registers), 0);
  std::vector<std::string> uniform_flips, sums;
  uint64_t moving = 0;  // bits of the offset that are not constants of the source
  out.moves.assign(size_t(g.place.map.in_bits("register")), 0);
  for (size_t d = 0; d < parts.size(); ++d) {
    const std::string& to = b.axes[d].name;
    const auto& images = inverse.bits.at(to);
    const int64_t block = b.place.block(to);
    const auto repeat = inverse.repeat_stride.find(to);
    const int64_t stride = repeat == inverse.repeat_stride.end() ? 0 : repeat->second;
    auto low = [&](uint64_t x) { return inverse.of(to, x & uint64_t(block - 1)); };
    if (const std::string& axis = parts[d].axis; !axis.empty()) {
      const auto &lane = g.lane.at(axis), &warp = g.warp.at(axis);
      std::vector<uint64_t> high_lane(5, 0), high_warp(warp.size(), 0);
      for (size_t n = 0; n < lane.size(); ++n) {
        lanes[n] ^= shifted(low(lane[n]));
        high_lane[n] = lane[n] / uint64_t(block) * shifted(uint64_t(stride));
      }
      for (size_t n = 0; n < warp.size(); ++n) {
        warps[n] ^= shifted(low(warp[n]));
        high_warp[n] = warp[n] / uint64_t(block) * shifted(uint64_t(stride));
      }
      const int held = 1 << warp.size();
      sums.push_back(bits_text("lane", high_lane));
      sums.push_back(bits_text(
          role_->warps == held ? "warp" : "(warp & " + std::to_string(held - 1) + ")", high_warp));
      for (int r = 0; r < g.registers; ++r) {
        const uint64_t x = uint64_t(g.at.at(axis)[size_t(r)]);
        flips[size_t(r)] ^= int64_t(shifted(low(x)));
        repeats[size_t(r)] += int64_t(x / uint64_t(block) * shifted(uint64_t(stride)));
      }
      for (size_t n = 0; n < out.moves.size(); ++n) {
        const uint64_t x = uint64_t(g.at.at(axis)[size_t(1) << n]);
        out.moves[n] += low(x) + x / uint64_t(block) * uint64_t(stride);
      }
      for (uint64_t v : lane) out.thread_moves |= low(v);
      for (uint64_t v : warp) out.thread_moves |= low(v);
    }
    const IndexExpr& u = parts[d].uniform;
    if (u.is_const()) {
      const uint64_t x = uint64_t(u.constant());
      for (int r = 0; r < g.registers; ++r) {
        flips[size_t(r)] ^= int64_t(shifted(low(x)));
        repeats[size_t(r)] += int64_t(x / uint64_t(block) * shifted(uint64_t(stride)));
      }
      out.thread_moves |= low(x);
      continue;
    }
    const int64_t divides = facts_.divisor(u);
    const std::string text = uniform(u);
    if (stride)
      sums.push_back("(" + in_parens(text) + " >> " +
                     std::to_string(std::countr_zero(uint64_t(block))) + ") * " +
                     std::to_string(shifted(uint64_t(stride))));
    if (divides % block == 0) continue;  // no bits inside the block
    std::vector<uint64_t> scaled;
    const int from = std::countr_zero(uint64_t(divides));
    for (size_t n = 0; n < images.size(); ++n) {
      const bool can = int(n) >= from;
      scaled.push_back(can ? shifted(images[n]) : 0);
      if (can) out.thread_moves |= images[n], moving |= shifted(images[n]);
    }
    const std::string inside =
        stride ? "(" + in_parens(text) + " & " + std::to_string(block - 1) + ")" : text;
    uniform_flips.push_back(bits_text(inside, scaled));
  }
  uint64_t warp_bits = 0, lane_bits = 0;
  for (uint64_t v : lanes) lane_bits |= v;
  for (uint64_t v : warps) warp_bits |= v;
  moving |= lane_bits | warp_bits;
  const int held = 1 << warps.size();
  const std::string l = bits_text("lane", lanes),
                    w = bits_text(
                        role_->warps == held ? "warp" : "(warp & " + std::to_string(held - 1) + ")",
                        warps);
  std::string thread = l == "0"                ? w
                       : w == "0"              ? l
                       : lane_bits & warp_bits ? in_parens(l) + " ^ " + in_parens(w)
                                               : sum_text({w, l});
  thread = hoist("uint32_t", b.name + "_thread", thread);
  for (const std::string& f : uniform_flips)
    if (f != "0") thread = thread == "0" ? f : in_parens(thread) + " ^ " + in_parens(f);
  std::vector<int64_t> crossing, apart;
  bool crosses = false;
  for (size_t r = 0; r < flips.size(); ++r) {
    crossing.push_back(int64_t(uint64_t(flips[r]) & moving));
    apart.push_back(int64_t(uint64_t(flips[r]) & ~moving) + repeats[r]);
    crosses = crosses || crossing.back() != 0;
  }
  sums.insert(sums.begin(), slot_text);
  if (!crosses) {
    sums.push_back(thread.find('^') == std::string::npos ? thread : "(" + thread + ")");
    out.place.base = local("const uint32_t", b.name + "_at", sum_text(sums));
    out.place.add = [=, this](const Pick& p) { return pick(p, apart); };
    return out;
  }
  const std::string flip = local("const uint32_t", b.name + "_offset", thread);
  out.place.base = local("const uint32_t", b.name + "_at", sum_text(sums));
  out.place.add = [=, this](const Pick& p) {
    const std::string x = pick(p, crossing);
    return sum_text(
        {x == "0" ? flip : "(" + in_parens(flip) + " ^ " + in_parens(x) + ")", pick(p, apart)});
  };
  return out;
}

// Where the lanes of ldmatrix and stmatrix point.
std::optional<KernelEmitter::MatrixLoad> KernelEmitter::matrix_place(const Instr& i, int value) {
  const FragmentType& t = type(value);
  const int bytes = type_bytes(t.elem), register_bits = t.place.map.in_bits("register");
  const auto access = memory::matrix_access(t.place.map, bytes, i.transposed);
  if (!access) return std::nullopt;
  const SharedBuffer& b = *memory::find_buffer(k_, i.buffer);
  const Geometry& g = geometry(Placement{*access, t.place.repeats}, t.axes);
  const int own = bytes == 2 ? 3 : 2;  // register bits of an instruction of four matrices
  MatrixLoad m;
  m.matrices = 1 << (std::min(register_bits, own) - (bytes == 2 ? 1 : 0));
  m.elements = 1 << std::min(register_bits, own);
  const SharedPlace place = shared_place(b, i.slot, i.index, g);
  const Test ok = test(Cond::always(), g);
  const int row = 16 / bytes;
  const int count = g.registers / row;
  std::vector<int> rows;
  for (int n = 0; n < count; ++n) {
    m.bases.push_back(n * m.elements);
    rows.push_back(n * row);
  }
  m.place.base = place.place.base;
  const std::string base = slot_base(b, i.slot);
  // By the register of the fragment; lanes whose row is padding read the buffer's start.
  m.place.add = [=](const Pick& p) {
    Pick q = p;
    for (int& r : q.regs) r = r / m.elements * row;
    const std::string a = place.place.add(q), c = ok(q);
    return c.empty() ? a : "((" + c + ") ? " + a + " : 0)";
  };
  return m;
}

void KernelEmitter::load_shared(const Instr& i) {
  const int result = i.results[0];
  const Geometry& g = geometry(result);
  const SharedBuffer& b = *memory::find_buffer(k_, i.buffer);
  const Type elem = b.elem;
  const int bytes = type_bytes(elem);
  if (i.matrix) {
    const auto m = matrix_place(i, result);
    if (!m) return refuse(i, "the fragment is not one of 8x8 matrices");
    const Pick over{m->bases.size() > 1 ? "n" : "", m->bases};
    Pick word = over;
    for (int& r : word.regs) r = r * bytes / 4;
    return unrolled(over, helpers_.use("load_matrix") + "<" + std::to_string(m->matrices) + ", " +
                              (i.transposed ? "true" : "false") + ">(&" + storage(result, word) +
                              ", " + m->place.at(over) + ");");
  }
  const SharedPlace s = shared_place(b, i.slot, i.index, g);
  const Test ok = test(i.cond, g);
  int most = i.vector ? std::max(1, i.vector / bytes) : 16 / bytes;
  const bool guarded = !ok(Pick{"", {0}}).empty();
  if (guarded || !s.linear || elem == Type::Bool) most = 1;
  Vector v =
      find_vector(s.moves, s.thread_moves, g.place.map.in_bits("register"), g.registers, most);
  auto element_pick = [&](int e) {
    Pick p{v.bases.size() > 1 ? "n" : "", {}};
    for (int base : v.bases) p.regs.push_back(v.element(base, e));
    return p;
  };
  const int total = v.elements * bytes;
  bool straight = true;  // consecutive registers
  for (size_t n = 0; n < v.bits.size(); ++n) straight = straight && v.bits[n] == int(n);
  if (total >= 4 && (straight || !packed(elem)) && !guarded && elem != Type::Bool) {
    const Pick base = element_pick(0);
    const std::string load = helpers_.use("load_shared") + "<" + std::to_string(total) + ">(";
    const std::string at = s.place.at(base) + ");";
    if (straight) {
      Pick word = base;
      if (packed(elem))
        for (int& r : word.regs) r = r * bytes / 4;
      const Variable& var = variable(result);
      return unrolled(
          base, load + (var.scalar ? "&" + var.name : "&" + storage(result, word)) + ", " + at);
    }
    auto body = [&] {
      const std::string part = names_.fresh("part");
      line(wide_c(elem) + " " + part + "[" + std::to_string(v.elements) + "];");
      line(load + part + ", " + at);
      for (int e = 0; e < v.elements; ++e)
        line(storage(result, element_pick(e)) + " = " + part + "[" + std::to_string(e) + "];");
    };
    if (base.var.empty()) return body();
    return unrolled("n", int(v.bases.size()), body);
  }
  // Element by element.
  if (bytes <= 2) {
    const std::string load = helpers_.use(bytes == 2 ? "load_shared16" : "load_shared8");
    const std::string otherwise =
        packed(elem) ? std::to_string(element_bits(i.value, elem)) + "u" : literal(i.value, elem);
    return produce_raw(result, [&](const Pick& p) {
      std::string x = load + "(" + s.place.at(p) + ")";
      if (elem == Type::Bool) x = "(" + x + " != 0)";
      const std::string c = ok(p);
      return c.empty() ? x : "(" + c + ") ? " + x + " : " + otherwise;
    });
  }
  if (guarded) fill(result, i.value);
  const Pick over = all(g.registers);
  const Variable& var = variable(result);
  const std::string c = ok(over);
  unrolled(over, (c.empty() ? "" : "if (" + c + ") ") + helpers_.use("load_shared") + "<" +
                     std::to_string(bytes) + ">(" +
                     (var.scalar ? "&" + var.name : "&" + storage(result, over)) + ", " +
                     s.place.at(over) + ");");
}

void KernelEmitter::store_shared(const Instr& i) {
  const int value = i.operands[0];
  const Geometry& g = geometry(value);
  const SharedBuffer& b = *memory::find_buffer(k_, i.buffer);
  const Type elem = b.elem;
  const int bytes = type_bytes(elem);
  if (i.matrix) {
    const auto m = matrix_place(i, value);
    if (!m || constants_.count(value)) return refuse(i, "the fragment is not one of 8x8 matrices");
    const Pick over{m->bases.size() > 1 ? "n" : "", m->bases};
    Pick word = over;
    for (int& r : word.regs) r = r * bytes / 4;
    return unrolled(over, helpers_.use("store_matrix") + "<" + std::to_string(m->matrices) + ", " +
                              (i.transposed ? "true" : "false") + ">(" + m->place.at(over) + ", &" +
                              storage(value, word) + ");");
  }
  const SharedPlace s = shared_place(b, i.slot, i.index, g);
  const Test ok = test(i.cond, g);
  const std::string once = writer(g);
  int most = i.vector ? std::max(1, i.vector / bytes) : 16 / bytes;
  const bool guarded = !ok(Pick{"", {0}}).empty();
  if (guarded || !s.linear || elem == Type::Bool || constants_.count(value)) most = 1;
  Vector v =
      find_vector(s.moves, s.thread_moves, g.place.map.in_bits("register"), g.registers, most);
  bool straight = true;
  for (size_t n = 0; n < v.bits.size(); ++n) straight = straight && v.bits[n] == int(n);
  if (v.elements * bytes < 4 || (packed(elem) && !straight))
    v = find_vector({}, 0, 0, g.registers, 1);
  auto element_pick = [&](int e) {
    Pick p{v.bases.size() > 1 ? "n" : "", {}};
    for (int base : v.bases) p.regs.push_back(v.element(base, e));
    return p;
  };
  const Pick base = element_pick(0);
  const int total = v.elements * bytes;
  if (!once.empty()) open("if (" + once + ") {");
  const std::string c = ok(base), when = c.empty() ? "" : "if (" + c + ") ";
  const std::string at = s.place.at(base);
  if (total < 4) {
    unrolled(base, when + helpers_.use(total == 2 ? "store_shared16" : "store_shared8") + "(" + at +
                       ", " + raw(value, base) + ");");
  } else {
    const std::string store =
        helpers_.use("store_shared") + "<" + std::to_string(total) + ">(" + at + ", ";
    auto body = [&] {
      std::string list;
      for (int e = 0; e < v.elements; ++e) list += (e ? ", " : "") + read(value, element_pick(e));
      const std::string part = names_.fresh("part");
      line("const " + wide_c(elem) + " " + part + "[] = {" + list + "};");
      line(when + store + part + ");");
    };
    if (straight && !constants_.count(value)) {
      Pick word = base;
      if (packed(elem))
        for (int& r : word.regs) r = r * bytes / 4;
      const Variable& var = variable(value);
      unrolled(base,
               when + store + (var.scalar ? "&" + var.name : "&" + storage(value, word)) + ");");
    } else if (base.var.empty()) {
      body();
    } else {
      unrolled("n", int(v.bases.size()), body);
    }
  }
  if (!once.empty()) close();
}

}  // namespace nautilus::cuda
