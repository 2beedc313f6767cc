// A module to one source: helpers, then a function a kernel.
#include "compiler/backend/cuda/emitter.h"

namespace nautilus::cuda {

std::string_view c_type(Type t) {
  switch (t) {
    case Type::Bool:
      return "bool";
    case Type::I8:
      return "int8_t";
    case Type::I32:
      return "int32_t";
    case Type::E4M3:
      return "__nv_fp8_e4m3";
    case Type::E5M2:
      return "__nv_fp8_e5m2";
    case Type::F16:
      return "half";
    case Type::BF16:
      return "__nv_bfloat16";
    case Type::F32:
      return "float";
    case Type::F64:
      return "double";
  }
  return "void";
}

namespace {

void find_atomics(const Region& r, std::vector<std::string>& out) {
  for (const Instr& i : r.body) {
    if (i.code == Code::AtomicAdd && std::find(out.begin(), out.end(), i.tensor) == out.end())
      out.push_back(i.tensor);
    for (const Region& inner : i.regions) find_atomics(inner, out);
  }
}

}  // namespace

Expected<Source> emit(const Module& m, const EmitOptions& options) {
  if (auto refusal = memory::verify(m)) return *refusal;
  const auto target = memory::parse_target(m.target);
  if (!target) return target.error();
  Source s;
  s.name = m.name, s.target = m.target, s.sizes = m.sizes;
  for (const auto& [size, n] : m.multiples)
    s.facts.any[0].push_back({IndexExpr::mod(IndexExpr::var(size), n), true});
  for (const poly::TensorKind kind :
       {poly::TensorKind::Input, poly::TensorKind::Output, poly::TensorKind::Temp})
    for (const TensorDecl& t : m.tensors)
      if (t.kind == kind) s.tensors.push_back(t);
  Module ordered = m;
  ordered.tensors = s.tensors;

  SourceNames names;
  for (const TensorDecl& t : s.tensors) names.tensors[t.name] = names.namer.fresh(t.name);
  for (const std::string& n : s.sizes) names.sizes[n] = names.namer.fresh(n);
  for (const Kernel& k : m.kernels)
    names.kernels[k.name] = names.namer.fresh(m.name == k.name ? k.name : m.name + "_" + k.name);
  Helpers helpers(options.contract);
  std::vector<Line> lines;
  for (const Kernel& k : ordered.kernels) {
    KernelEmitter e(ordered, k, *target, names, helpers);
    if (auto refusal = e.emit()) return *refusal;
    lines.push_back({});
    lines.insert(lines.end(), e.lines().begin(), e.lines().end());
    s.launches.push_back(e.launch());
    for (const Role& r : k.roles) find_atomics(r.body, s.zeroed);
  }
  s.text = "// " + m.name + " for " + m.target + ".\n" + helpers.text();
  int number = int(std::count(s.text.begin(), s.text.end(), '\n'));
  for (const Line& l : lines) {
    ++number;
    if (l.node >= 0) s.map.emplace_back(number, l.node);
    s.text += l.text + "\n";
  }
  return s;
}

}  // namespace nautilus::cuda
