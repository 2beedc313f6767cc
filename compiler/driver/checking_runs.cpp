#include "compiler/driver/checking_runs.h"

#include <numeric>

#include "compiler/runtime/extents.h"
#include "compiler/runtime/runtime.h"

namespace nautilus::driver {

double seconds_since(std::chrono::steady_clock::time_point t) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - t).count();
}

int64_t tile_of(const sched::Knobs& knobs, const std::string& axis) {
  int64_t t = 0;
  const std::string plain = "tile." + axis;
  for (const auto& [name, value] : knobs)
    if (value > 0 && (name == plain || name.ends_with("." + plain)))
      t = t ? std::lcm(t, value) : value;
  return t;
}

int64_t elements_of(const memory::Module& m, const poly::Sizes& sizes) {
  int64_t total = 0;
  for (const memory::TensorDecl& t : m.tensors) {
    int64_t n = 1;
    for (const IndexExpr& e : t.extents)
      if (__builtin_mul_overflow(n, e.evaluate(sizes), &n)) return INT64_MAX;
    if (__builtin_add_overflow(total, n, &total)) return INT64_MAX;
  }
  return total;
}

std::optional<std::string> output_difference(const tile::Module& m, const poly::Sizes& sizes,
                                             const poly::Buffers& want, const poly::Buffers& got) {
  for (const tile::TensorDecl& t : m.tensors) {
    if (t.kind != poly::TensorKind::Output) continue;
    const auto &x = want.at(t.name), &y = got.at(t.name);
    double scale = 1e-3;
    for (double v : x)
      if (std::isfinite(v)) scale = std::max(scale, std::abs(v));
    for (size_t e = 0; e < x.size(); ++e) {
      if (x[e] == y[e] || (std::isnan(x[e]) && std::isnan(y[e]))) continue;
      if (std::abs(x[e] - y[e]) <= kTolerance * scale) continue;
      std::vector<int64_t> extents;
      for (const IndexExpr& d : t.extents) extents.push_back(d.evaluate(sizes));
      return t.name + runtime::element_text(extents, int64_t(e)) + " is " + std::to_string(y[e]) +
             ", the tile program computes " + std::to_string(x[e]);
    }
  }
  return std::nullopt;
}

Expected<BlockRun> run_blocks(const memory::Module& m, const poly::Sizes& sizes,
                              const poly::Buffers& inputs, bool all) {
  BlockRun r;
  memory::InterpretOptions o;
  o.max_ops = kOperations;
  if (!all)
    o.which = [&r](const std::vector<int64_t>& at, const std::vector<int64_t>& extents) {
      bool corner = true;
      for (size_t d = 0; d < at.size(); ++d)
        corner = corner && (at[d] == 0 || at[d] + 1 == extents[d]);
      ++r.of;
      r.blocks += corner;
      return corner;
    };
  auto found = memory::interpret(m, sizes, inputs, o);
  if (!found) return found.error();
  r.result = *std::move(found);
  std::erase_if(r.result.faults, [&](const memory::Fault& f) {
    if (f.kind != memory::FaultKind::Budget) return false;
    r.finished = false;
    return true;
  });
  return r;
}

Refusal faulty(const std::string& name, const poly::Sizes& sizes, const memory::Fault& f) {
  std::string where = f.instr;
  if (!f.block.empty()) {
    where += (where.empty() ? "block" : ", block");
    for (int64_t b : f.block) where += " " + std::to_string(b);
  }
  return Refusal{
      "check kernel " + name + poly::with_sizes(sizes), where,
      "the memory interpreter finds " + std::string(memory::fault_name(f.kind)) + ": " + f.text,
      "another plan; --no-check hands the kernel out as it is"};
}

}  // namespace nautilus::driver
