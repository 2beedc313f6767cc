// Rules of loads, stores and copies.
#include <algorithm>

#include "compiler/memory/checks.h"
#include "compiler/memory/f2.h"

namespace nautilus::memory {
namespace {

bool has_axis(const std::vector<Axis>& axes, const std::string& name) {
  return std::any_of(axes.begin(), axes.end(), [&](const Axis& a) { return a.name == name; });
}

// 1, 2, 4, 8 or 16 bytes that hold whole elements.
std::string check_width(int vector, Type elem) {
  if (vector == 0) return "";
  if (vector < type_bytes(elem) || vector > 16 || log2_exact(vector) < 0)
    return "an access of " + std::to_string(vector) + " bytes";
  return "";
}

// The last dimension of a tensor is walked one by one along an axis, from places that `elements`
// divides, in rows that it divides too.
std::string check_contiguous(const Scope& s, const Instr& i, const std::vector<Axis>& axes,
                             int64_t elements) {
  const TensorDecl& t = *find_tensor(s.module, i.tensor);
  if (t.extents.empty() || (!i.gather.empty() && i.gather.back() >= 0))
    return "the last dimension is not contiguous along an axis";
  const auto axis = plain_axis(i.index.back(), axes);
  if (!axis) return "the last dimension is not contiguous along an axis";
  for (size_t d = 0; d + 1 < i.index.size(); ++d) {
    std::vector<std::string> vars;
    i.index[d].collect_vars(vars);
    if (std::find(vars.begin(), vars.end(), *axis) != vars.end())
      return "axis " + *axis + " runs over two dimensions";
  }
  const IndexExpr start = i.index.back() - IndexExpr::var(*axis);
  if (divisor(start, s.uniform) % elements)
    return "accesses start at " + nautilus::to_string(start) + ", no multiple of " +
           std::to_string(elements) + " elements";
  if (t.extents.size() > 1 && divisor(t.extents.back(), s.uniform) % elements)
    return "rows of " + nautilus::to_string(t.extents.back()) + " elements are no multiple of " +
           std::to_string(elements);
  return "";
}

// A fragment access of `vector` bytes to global memory.
std::string check_global_vector(const Scope& s, const Instr& i, const FragmentType& t) {
  if (std::string why = check_width(i.vector, t.elem); !why.empty() || i.vector == 0) return why;
  const int64_t elements = i.vector / type_bytes(t.elem);
  if (elements == 1) return "";
  if (std::string why = check_contiguous(s, i, t.axes, elements); !why.empty()) return why;
  const std::string axis = *plain_axis(i.index.back(), t.axes);
  const Linear line = Linear::identity("offset", axis, t.place.map.out_bits(axis));
  if (vector_bits(t.place.map, line, type_bytes(t.elem)) < log2_exact(elements))
    return "a lane has no " + std::to_string(elements) + " consecutive elements along " + axis;
  return "";
}

// The fragment with the names of the buffer's axes; nothing where an index is more than an axis
// plus what is uniform.
std::optional<Linear> as_buffer(const Instr& i, const SharedBuffer& b, const FragmentType& t) {
  std::map<std::string, std::string> names;
  for (size_t d = 0; d < b.axes.size(); ++d) {
    std::vector<std::string> vars;
    i.index[d].collect_vars(vars);
    const auto axis = plain_axis(i.index[d], t.axes);
    const bool uniform = std::none_of(vars.begin(), vars.end(),
                                      [&](const std::string& v) { return has_axis(t.axes, v); });
    if (!axis && !uniform) return std::nullopt;
    if (axis && !names.emplace(*axis, b.axes[d].name).second) return std::nullopt;
  }
  Linear l = t.place.map;
  for (const Bits& o : t.place.map.out())
    if (!names.count(o.name)) l = l.without_output(o.name);
  return l.renamed(names);
}

std::string check_shared_width(const Scope& s, const Instr& i, const SharedBuffer& b,
                               const FragmentType& t) {
  const int bytes = type_bytes(t.elem);
  if (std::string why = check_width(i.vector, t.elem); !why.empty()) return why;
  if (i.transposed && !i.matrix) return "only ldmatrix and stmatrix transpose";
  if (!i.matrix && i.vector <= bytes) return "";
  auto l = as_buffer(i, b, t);
  if (!l) return "the index of a wide access is an axis plus what is uniform";
  if (i.matrix) {
    if (i.code == Code::StoreShared && s.target.capability < 90) return "stmatrix needs sm_90";
    l = matrix_access(*l, bytes, i.transposed);
    if (!l) return "the fragment is not one of 8x8 matrices";
  }
  const int wanted = log2_exact(i.matrix ? 16 / bytes : i.vector / bytes);
  if (vector_bits(*l, b.place.map, bytes) < wanted)
    return std::string(i.matrix ? "rows of 16 bytes do" : "a vector does") +
           " not lie together in " + b.name;
  for (size_t d = 0; d < b.axes.size(); ++d) {  // the uniform part keeps the alignment
    const int64_t along = std::min<int64_t>(b.place.block(b.axes[d].name), int64_t(1) << wanted);
    const auto axis = plain_axis(i.index[d], t.axes);
    const IndexExpr start = axis ? i.index[d] - IndexExpr::var(*axis) : i.index[d];
    bool vector_axis = false;
    for (int n = 0; n < wanted; ++n)
      vector_axis = vector_axis || b.place.map.image("offset", n, b.axes[d].name);
    if (vector_axis && divisor(start, s.uniform) % along)
      return "accesses start at " + nautilus::to_string(start) + " along " + b.axes[d].name;
  }
  return "";
}

// Chunks of `vector` bytes of the buffer are consecutive in the tensor as well.
std::string check_chunks(const Scope& s, const Instr& i, const SharedBuffer& b) {
  if (std::string why = check_width(i.vector, b.elem); !why.empty() || i.vector == 0) return why;
  const int64_t elements = i.vector / type_bytes(b.elem);
  if (elements == 1) return "";
  if (std::string why = check_contiguous(s, i, b.axes, elements); !why.empty()) return why;
  const std::string axis = *plain_axis(i.index.back(), b.axes);
  const Linear& l = b.place.map;
  for (int n = 0; n < log2_exact(elements); ++n)
    for (const Bits& o : l.out())
      if (n >= l.in_bits("offset") ||
          l.image("offset", n, o.name) != (o.name == axis ? uint32_t(1) << n : 0))
        return std::to_string(i.vector) + " bytes of " + b.name + " do not run along " + axis;
  return "";
}

// A box of a tensor as a bulk tensor copy moves it.
std::string check_bulk(const Scope& s, const Instr& i, const SharedBuffer& b) {
  const TensorDecl& t = *find_tensor(s.module, i.tensor);
  const int bytes = type_bytes(b.elem);
  if (s.target.capability < 90) return "bulk tensor copies need sm_90";
  if (i.cond != Cond::always()) return "a bulk copy has no condition: the tensor's bounds cut it";
  if (t.extents.empty() || t.extents.size() > 5) return "a tensor map has 1 to 5 dimensions";
  std::set<std::string> seen;
  for (size_t d = 0; d < i.index.size(); ++d) {
    if (!i.gather.empty() && i.gather[d] >= 0) continue;
    std::vector<std::string> vars;
    i.index[d].collect_vars(vars);
    const auto axis = plain_axis(i.index[d], b.axes);
    for (const std::string& v : vars)
      if (has_axis(b.axes, v) && (!axis || v != *axis || !seen.insert(v).second))
        return "each axis of the buffer must stand alone in one dimension: " + v;
  }
  for (const Axis& a : b.axes) {
    if (!seen.count(a.name)) return "axis " + a.name + " is not in the tensor";
    if (b.place.block(a.name) > 256) return "a box has at most 256 elements along " + a.name;
    if (b.place.extent(a.name) != a.extent) return b.name + " has padding along " + a.name;
  }
  const auto inner = plain_axis(i.index.back(), b.axes);
  if (!inner) return "the last dimension is not contiguous along an axis";
  const auto mode = hardware_swizzle(b.place, bytes, *inner);
  if (!mode) return "no swizzle of the hardware lays " + b.name + " out along " + *inner;
  const int64_t align = *mode ? int64_t(128) << *mode : 128;
  if (b.align < align)
    return b.name + " must be aligned to " + std::to_string(align) + " bytes for its swizzle";
  if (t.extents.size() > 1 && divisor(t.extents.back(), s.uniform) * bytes % 16)
    return "rows of " + nautilus::to_string(t.extents.back()) +
           " elements are no multiple of 16 bytes";
  return "";
}

}  // namespace

std::string check_global(const Scope& s, const Instr& i) {
  const bool load = i.code == Code::LoadGlobal;
  if (load                          ? i.results.size() != 1
      : i.code == Code::StoreGlobal ? !i.results.empty()
                                    : i.results.size() > 1)
    return "wrong number of results";
  if (!load && i.operands.empty()) return "a store needs a value";
  const FragmentType& t = s.type(load ? i.results[0] : i.operands[0]);
  const size_t first = load ? 0 : 1;
  if (std::string why = check_element(s, i, first, t.axes); !why.empty()) return why;
  for (size_t n = first; n < i.operands.size(); ++n)
    if (std::string why = check_broadcast(s.type(i.operands[n]), t); !why.empty()) return why;
  const TensorDecl& tensor = *find_tensor(s.module, i.tensor);
  if (t.elem != tensor.type) return "the value must have the tensor's element type";
  if (!load && tensor.kind == poly::TensorKind::Input) return "a write to input " + i.tensor;
  if (i.code == Code::AtomicAdd) {
    if (t.elem != Type::F32 && t.elem != Type::I32) return "an atomic sum is in f32 or i32";
    if (!i.results.empty() && !(s.type(i.results[0]) == t)) return "the result has another type";
  }
  return check_global_vector(s, i, t);
}

std::string check_shared(const Scope& s, const Instr& i) {
  const bool load = i.code == Code::LoadShared;
  if (i.results.size() != (load ? 1 : 0) || i.operands.size() != (load ? 0 : 1))
    return "wrong number of operands or results";
  const SharedBuffer* b = find_buffer(s.kernel, i.buffer);
  if (!b) return "unknown buffer " + i.buffer;
  const FragmentType& t = s.type(load ? i.results[0] : i.operands[0]);
  if (t.elem != b->elem) return "the value must have the buffer's element type";
  if (std::string why = check_slot(s, i.slot, b->slots, b->name); !why.empty()) return why;
  if (i.index.size() != b->axes.size())
    return b->name + " has " + std::to_string(b->axes.size()) + " axes, not " +
           std::to_string(i.index.size());
  for (const IndexExpr& e : i.index)
    if (std::string why = check_names(s, e, t.axes); !why.empty()) return why;
  if (std::string why = check_names(s, i.cond, t.axes); !why.empty()) return why;
  return check_shared_width(s, i, *b, t);
}

std::string check_copy(const Scope& s, const Instr& i) {
  if (!i.results.empty()) return "a copy has no result";
  if (i.code == Code::BulkCommit || i.code == Code::BulkWait) {
    if (s.target.capability < 90) return "bulk groups need sm_90";
  }
  if (i.code == Code::CopyWait || i.code == Code::BulkWait)
    return i.count < 0 ? "a negative number of groups" : "";
  if (i.code == Code::CopyCommit || i.code == Code::BulkCommit) return "";
  const SharedBuffer* b = find_buffer(s.kernel, i.buffer);
  if (!b) return "unknown buffer " + i.buffer;
  if (std::string why = check_slot(s, i.slot, b->slots, b->name); !why.empty()) return why;
  if (std::string why = check_element(s, i, 0, b->axes); !why.empty()) return why;
  for (ValueId v : i.operands)
    if (!s.type(v).axes.empty()) return "a copy gathers by single values only";
  const TensorDecl& t = *find_tensor(s.module, i.tensor);
  if (t.type != b->elem) return "the buffer must have the tensor's element type";
  if (i.code == Code::CopyPlain || i.code == Code::CopyAsync) {
    if (s.divergence != Scope::Divergence::None)
      return "a copy is work of all warps of the role, which part here";
    if (i.code == Code::CopyAsync && i.vector != 4 && i.vector != 8 && i.vector != 16)
      return "cp.async moves 4, 8 or 16 bytes, not " + std::to_string(i.vector);
    return check_chunks(s, i, *b);
  }
  if (i.code == Code::BulkStore && t.kind == poly::TensorKind::Input)
    return "a write to input " + i.tensor;
  if (i.code == Code::CopyBulk) {
    const MBarrier* m = find_mbarrier(s.kernel, i.barrier);
    if (!m) return "unknown mbarrier " + i.barrier;
    if (std::string why = check_slot(s, i.slot_b, m->slots, m->name); !why.empty()) return why;
  }
  return check_bulk(s, i, *b);
}

}  // namespace nautilus::memory
