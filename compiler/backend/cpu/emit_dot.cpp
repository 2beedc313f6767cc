// Products: the register-blocked kernels of the prelude where one operand's own axis is contiguous
// in the result, a fold of the element-wise product otherwise.
#include <algorithm>

#include "compiler/backend/cpu/emitter.h"

namespace nautilus::cpu {
namespace {

bool contains(const std::vector<std::string>& v, const std::string& a) {
  return std::find(v.begin(), v.end(), a) != v.end();
}

}  // namespace

// Whether the kernels can read v where it lies, with `contiguous` (if any) at stride 1.
bool Emitter::direct(ValueId v, const std::string& contiguous) const {
  std::map<std::string, std::string> names;
  const ValueId base = base_of(k_, v, names);
  const Form form = k_.forms.at(base);
  const Instr* load = form == Form::Inline && k_.defs.at(base).instr->code == Code::Load
                          ? k_.defs.at(base).instr
                          : nullptr;
  if (form != Form::Buffer && !load) return false;
  if (load && (!same_representation(load ? k_.type(base).elem : Type::F16) ||
               !load->cond.is_always() || !load->gather.empty()))
    return false;
  for (const auto& [own, outer] : names) {
    const auto s =
        load ? k_.memory_stride(*load, own) : std::optional<int64_t>(k_.stride(base, own));
    if (!s || (outer == contiguous && *s != 1 && k_.extent(base, own) > 1)) return false;
  }
  return true;
}

// Where and how v lies; what cannot be read in place is first copied with `contiguous` innermost.
Emitter::Operand Emitter::operand(ValueId v, const std::string& contiguous) {
  Operand out;
  if (!direct(v, contiguous)) {
    Axes axes;
    for (const Axis& a : k_.type(v).axes)
      if (a.name != contiguous) axes.push_back(a);
    for (const Axis& a : k_.type(v).axes)
      if (a.name == contiguous) axes.push_back(a);
    const std::string name = fresh("packed");
    int64_t stride = 1;
    for (size_t n = axes.size(); n-- > 0;) {
      out.strides[axes[n].name] = stride;
      stride *= axes[n].extent;
    }
    line(declare(name, k_.type(v).elem, stride));
    nest(axes, [&](Element& e) {
      IndexExpr at(0);
      for (const auto& [axis, s] : out.strides) at = at + IndexExpr::var(axis) * s;
      const std::string x = element(v, e);
      return name + "[" + index_text(at, e.names) + "] = " + x + ";";
    });
    out.pointer = name;
    return out;
  }
  std::map<std::string, std::string> names;
  const ValueId base = base_of(k_, v, names);
  if (k_.forms.at(base) == Form::Buffer) {
    for (const auto& [own, outer] : names) out.strides[outer] = k_.stride(base, own);
    out.pointer = variable(base);
    return out;
  }
  Instr load = *k_.defs.at(base).instr;
  std::map<std::string, IndexExpr> origin;
  for (const auto& [own, outer] : names) {
    out.strides[outer] = *k_.memory_stride(load, own);
    origin[own] = IndexExpr(0);
  }
  for (IndexExpr& x : load.index) x = x.substitute(origin);
  Element e;
  e.names = ivs_;
  out.pointer = "&" + memory_at(load, {}, e);
  return out;
}

void Emitter::dot(const Instr& i, ValueId into, bool accumulate) {
  const DotAxes axes = dot_axes(k_, i);
  const ValueId result = i.results[0];
  const Type t = k_.type(result).elem;
  const bool scalar = k_.type(result).axes.empty();
  const std::string inner = scalar ? "" : k_.order.at(into).back();
  const bool from_b = contains(axes.only_b, inner), from_a = contains(axes.only_a, inner);
  bool kernels = (from_a || from_b) && is_float(t);
  for (const ValueId o : i.operands) kernels &= c_type(k_.type(o).elem) == c_type(t);
  if (!kernels) {
    Fold f{into, poly::ReduceOp::Sum, {}, 0, accumulate, {}, "", {}};
    for (const std::string& a : i.axes) f.summed.push_back({a, k_.extent(i.operands[0], a)});
    f.operand_inner = inner;
    if (scalar) {
      std::map<std::string, std::string> names;
      const ValueId base = base_of(k_, i.operands[0], names);
      f.operand_inner = names[k_.order.at(base).back()];
    }
    f.term = [&, t](Element& e) {
      std::vector<std::string> x;
      for (const ValueId o : i.operands)
        x.push_back(convert_text(element(o, e), k_.type(o).elem, t));
      return operation_text(Op::Mul, t, x, {t, t});
    };
    return fold(f);
  }
  const ValueId vector = i.operands[from_b ? 1 : 0], other = i.operands[from_b ? 0 : 1];
  const auto& rows = from_b ? axes.only_a : axes.only_b;
  const auto& columns = from_b ? axes.only_b : axes.only_a;
  auto largest = [&](const std::vector<std::string>& names, ValueId v) {
    std::string best;
    for (const std::string& a : names)
      if (best.empty() || k_.extent(v, a) > k_.extent(v, best)) best = a;
    return best;
  };
  const std::string m = largest(rows, other), k = largest(axes.summed, vector);
  Operand b = operand(vector, inner), a = operand(other, "");
  // Loops outside the kernel: the other axes of the result, then further summed axes, which
  // accumulate.
  Axes outer;
  for (const std::string& x : axes.batch) outer.push_back({x, k_.extent(result, x)});
  for (const std::string& x : rows)
    if (x != m) outer.push_back({x, k_.extent(result, x)});
  for (const std::string& x : columns)
    if (x != inner) outer.push_back({x, k_.extent(result, x)});
  const size_t result_loops = outer.size();
  for (const std::string& x : axes.summed)
    if (x != k) outer.push_back({x, k_.extent(vector, x)});
  bool zero = !accumulate;
  const std::string array = variable(into);
  if (zero && outer.size() > result_loops) {
    nest(axes_of(into),
         [&](Element& e) { return array_at(array, into, e.names) + " = " + literal(0, t) + ";"; });
    zero = false;
  }
  std::string pa = a.pointer, pb = b.pointer, pc = array, pad;
  const int before = indent_;
  for (const Axis& x : outer) {
    const std::string v = fresh(("a_" + identifier(x.name) + "_").c_str());
    line("for (long " + v + " = 0; " + v + " < " + std::to_string(x.extent) + "; ++" + v + ")");
    ++indent_;
    auto offset = [&](std::string& p, int64_t s) {
      if (s != 0) p += " + " + v + (s == 1 ? "" : " * " + std::to_string(s) + "L");
    };
    offset(pa, a.strides.count(x.name) ? a.strides[x.name] : 0);
    offset(pb, b.strides.count(x.name) ? b.strides[x.name] : 0);
    offset(pc, k_.stride(into, x.name));
  }
  auto number = [](int64_t n) { return std::to_string(n); };
  // dot<type, M, N, K, row and k strides of a, k stride of b, row stride of c, start from zero>
  line("dot<" + c_type(t) + ", " + number(m.empty() ? 1 : k_.extent(other, m)) + ", " +
       number(k_.extent(vector, inner)) + ", " + number(k.empty() ? 1 : k_.extent(vector, k)) +
       ", " + number(m.empty() ? 0 : a.strides[m]) + ", " + number(k.empty() ? 0 : a.strides[k]) +
       ", " + number(k.empty() ? 0 : b.strides[k]) + ", " +
       number(m.empty() ? 0 : k_.stride(into, m)) + ", " + (zero ? "true" : "false") + ">(" + pa +
       ", " + pb + ", " + pc + ");");
  indent_ = before;
}

}  // namespace nautilus::cpu
