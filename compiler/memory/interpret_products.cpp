// Products. mma.sync takes and gives registers; wgmma reads shared memory, and writes its
// accumulators, until its batch has been waited for. Sums run over the terms in order, rounded to
// the accumulator's type each.
#include <algorithm>
#include <bit>
#include <cmath>

#include "compiler/memory/interpret_machine.h"

namespace nautilus::memory {
namespace {

// The nearest tf32 (10 bits of mantissa), ties away from zero, as cvt.rna.tf32.f32 has it.
double tf32(double v) {
  const float f = float(v);
  if (!std::isfinite(f)) return f;
  return double(std::bit_cast<float>((std::bit_cast<uint32_t>(f) + 0x1000u) & ~0x1fffu));
}

}  // namespace

// Factors come dense: a by rows of terms, b by terms of columns; c and the result by position.
template <class T>
void Machine::multiply(const Step& s, const Product::Warp& p, const std::vector<double>& c,
                       const std::vector<double>& a, const std::vector<double>& b,
                       std::vector<double>& out) {
  const size_t m = size_t(p.m), n = size_t(p.n), k = size_t(p.k);
  std::vector<T> sum(m * n, T(0)), right(b.begin(), b.end());
  for (size_t q = 0; q < p.c.size(); ++q)
    if (p.c[q] >= 0) sum[size_t(p.c[q])] = T(c[q]);
  for (size_t i = 0; i < m; ++i) {
    T* row = sum.data() + i * n;
    for (size_t x = 0; x < k; ++x) {
      const T left = T(a[i * k + x]);
      const T* column = right.data() + x * n;
      for (size_t j = 0; j < n; ++j) row[j] += left * column[j];
    }
  }
  for (size_t q = 0; q < out.size(); ++q)
    out[q] = p.c[q] < 0 ? 0.0 : round(double(sum[size_t(p.c[q])]), s.elem);
  counts_["mma_flops"] += 2 * int64_t(m * n * k);
}

void Machine::mma(Warp& w, const Step& s) {
  const Product::Warp& p = s.product->of(w.index);
  if (!spend(s, size_t(p.m) * size_t(p.n) * size_t(p.k))) return;
  const bool narrow = s.instr->shape == Shape::M16N8K8 && options_.round_values;
  std::vector<double> factors[2];
  for (size_t f = 0; f < 2; ++f) {
    const std::vector<double>& in = w.values[size_t(s.in[f + 1])].at;
    for (int32_t at : f == 0 ? p.a : p.b)
      factors[f].push_back(narrow ? tf32(in[size_t(at)]) : in[size_t(at)]);
  }
  const std::vector<double>& c = w.values[size_t(s.in[0])].at;
  std::vector<double>& out = define(w, s);
  if (s.elem == Type::F32 && options_.round_values)
    multiply<float>(s, p, c, factors[0], factors[1], out);
  else
    multiply<double>(s, p, c, factors[0], factors[1], out);
}

// A factor in shared memory, dense in the order of its points; read through the matrix unit's
// proxy.
bool Machine::gather_factor(Warp& w, const Step& s, const Shared& b, int64_t slot,
                            const std::vector<PointIndex>& index, const Points& points,
                            const Access& a, std::vector<double>& out) {
  if (!buffer_elements(w, s, b, index, points, nullptr)) return false;
  out.resize(points.count);
  for (size_t p = 0; p < points.count; ++p)
    out[p] = address_[p] < 0 ? 0.0 : read_shared(s, b, slot, int32_t(address_[p]), a);
  counts_["shared_read_bytes"] += int64_t(points.count) * type_bytes(b.decl->elem);
  return true;
}

void Machine::wgmma(Warp& w, const Step& s) {
  const Product::Warp& p = s.product->of(w.index);
  if (!spend(s, size_t(p.m) * size_t(p.n) * size_t(p.k))) return;
  // Registers that ordinary instructions touched since the last fence.
  for (size_t n = 0; n < s.in.size(); ++n) {
    const Value& v = w.values[size_t(s.in[n])];
    if (v.touched > w.fenced_serial && !(n == 0 && v.accumulator))
      report(FaultKind::MissingFence, s,
             who(w) + ": operand " + std::to_string(n) +
                 " was made by ordinary instructions after the last mma fence");
  }
  if (s.in.size() > 1) ready(w, s, s.in[1]);
  const Shared& right = buffers_[size_t(s.buffer_b)];
  int64_t slot = 0, slot_b = 0;
  const bool left_shared = s.in.size() == 1;
  if (left_shared) {
    const Shared& left = buffers_[size_t(s.buffer)];
    if (!slot_of(w, s, s.slot, left.decl->slots, left.decl->name, slot)) stop_ = true;
  }
  if (!slot_of(w, s, s.slot_b, right.decl->slots, right.decl->name, slot_b)) stop_ = true;
  if (stop_) return;
  const uint32_t batch = w.products_committed + 1;
  const Access a{&w.knows, event(w, s, history_.components().of(id(w), Part::Products), batch),
                 kWholeWarp, true};
  std::vector<double> factors[2];
  if (left_shared) {
    if (!gather_factor(w, s, buffers_[size_t(s.buffer)], slot, s.index, p.a_points, a, factors[0]))
      return;
  } else {
    const std::vector<double>& in = w.values[size_t(s.in[1])].at;
    for (int32_t at : p.a) factors[0].push_back(in[size_t(at)]);
  }
  if (!gather_factor(w, s, right, slot_b, s.index_b, p.b_points, a, factors[1])) return;
  if (s.instr->shape == Shape::M64NxK8 && options_.round_values)
    for (auto& f : factors)
      for (double& v : f) v = tf32(v);
  const std::vector<double>& c = w.values[size_t(s.in[0])].at;
  std::vector<double>& out = define(w, s);
  if (s.elem == Type::F32 && options_.round_values)
    multiply<float>(s, p, c, factors[0], factors[1], out);
  else
    multiply<double>(s, p, c, factors[0], factors[1], out);
  Value& result = w.values[size_t(s.out[0])];
  result.batch = batch;
  result.accumulator = true;
}

// Batches end in order; the accumulators that are handed back must be of one that has.
void Machine::mma_wait(Warp& w, const Step& s) {
  const int64_t done = int64_t(w.products_committed) - s.instr->count;
  w.products_done = uint32_t(std::max<int64_t>(w.products_done, done));
  uint32_t& known = w.knows.clock[size_t(history_.components().of(id(w), Part::Products))];
  known = std::max(known, w.products_done);
  for (size_t n = 0; n < s.out.size(); ++n) {
    ready(w, s, s.in[n]);
    const std::vector<double>& in = w.values[size_t(s.in[n])].at;
    std::vector<double>& out = define(w, s, n);
    out = in;
  }
}

}  // namespace nautilus::memory
