// From a tile module to C++: regions, loops, carried values, and the functions around them.
#include <algorithm>

#include "compiler/backend/cpu/emitter.h"
#include "compiler/backend/cpu/prelude.h"

namespace nautilus::cpu {
namespace {

constexpr int64_t kLocalArray = 64 << 10;  // bytes; larger arrays go to the thread's scratch memory
constexpr int64_t kLocalTotal = 512 << 10;

}  // namespace

Emitter::Emitter(const tile::Module& m, const Kernel& k, const EmitOptions& options, int number)
    : m_(m), k_(m, k, options), storage_(assign_storage(k_)), number_(number) {
  std::set<std::string> used;
  for (auto& [name, view] : k_.tensors) {
    std::string c = "T_" + identifier(name);
    while (!used.insert(c).second) c += "_";
    view.pointer = tensor_names_[name] = c;
  }
}

void Emitter::line(const std::string& text) {
  if (text.empty()) return;
  out_ += std::string(static_cast<size_t>(indent_) * 2, ' ') + text + "\n";
}
void Emitter::block(const std::string& text) {
  for (size_t at = 0; at < text.size();) {
    const size_t end = text.find('\n', at);
    line(text.substr(at, end - at));
    at = end == std::string::npos ? text.size() : end + 1;
  }
}

std::string Emitter::variable(ValueId v) const {
  if (k_.forms.at(v) == Form::Scalar) {
    // A loop's arguments are its results' variables.
    const Def& d = k_.defs.at(v);
    if (d.position < 0) return "v" + std::to_string(d.instr->results[d.index]);
    return "v" + std::to_string(v);
  }
  const auto it = storage_.find(v);
  return "v" + std::to_string(it == storage_.end() ? v : it->second);
}

// An array of the C type of computed values of t, 64-byte aligned.
std::string Emitter::declare(const std::string& name, Type t, int64_t elements) {
  const int64_t bytes = elements * (t == Type::F64 ? 8 : 4);
  if (bytes <= kLocalArray && local_bytes_ + bytes <= kLocalTotal) {
    local_bytes_ += bytes;
    return "alignas(64) " + c_type(t) + " " + name + "[" + std::to_string(elements) + "];";
  }
  const std::string text = c_type(t) + "* const " + name + " = (" + c_type(t) + "*)(scratch + " +
                           std::to_string(scratch_) + "L);";
  scratch_ += (bytes + 63) / 64 * 64;
  return text;
}

void Emitter::copy(ValueId from, const std::string& to, ValueId shape) {
  nest(axes_of(shape), [&](Element& e) {
    const std::string x = element(from, e);
    return array_at(to, shape, e.names) + " = " + x + ";";
  });
}

// The array of a point-wise value or a load.
void Emitter::materialize(ValueId v) {
  nest(axes_of(v), [&](Element& e) {
    const std::string x = compute(v, e);
    return array_at(variable(v), v, e.names) + " = " + x + ";";
  });
}

void Emitter::store(const Instr& i) {
  // Over the value's and the span's axes, the one that is contiguous in memory innermost.
  Axes axes = i.span;
  for (const ValueId o : i.operands)
    for (const std::string& a : k_.order.at(o))
      if (std::none_of(axes.begin(), axes.end(), [&](const Axis& x) { return x.name == a; }))
        axes.push_back({a, k_.extent(o, a)});
  std::stable_partition(axes.begin(), axes.end(), [&](const Axis& a) {
    const auto s = k_.memory_stride(i, a.name);
    return !(s && *s == 1);
  });
  nest(axes, [&](Element& e) {
    const std::string x = encode_text(element(i.operands[0], e), k_.tensors.at(i.tensor).type);
    const std::string to = memory_at(i, i.operands, e);
    return (i.cond.is_always() ? "" : "if (" + mask(i.cond, e) + ") ") + to + " = " + x + ";";
  });
}

void Emitter::scalar(const Instr& i) {
  const ValueId v = i.results[0];
  const std::string name = variable(v), type = c_type(k_.type(v).elem);
  if (i.code == Code::Reduce || i.code == Code::Dot) {
    line(type + " " + name + ";");
    if (i.code == Code::Reduce)
      reduce(i);
    else
      dot(i, v, false);
    return;
  }
  Element e;
  e.names = ivs_;
  const std::string text = compute(v, e);
  block(e.before + e.lets);
  line("const " + type + " " + name + " = " + text + ";");
}

void Emitter::instruction(const Instr& i) {
  if (!i.origin.empty() && i.origin != origin_ && i.code != Code::Const) {
    origin_ = i.origin;
    line("// " + identifier(i.origin));
  }
  switch (i.code) {
    case Code::For:
      return loop(i);
    case Code::If:
      return branch(i);
    case Code::Store:
      return store(i);
    case Code::Barrier:
      return;
    default:
      break;
  }
  const ValueId v = i.results[0];
  const Form form = k_.forms.at(v);
  if (form == Form::Scalar) return scalar(i);
  if (form != Form::Buffer) return;
  if (storage_.at(v) == v) line(declare(variable(v), k_.type(v).elem, k_.lanes(v)));
  if (i.code == Code::Reduce) return reduce(i);
  if (i.code == Code::Dot) return dot(i, v, false);
  for (size_t n = 0; n < i.operands.size(); ++n) {
    if (k_.forms.at(i.operands[n]) != Form::Fused) continue;
    // v = rest + a.b: rest into v's array (nothing to do if it lies there), then accumulate.
    const ValueId rest = i.operands[1 - n];
    const bool there = k_.forms.at(rest) == Form::Buffer && variable(rest) == variable(v) &&
                       k_.type(rest).axes == k_.type(v).axes;
    if (!there) copy(rest, variable(v), v);
    return dot(*k_.defs.at(i.operands[n]).instr, v, true);
  }
  materialize(v);
}

void Emitter::region(const Region& r) {
  for (const Instr& i : r.body) instruction(i);
}

// Ends a loop body or branch: what is not yet in its result's place is copied there, as if all at
// once.
void Emitter::yields(const std::vector<ValueId>& values, const std::vector<ValueId>& results) {
  struct Copy {
    ValueId from, to;
    std::string target;
  };
  std::vector<Copy> copies;
  std::set<std::string> targets, sources;
  for (size_t n = 0; n < values.size(); ++n) {
    const ValueId y = values[n], r = results[n];
    const bool named = k_.forms.at(y) == Form::Buffer || k_.forms.at(y) == Form::Scalar;
    if (named && variable(y) == variable(r) && k_.type(y).axes == k_.type(r).axes) continue;
    copies.push_back({y, r, variable(r)});
    targets.insert(variable(r));
    std::set<ValueId> read;
    k_.leaves(y, read);
    for (const ValueId v : read) sources.insert(variable(v));
  }
  const bool crossing = std::any_of(targets.begin(), targets.end(),
                                    [&](const std::string& t) { return sources.count(t) > 0; });
  if (crossing)
    for (Copy& c : copies) {
      c.target = fresh("next");
      line(k_.type(c.to).axes.empty() ? c_type(k_.type(c.to).elem) + " " + c.target + ";"
                                      : declare(c.target, k_.type(c.to).elem, k_.lanes(c.to)));
    }
  auto put = [&](const Copy& c, const std::string& to, bool from_temporary) {
    const bool scalar = k_.type(c.to).axes.empty();
    if (scalar) {
      Element e;
      e.names = ivs_;
      line(to + " = " + (from_temporary ? c.target : element(c.from, e)) + ";");
    } else if (from_temporary) {
      nest(axes_of(c.to), [&](Element& e) {
        return array_at(to, c.to, e.names) + " = " + array_at(c.target, c.to, e.names) + ";";
      });
    } else {
      copy(c.from, to, c.to);
    }
  };
  for (const Copy& c : copies) put(c, c.target, false);
  if (crossing)
    for (const Copy& c : copies) put(c, variable(c.to), true);
}

void Emitter::loop(const Instr& i) {
  for (size_t n = 0; n < i.results.size(); ++n) {
    const ValueId r = i.results[n];
    if (k_.type(r).axes.empty()) {
      Element e;
      e.names = ivs_;
      line(c_type(k_.type(r).elem) + " " + variable(r) + " = " + element(i.operands[n], e) + ";");
      continue;
    }
    if (storage_.at(r) != r) continue;  // takes over the initial value's array
    line(declare(variable(r), k_.type(r).elem, k_.lanes(r)));
    copy(i.operands[n], variable(r), r);
  }
  const std::string iv = "i_" + identifier(i.iv) + fresh("_");
  line("for (long " + iv + " = " + index_text(i.lower, ivs_) + ", end_" + iv + " = " +
       index_text(i.upper, ivs_) + "; " + iv + " < end_" + iv + "; " + iv +
       " += " + std::to_string(i.step) + ") {");
  ++indent_;
  ivs_[i.iv] = iv;
  region(i.regions[0]);
  yields(i.regions[0].yields, i.results);
  ivs_.erase(i.iv);
  --indent_;
  line("}");
}

void Emitter::branch(const Instr& i) {
  for (const ValueId r : i.results) {
    if (k_.type(r).axes.empty())
      line(c_type(k_.type(r).elem) + " " + variable(r) + ";");
    else if (storage_.at(r) == r)
      line(declare(variable(r), k_.type(r).elem, k_.lanes(r)));
  }
  Element e;
  e.names = ivs_;
  const std::string condition =
      i.operands.empty() ? condition_text(i.cond, ivs_) : element(i.operands[0], e);
  line("if (" + condition + ") {");
  for (size_t b = 0; b < 2; ++b) {
    const Region& r = i.regions[b];
    if (b == 1 && r.body.empty() && r.yields.empty()) break;
    if (b == 1) line("} else {");
    ++indent_;
    region(r);
    yields(r.yields, i.results);
    --indent_;
  }
  line("}");
}

Expected<KernelText> Emitter::emit() {
  const std::string name = "k" + std::to_string(number_);
  KernelText result;
  result.blocks = 1;
  std::string params, args, decode;
  for (size_t n = 0; n < m_.tensors.size(); ++n) {
    const TensorView& t = k_.tensors.at(m_.tensors[n].name);
    params += std::string(t.stored ? "" : "const ") + storage_type(t.type) + "* __restrict " +
              t.pointer + ", ";
    args += "(" + storage_type(t.type) + "*)t[" + std::to_string(n) + "], ";
  }
  const auto& grid = k_.kernel.grid;
  for (size_t n = grid.size(); n-- > 0;) {
    const int64_t extent = std::max<int64_t>(0, grid[n].extent.constant());
    const std::string iv = "i_" + identifier(grid[n].iv) + fresh("_");
    ivs_[grid[n].iv] = iv;
    decode += "  const long " + iv + " = block % " + std::to_string(std::max<int64_t>(extent, 1)) +
              "L;\n  block /= " + std::to_string(std::max<int64_t>(extent, 1)) + "L;\n";
    if (__builtin_mul_overflow(result.blocks, extent, &result.blocks))
      return Refusal{"emit C++ for kernel " + k_.kernel.name, "", "the grid has too many blocks",
                     ""};
  }
  for (const auto& g : grid) {
    params += "long " + ivs_.at(g.iv) + ", ";
    args += ivs_.at(g.iv) + ", ";
  }
  for (const auto& t : k_.kernel.shared) {
    const TensorView& v = k_.tensors.at(t.name);
    int64_t bytes = type_bytes(t.type);
    for (const int64_t e : v.extents) bytes *= e;
    line(storage_type(t.type) + "* const " + v.pointer + " = (" + storage_type(t.type) +
         "*)(scratch + " + std::to_string(scratch_) + "L);");
    scratch_ += (bytes + 63) / 64 * 64;
  }
  region(k_.kernel.body);
  std::string comment =
      "// " + k_.kernel.name + (k_.kernel.comment.empty() ? "" : ": " + k_.kernel.comment);
  std::replace(comment.begin(), comment.end(), '\n', ' ');
  std::replace(comment.begin(), comment.end(), '\\', '/');
  result.text =
      comment + "\nstatic __attribute__((noinline)) void " + name + "_block(" + params +
      "char* scratch) {\n" + out_ + "}\nstatic void " + name +
      "(void* tensors, long block, char* scratch) {\n  void* const* t = (void* const*)tensors;\n" +
      decode + "  " + name + "_block(" + args + "scratch);\n}\n";
  result.body_function = name;
  result.scratch_bytes = scratch_;
  return result;
}

std::string entry_name(const tile::Module& m) { return identifier(m.name) + "_run"; }

Expected<std::string> emit(const tile::Module& m, const EmitOptions& options) {
  if (auto bad = tile::verify(m)) return *bad;
  if (!m.sizes.empty())
    return Refusal{"emit C++ for " + m.name, "", "size " + m.sizes[0] + " is not bound",
                   "bind all sizes before lowering"};
  auto constant = [&](const IndexExpr& e) { return e.is_const(); };
  for (const auto& t : m.tensors)
    if (!std::all_of(t.extents.begin(), t.extents.end(), constant))
      return Refusal{"emit C++ for " + m.name, t.name, "an extent is not a constant",
                     "bind all sizes before lowering"};
  const bool strict = options.numerics == tile::Numerics::Strict;
  std::string text = "// " + identifier(m.name) + ": generated from the tile program.\n" +
                     prelude_scalar() + "#define MULTIPLY_ADD(a, b, c) " +
                     (strict ? "(a) * (b) + (c)" : "__builtin_elementwise_fma(a, b, c)") + "\n" +
                     prelude_dot() + "\n";
  text += strict ? "#pragma clang fp reassociate(off) contract(off)\n"
                 // Within an expression only: x*c - m*c of equal x and m must be 0, however large.
                 : "#pragma clang fp reassociate(on) contract(on)\n";
  std::string calls;
  int number = 0;
  for (const Kernel& k : m.kernels) {
    for (const auto& t : k.shared)
      if (!std::all_of(t.extents.begin(), t.extents.end(), constant))
        return Refusal{"emit C++ for " + m.name, t.name, "an extent is not a constant",
                       "bind all sizes before lowering"};
    for (const auto& g : k.grid)
      if (!g.extent.is_const())
        return Refusal{"emit C++ for " + m.name, k.name,
                       "grid extent " + g.iv + " is not a constant",
                       "bind all sizes before lowering"};
    auto kernel = Emitter(m, k, options, number++).emit();
    if (!kernel) return kernel.error();
    text += kernel->text + "\n";
    calls += "  nautilus_parallel_for(" + std::to_string(kernel->blocks) + "L, threads, " +
             std::to_string(kernel->scratch_bytes) + "L, " + kernel->body_function +
             ", tensors);\n";
  }
  text +=
      "extern \"C\" void " + entry_name(m) + "(void** tensors, int threads) {\n" + calls + "}\n";
  return text;
}

}  // namespace nautilus::cpu
