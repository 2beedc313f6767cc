// Deterministic inputs: the same on every machine for a seed, independent of the standard library.
#include <algorithm>
#include <array>
#include <cmath>

#include "compiler/runtime/extents.h"
#include "compiler/runtime/formats.h"
#include "compiler/runtime/random.h"
#include "compiler/runtime/runtime.h"

namespace nautilus::runtime {
namespace {

// Quantiles of the normal distribution at 0, 1/4096, ..., 1 (ends at +-4.1), by bisection on erfc.
const std::array<double, 4097>& normal_quantiles() {
  static const auto table = [] {
    std::array<double, 4097> t{};
    for (int k = 0; k <= 4096; ++k) {
      double lo = -4.1, hi = 4.1;
      for (int i = 0; i < 60; ++i) {
        const double mid = (lo + hi) / 2;
        (0.5 * std::erfc(-mid / std::sqrt(2.0)) < k / 4096.0 ? lo : hi) = mid;
      }
      t[k] = (lo + hi) / 2;
    }
    return t;
  }();
  return table;
}

double normal(uint64_t r) {
  const auto& q = normal_quantiles();
  const size_t k = r >> 52;
  return q[k] + (q[k + 1] - q[k]) * static_cast<double>((r >> 20) & 0xffffffff) * 0x1p-32;
}

// Exclusive upper bound of an integer tensor's values: the smallest extent it gathers from; in a
// guard, one more than the longest dimension it may cut short; 8 if it is only computed with.
int64_t integer_bound(const poly::Program& p, const std::string& tensor) {
  int64_t gathered = INT64_MAX, guarded = 0;
  for (const poly::Statement& s : p.statements) {
    auto gathers = [&](const poly::Access& a) {
      for (const auto& g : a.gathers)
        if (g.read >= 0 && g.read < static_cast<int>(s.reads.size()) &&
            s.reads[g.read].tensor == tensor)
          gathered = std::min(gathered, extents_of(p, a.tensor)[g.dim]);
    };
    for (const poly::Access& a : s.reads) gathers(a);
    gathers(s.write);
    if (!s.guard) continue;
    visit(s.guard, [&](const Expr& e) {
      if (e->op != Op::Read || s.reads[e->index].tensor != tensor) return;
      for (unsigned d = 0; d < poly::n_dim(s.domain); ++d)
        if (auto top = poly::dim_max(s.domain, d)) guarded = std::max(guarded, *top + 2);
    });
  }
  if (gathered != INT64_MAX) return std::max<int64_t>(gathered, 1);
  return guarded > 0 ? guarded : 8;
}

}  // namespace

poly::Buffers make_inputs(const poly::Program& program, const poly::Sizes& sizes, uint64_t seed,
                          double scale) {
  poly::Buffers out;
  auto bound = instantiate_for_run(program, sizes);
  if (!bound) return out;
  const poly::Program& p = *bound;
  for (const poly::Tensor& t : p.tensors) {
    if (t.kind != poly::TensorKind::Input) continue;
    Random random(seed, t.name);
    std::vector<double> values(static_cast<size_t>(element_count(extents_of(p, t.name))));
    if (t.type == Type::Bool) {
      for (double& v : values) v = static_cast<double>(random.next() >> 63);
    } else if (!is_float(t.type)) {
      const int64_t top =
          std::min<int64_t>(integer_bound(p, t.name), t.type == Type::I8 ? 128 : INT32_MAX);
      for (double& v : values) v = static_cast<double>(random.below(static_cast<uint64_t>(top)));
    } else {
      for (double& v : values) v = round_value(t.type, scale * normal(random.next()));
    }
    out[t.name] = std::move(values);
  }
  return out;
}

}  // namespace nautilus::runtime
