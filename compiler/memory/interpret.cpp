// Entry of the memory IR's interpreter: binds sizes and tensors, runs the kernels in order, and
// checks that the outputs are covered.
#include <limits>

#include "compiler/memory/interpret_machine.h"
#include "compiler/tile/text.h"

namespace nautilus::memory {
namespace {

constexpr int64_t kMaxElements = int64_t(1) << 28;

void atomic_targets(const Region& r, std::set<std::string>& out) {
  for (const Instr& i : r.body) {
    if (i.code == Code::AtomicAdd) out.insert(i.tensor);
    for (const Region& inner : i.regions) atomic_targets(inner, out);
  }
}

}  // namespace

// Tensors at their sizes: inputs as given (rounded to their type), the others unwritten.
std::optional<Refusal> Machine::prepare(const poly::Sizes& sizes, const poly::Buffers& inputs) {
  const std::string asked = "interpret memory module " + m_.name;
  poly::Sizes bound;
  for (const std::string& s : m_.sizes) {
    const auto it = sizes.find(s);
    if (it == sizes.end()) return Refusal{asked, "", "size " + s + " has no value", "give " + s};
    bound[s] = it->second;
    const size_t slot = size_t(names_.slot(s));
    sizes_.resize(std::max(sizes_.size(), slot + 1), 0);
    sizes_[slot] = it->second;
  }
  if (std::string why = tile::broken_multiple(m_.multiples, bound); !why.empty())
    return Refusal{asked, "", why, ""};
  std::set<std::string> accumulated;
  for (const Kernel& k : m_.kernels)
    for (const Role& r : k.roles) atomic_targets(r.body, accumulated);
  int64_t total = 0;
  for (const TensorDecl& d : m_.tensors) {
    Global t;
    t.decl = &d;
    int64_t n = 1;
    for (const IndexExpr& e : d.extents) {
      const int64_t x = e.evaluate(bound);
      if (x < 0) return Refusal{asked, "tensor " + d.name, "it has a negative extent", ""};
      t.extents.push_back(x);
      if (__builtin_mul_overflow(n, x, &n) || (total + n) > kMaxElements)
        return Refusal{asked, "tensor " + d.name, "the tensors are too large", "use smaller sizes"};
    }
    total += n;
    t.accumulates = accumulated.count(d.name) > 0;
    if (d.kind == poly::TensorKind::Input) {
      const auto it = inputs.find(d.name);
      if (it == inputs.end() || int64_t(it->second.size()) != n)
        return Refusal{asked, "tensor " + d.name,
                       it == inputs.end() ? "no input was given"
                                          : "the input has " + std::to_string(it->second.size()) +
                                                " elements instead of " + std::to_string(n),
                       ""};
      for (double v : it->second) t.data.push_back(round(v, d.type));
    } else {
      const double none = std::numeric_limits<double>::quiet_NaN();
      t.data.assign(size_t(n), is_float(d.type) && !t.accumulates ? none : 0.0);
      t.cells.resize(size_t(n));
    }
    tensor_slots_[d.name] = int(tensors_.size());
    tensors_.push_back(std::move(t));
  }
  return std::nullopt;
}

std::optional<Refusal> Machine::run() {
  for (const Kernel& k : m_.kernels) {
    if (stop_) break;
    run_kernel(k);
    if (error_) return error_;
  }
  check_coverage();
  return std::nullopt;
}

Interpretation Machine::result() {
  Interpretation out;
  for (Global& t : tensors_)
    if (t.decl->kind == poly::TensorKind::Output) out.outputs[t.decl->name] = std::move(t.data);
  out.faults = std::move(faults_);
  out.ops = ops_;
  out.counts = std::move(counts_);
  return out;
}

Expected<Interpretation> interpret(const Module& m, const poly::Sizes& sizes,
                                   const poly::Buffers& inputs, const InterpretOptions& options) {
  if (auto r = verify(m)) return *r;
  Machine machine(m, options);
  if (auto r = machine.prepare(sizes, inputs)) return *r;
  if (auto r = machine.run()) return *r;
  return machine.result();
}

}  // namespace nautilus::memory
