// Copies from global to shared memory by the threads of a role: through registers, or by cp.async
// with zeros where the condition fails.
#include <algorithm>
#include <bit>

#include "compiler/backend/cuda/emitter.h"
#include "compiler/backend/cuda/scalar.h"
#include "compiler/memory/checks.h"

namespace nautilus::cuda {
namespace {

// Repeats of a power of two become bits of the block.
Placement folded(const Placement& p) {
  Placement out = p;
  while (!out.repeats.empty() && std::has_single_bit(uint64_t(out.repeats.back().count))) {
    const memory::Extent e = out.repeats.back();
    out.repeats.pop_back();
    if (e.count > 1)
      out.map =
          out.map * memory::Linear::identity("offset", e.axis, std::countr_zero(uint64_t(e.count)));
  }
  return out;
}

// Chunks of 2^chunk elements dealt to lanes, warps, then registers; nullopt where a block has too
// few, or the threads are no power of two.
std::optional<Placement> dealt(const Placement& buffer, int chunk, int warps) {
  const Placement p = folded(buffer);
  const int bits = p.map.in_bits("offset"), warp_bits = std::countr_zero(unsigned(warps));
  if (!std::has_single_bit(unsigned(warps))) return std::nullopt;
  if (bits < chunk || (bits < chunk + 5 + warp_bits && !p.repeats.empty())) return std::nullopt;
  const int registers = std::max(0, bits - chunk - 5 - warp_bits);
  std::vector<std::vector<uint32_t>> images;
  auto image = [&](int b) {
    std::vector<uint32_t> v;
    for (const memory::Bits& o : p.map.out())
      v.push_back(b < bits ? p.map.image("offset", b, o.name) : 0);
    images.push_back(std::move(v));
  };
  for (int n = 0; n < registers; ++n) image(chunk + 5 + warp_bits + n);
  for (int n = 0; n < 5 + warp_bits; ++n) image(chunk + n);
  auto map = memory::Linear::make({{"register", registers}, {"lane", 5}, {"warp", warp_bits}},
                                  p.map.out(), images);
  if (!map) return std::nullopt;
  return Placement{*map, p.repeats};
}

}  // namespace

std::string KernelEmitter::role_thread() {
  if (role_->warps == 1) return "lane";
  if (k_.roles.size() == 1) return hoist("int", "thread_index", "int(threadIdx.x)");
  return hoist("int", "thread_index", "32 * warp + lane");
}

// The condition of a copy with what the tensor's extents add to it.
Cond KernelEmitter::in_bounds(const Instr& i) const {
  const TensorDecl& t = *memory::find_tensor(m_, i.tensor);
  Cond c = i.cond;
  for (size_t d = 0; d < i.index.size(); ++d) {
    if (!i.gather.empty() && i.gather[d] >= 0) continue;
    for (Cond::Conj& conj : c.any) {
      conj.push_back({t.extents[d] - 1 - i.index[d], false});
      conj.push_back({i.index[d], false});
    }
  }
  return c;
}

std::string KernelEmitter::gathers_in_bounds(const Instr& i) {
  const TensorDecl& t = *memory::find_tensor(m_, i.tensor);
  std::string s;
  for (size_t d = 0; d < i.gather.size(); ++d)
    if (i.gather[d] >= 0)
      s += (s.empty() ? "" : " && ") +
           ("unsigned(" + read(i.operands[size_t(i.gather[d])], Pick{"", {0}})) + ") < unsigned(" +
           uniform(t.extents[d]) + ")";
  return s;
}

std::string KernelEmitter::flat_offset(const Instr& i, const Strides& s,
                                       const std::vector<Axis>& axes, const Coordinate& at) {
  std::vector<std::string> terms;
  for (size_t d = 0; d < i.index.size(); ++d) {
    const bool gathered = !i.gather.empty() && i.gather[d] >= 0;
    const std::string x = gathered ? read(i.operands[size_t(i.gather[d])], Pick{"", {0}})
                                   : element(i.index[d], axes, at);
    if (x == "0") continue;
    terms.push_back(
        s.text[d] == "1" ? x : (s.small ? in_parens(x) : "int64_t(" + x + ")") + " * " + s.text[d]);
  }
  return sum_text(terms);
}

void KernelEmitter::move_chunk(const Instr& i, const SharedBuffer& b, const Chunk& c) {
  const int bytes = type_bytes(b.elem), size = std::max(bytes, i.vector), n = size / bytes;
  const std::string s = std::to_string(size);
  const bool async = i.code == Code::CopyAsync;
  if (!c.moved.empty()) open("if (" + c.moved + ") {");
  if (!c.each.empty()) {  // by elements
    for (int e = 0; e < n; ++e) {
      const std::string at = c.to + (e ? " + " + std::to_string(e * bytes) : "");
      const std::string from = in_parens(c.from) + (e ? " + " + std::to_string(e) : "");
      if (bytes < 4) {
        const std::string t = bytes == 2 ? "uint16_t" : "uint8_t";
        line(helpers_.use(bytes == 2 ? "store_shared16" : "store_shared8") + "(" + at + ", (" +
             c.each[size_t(e)] + ") ? *reinterpret_cast<const " + t + "*>(" + from + ") : " + t +
             "(0));");
      } else {
        const std::string part = names_.fresh("part");
        line("uint32_t " + part + "[" + std::to_string(bytes / 4) + "] = {};");
        line("if (" + c.each[size_t(e)] + ") " + helpers_.use("load_global") + "<" +
             std::to_string(bytes) + ">(" + part + ", " + from + ");");
        line(helpers_.use("store_shared") + "<" + std::to_string(bytes) + ">(" + at + ", " + part +
             ");");
      }
    }
  } else if (async) {
    std::string from =
        c.ok.empty()
            ? ""
            : ", " +
                  (c.ok.find("||") != std::string::npos || c.ok.find(' ') != std::string::npos
                       ? "(" + c.ok + ")"
                       : c.ok) +
                  " ? " + (c.count.empty() ? s : c.count + " * " + std::to_string(bytes)) + " : 0";
    if (c.ok.empty() && !c.count.empty()) from = ", " + c.count + " * " + std::to_string(bytes);
    line(helpers_.use("copy_async") + "<" + s + ">(" + c.to + ", " + c.from + from + ");");
  } else if (size < 4) {
    const std::string t = size == 2 ? "uint16_t" : "uint8_t";
    const std::string load = "*reinterpret_cast<const " + t + "*>(" + c.from + ")";
    line(helpers_.use(size == 2 ? "store_shared16" : "store_shared8") + "(" + c.to + ", " +
         (c.ok.empty() ? load : "(" + c.ok + ") ? " + load + " : " + t + "(0)") + ");");
  } else {
    const std::string part = names_.fresh("part");
    line("uint32_t " + part + "[" + std::to_string(size / 4) + "]" +
         (c.ok.empty() ? ";" : " = {};"));
    line((c.ok.empty() ? "" : "if (" + c.ok + ") ") + helpers_.use("load_global") + "<" + s + ">(" +
         part + ", " + c.from + ");");
    line(helpers_.use("store_shared") + "<" + s + ">(" + c.to + ", " + part + ");");
  }
  if (!c.moved.empty()) close();
}

void KernelEmitter::copy_shared(const Instr& i) {
  const SharedBuffer& b = *memory::find_buffer(k_, i.buffer);
  const TensorDecl& t = *memory::find_tensor(m_, i.tensor);
  const int bytes = type_bytes(b.elem), size = std::max(bytes, i.vector), n = size / bytes;
  const int threads = 32 * role_->warps;
  const int64_t chunks = std::max<int64_t>(1, b.place.elements()) / n;
  const std::string slot = slot_base(b, i.slot), thread = role_thread();
  const Cond cond = in_bounds(i);
  const std::string gathers = gathers_in_bounds(i);
  std::vector<Axis> axes = b.axes;  // as far as the placement reaches
  bool padded = false;
  for (Axis& a : axes) {
    padded = padded || b.place.extent(a.name) > a.extent;
    a.extent = b.place.extent(a.name);
  }
  const Atoms atoms = simplify(cond, b.axes);
  const auto inner = n > 1 ? memory::plain_axis(i.index.back(), b.axes) : std::nullopt;
  const bool same = n == 1 || same_along(atoms, *inner, n);
  // Otherwise elements that are inside come first, if only upper bounds cut the chunk.
  std::optional<IndexExpr> last;
  Atoms rest = atoms;
  if (!same && i.code == Code::CopyAsync && atoms.any.size() == 1) {
    Cond::Conj left;
    bool prefix = true;
    for (const Cond::Atom& a : atoms.any[0]) {
      const Affine s = split(a.expr, b.axes);
      if (!s.axes.count(*inner)) {
        left.push_back(a);
      } else if (a.equality || !s.affine || s.axes.size() > 1 || s.axes.at(*inner) != -1) {
        prefix = false;
      } else {
        last = last ? IndexExpr::min(*last, s.uniform) : s.uniform;
      }
    }
    if (prefix && last) {
      rest.any = {left};
      if (left.empty()) rest = {};
    } else {
      last.reset();
    }
  }

  const auto join = [](const std::string& a, const std::string& c) {
    return a.empty()   ? c
           : c.empty() ? a
                       : (c.find("||") == std::string::npos ? c : "(" + c + ")") + " && " + a;
  };
  const CoordinateTest ok =
      rest.never || !rest.any.empty() ? ready(rest, b.axes) : CoordinateTest();
  const CoordinateTest whole = ok && !same && !last ? ready(atoms, b.axes) : CoordinateTest();
  const std::string end = last ? local("const int", *inner + "_end", uniform(*last + 1)) : "";
  Cond inside = Cond::always();
  for (const Axis& a : b.axes)
    if (b.place.extent(a.name) > a.extent)
      inside.any[0].push_back({IndexExpr(a.extent - 1) - IndexExpr::var(a.name), false});
  const CoordinateTest moved = padded ? ready(simplify(inside, axes), axes) : CoordinateTest();
  auto chunk_at = [&](const Coordinate& at) {
    Chunk c;
    if (moved) c.moved = moved(at);
    c.ok = join(gathers, ok ? ok(at) : "");
    if (last)
      c.count =
          "min(max(" + end + " - " + in_parens(at(*inner)) + ", 0), " + std::to_string(n) + ")";
    if (whole)
      for (int e = 0; e < n; ++e)
        c.each.push_back(join(gathers, whole([&](const std::string& axis) {
                                return axis == *inner && e
                                           ? "(" + at(axis) + " + " + std::to_string(e) + ")"
                                           : at(axis);
                              })));
    return c;
  };

  if (const auto place = dealt(b.place, std::countr_zero(unsigned(n)), role_->warps)) {
    layout_names_.emplace(memory::to_string(*place), b.name);
    const Geometry& g = geometry(*place, b.axes);
    const Place from = global_place(i, g);
    const std::string to = local("const uint32_t", b.name + "_to",
                                 sum_text({slot, thread + " * " + std::to_string(size)}));
    const bool few = chunks < threads;
    if (few) open("if (" + thread + " < " + std::to_string(chunks) + ") {");
    auto body = [&](const Pick& p) {
      Chunk c = chunk_at([&](const std::string& axis) { return coordinate(g, axis, p); });
      std::vector<int64_t> steps;
      for (int r = 0; r < g.registers; ++r) steps.push_back(int64_t(r) * threads * size);
      c.to = sum_text({to, pick(p, steps)});
      const std::string add = from.add(p);
      c.from = add == "0" ? from.base : "&" + from.base + "[" + add + "]";
      move_chunk(i, b, c);
    };
    const Pick over = all(g.registers, "n");
    if (over.var.empty())
      body(over);
    else
      unrolled("n", g.registers, [&] { body(over); });
    if (few) close();
    return;
  }

  // Any number of threads: chunk by chunk.
  const std::string q = names_.fresh("chunk");
  open("for (int " + q + " = " + thread + "; " + q + " < " + std::to_string(chunks) + "; " + q +
       " += " + std::to_string(threads) + ") {");
  const int bits = b.place.map.in_bits("offset"), low = std::countr_zero(unsigned(n));
  std::map<std::string, std::string> names;
  for (const Axis& a : b.axes) {
    std::vector<uint64_t> images;
    for (int k = low; k < bits; ++k)
      images.push_back(b.place.map.out_bits(a.name) ? b.place.map.image("offset", k, a.name) : 0);
    std::vector<std::string> terms{
        bits_text(b.place.repeats.empty()
                      ? q
                      : "(" + q + " & " + std::to_string((int64_t(1) << (bits - low)) - 1) + ")",
                  images)};
    int64_t inner_repeats = 1, stride = b.place.block(a.name);
    for (size_t r = b.place.repeats.size(); r-- > 0;) {
      const memory::Extent& e = b.place.repeats[r];
      if (e.axis == a.name) {
        terms.push_back("(" + q + " / " +
                        std::to_string((int64_t(1) << (bits - low)) * inner_repeats) + ") % " +
                        std::to_string(e.count) + " * " + std::to_string(stride));
        stride *= e.count;
      }
      inner_repeats *= e.count;
    }
    names[a.name] = names_.fresh(b.name + "_" + a.name);
    line("const int " + names[a.name] + " = " + sum_text(terms) + ";");
  }
  const Coordinate at = [&](const std::string& axis) { return names.at(axis); };
  Chunk c = chunk_at(at);
  c.to = sum_text({slot, q + " * " + std::to_string(size)});
  c.from = "&" + source_.tensors.at(t.name) + "[" + flat_offset(i, strides(t), b.axes, at) + "]";
  move_chunk(i, b, c);
  close();
}

}  // namespace nautilus::cuda
