// Right kernels for the interpreter's tests, and ways to spoil them: instructions are found by
// their note and removed or changed.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <random>
#include <set>

#include "compiler/memory/ir.h"

namespace nautilus::memory {

inline IndexExpr var(const std::string& name) { return IndexExpr::var(name); }
inline Cond less(const IndexExpr& a, const IndexExpr& b) {  // a < b
  return Cond{{{Cond::Atom{b - a - 1, false}}}};
}
inline Cond both(const Cond& a, const Cond& b) {  // of single conjunctions
  Cond c = a;
  c.any[0].insert(c.any[0].end(), b.any[0].begin(), b.any[0].end());
  return c;
}

// Writes the instructions of one region.
struct Body {
  Kernel* k;
  Region region;
  explicit Body(Kernel& kernel) : k(&kernel) {}

  ValueId value(FragmentType t) {
    k->types[k->next_value] = std::move(t);
    return k->next_value++;
  }
  ValueId add(Instr i, std::optional<FragmentType> t = std::nullopt) {
    if (t) i.results = {value(*t)};
    region.body.push_back(std::move(i));
    return t ? region.body.back().results[0] : -1;
  }
  static Instr of(Code c, std::string note = "") {
    Instr i;
    i.code = c;
    i.note = std::move(note);
    return i;
  }
  void plain(Code c, std::string note = "", int64_t count = 0) {
    Instr i = of(c, std::move(note));
    i.count = count;
    add(i);
  }
  ValueId constant(double v, FragmentType t) {
    Instr i = of(Code::Const);
    i.value = v;
    return add(i, t);
  }
  void copy(Code c, const std::string& tensor, std::vector<IndexExpr> index,
            const std::string& buffer, IndexExpr slot, int vector, std::string note = "") {
    Instr i = of(c, std::move(note));
    i.tensor = tensor, i.index = std::move(index), i.buffer = buffer, i.slot = slot;
    i.vector = vector;
    add(i);
  }
  ValueId load(const std::string& buffer, IndexExpr slot, std::vector<IndexExpr> index,
               FragmentType t, bool matrix = false, std::string note = "") {
    Instr i = of(Code::LoadShared, std::move(note));
    i.buffer = buffer, i.slot = slot, i.index = std::move(index), i.matrix = matrix;
    return add(i, t);
  }
  void store(ValueId v, const std::string& buffer, IndexExpr slot, std::vector<IndexExpr> index,
             std::string note = "") {
    Instr i = of(Code::StoreShared, std::move(note));
    i.operands = {v}, i.buffer = buffer, i.slot = slot, i.index = std::move(index);
    add(i);
  }
  ValueId load_global(const std::string& tensor, std::vector<IndexExpr> index, Cond cond,
                      FragmentType t, std::string note = "") {
    Instr i = of(Code::LoadGlobal, std::move(note));
    i.tensor = tensor, i.index = std::move(index), i.cond = std::move(cond);
    return add(i, t);
  }
  void store_global(ValueId v, const std::string& tensor, std::vector<IndexExpr> index, Cond cond,
                    std::string note = "") {
    Instr i = of(Code::StoreGlobal, std::move(note));
    i.operands = {v}, i.tensor = tensor, i.index = std::move(index), i.cond = std::move(cond);
    add(i);
  }
  void barrier(Code c, const std::string& name, IndexExpr slot, int64_t count = 0,
               IndexExpr parity = 0, std::string note = "") {
    Instr i = of(c, std::move(note));
    i.barrier = name, i.slot = slot, i.parity = parity, i.count = count;
    add(i);
  }
  void named(Code c, const std::string& name, std::string note = "") {
    Instr i = of(c, std::move(note));
    i.barrier = name;
    add(i);
  }
  // A loop from 0 that carries one value (or none: -1); `body` gives what it yields.
  ValueId loop(const std::string& iv, IndexExpr upper, ValueId init,
               const std::function<ValueId(Body&, ValueId)>& body) {
    Instr i = of(Code::For);
    i.iv = iv, i.upper = upper;
    Body inner(*k);
    ValueId arg = -1, result = -1;
    if (init >= 0) {
      arg = inner.value(k->types.at(init));
      inner.region.args = {arg};
      i.operands = {init};
    }
    const ValueId yield = body(inner, arg);
    if (init >= 0) {
      inner.region.yields = {yield};
      result = value(k->types.at(init));
      i.results = {result};
    }
    i.regions = {inner.region};
    add(i);
    return result;
  }
};

inline tile::TensorDecl tensor(const std::string& name, Type t, poly::TensorKind kind,
                               std::vector<IndexExpr> extents) {
  tile::TensorDecl d;
  d.name = name, d.type = t, d.kind = kind, d.extents = std::move(extents);
  return d;
}
inline SharedBuffer buffer(const std::string& name, Type t, std::vector<Axis> axes, Linear map,
                           int slots, int64_t align = 16) {
  SharedBuffer b;
  b.name = name, b.elem = t, b.axes = std::move(axes), b.place.map = std::move(map);
  b.slots = slots, b.align = align;
  return b;
}
inline FragmentType fragment(Type t, std::vector<Axis> axes, Linear map) {
  FragmentType f;
  f.elem = t, f.axes = std::move(axes), f.place.map = std::move(map);
  return f;
}

// --- spoiling -----------------------------------------------------------------------------------
inline void each_instr(Region& r, const std::function<void(Region&, size_t)>& f) {
  for (size_t n = r.body.size(); n-- > 0;) {
    for (Region& inner : r.body[n].regions) each_instr(inner, f);
    f(r, n);
  }
}
inline Module changed(Module m, const std::string& note, const std::function<void(Instr&)>& f) {
  int found = 0;
  for (Kernel& k : m.kernels)
    for (Role& role : k.roles)
      each_instr(role.body, [&](Region& r, size_t n) {
        if (r.body[n].note == note) f(r.body[n]), ++found;
      });
  EXPECT_GT(found, 0) << note;
  return m;
}
inline Module without(Module m, const std::string& note) {
  int found = 0;
  for (Kernel& k : m.kernels)
    for (Role& role : k.roles)
      each_instr(role.body, [&](Region& r, size_t n) {
        if (r.body[n].note == note) r.body.erase(r.body.begin() + ptrdiff_t(n)), ++found;
      });
  EXPECT_GT(found, 0) << note;
  return m;
}

// --- running ------------------------------------------------------------------------------------
inline poly::Buffers random_inputs(const Module& m, const poly::Sizes& sizes, uint64_t seed = 7) {
  std::mt19937_64 rng(seed);
  std::normal_distribution<double> normal;
  poly::Buffers in;
  for (const tile::TensorDecl& t : m.tensors) {
    if (t.kind != poly::TensorKind::Input) continue;
    int64_t n = 1;
    for (const IndexExpr& e : t.extents) n *= e.evaluate(sizes);
    for (auto& b = in [t.name]; n > 0; --n)
      b.push_back(is_float(t.type) ? round_to_type(normal(rng), t.type) : double(rng() % 4));
  }
  return in;
}
inline Interpretation interpreted(const Module& m, const poly::Sizes& sizes, uint64_t seed,
                                  const poly::Buffers& in) {
  InterpretOptions o;
  o.seed = seed;
  auto r = interpret(m, sizes, in, o);
  if (!r) {
    ADD_FAILURE() << r.error().text();
    return {};
  }
  return *r;
}
inline std::string text(const std::vector<Fault>& faults) {
  std::string s;
  for (const Fault& f : faults)
    s += std::string(fault_name(f.kind)) + ": " + f.text + "\n  at " + f.instr + "\n";
  return s;
}
constexpr uint64_t kSeeds = 20;

// Clean, with the same outputs, in every order tried.
inline poly::Buffers expect_clean(const Module& m, const poly::Sizes& sizes,
                                  uint64_t seeds = kSeeds) {
  const poly::Buffers in = random_inputs(m, sizes);
  poly::Buffers out;
  for (uint64_t seed = 1; seed <= seeds; ++seed) {
    const Interpretation r = interpreted(m, sizes, seed, in);
    EXPECT_TRUE(r.faults.empty()) << "seed " << seed << "\n" << text(r.faults);
    if (!r.faults.empty()) return r.outputs;
    if (seed == 1)
      out = r.outputs;
    else
      EXPECT_TRUE(out == r.outputs) << "seed " << seed;
  }
  return out;
}
// In every order tried, a fault of one of these kinds that says `says`.
inline void expect_fault(const Module& m, const poly::Sizes& sizes, std::set<FaultKind> kinds,
                         const std::string& says = "", uint64_t seeds = kSeeds) {
  const poly::Buffers in = random_inputs(m, sizes);
  for (uint64_t seed = 1; seed <= seeds; ++seed) {
    const Interpretation r = interpreted(m, sizes, seed, in);
    bool found = false;
    for (const Fault& f : r.faults)
      found = found || (kinds.count(f.kind) && f.text.find(says) != std::string::npos);
    EXPECT_TRUE(found) << "seed " << seed << "\n" << text(r.faults);
    if (!found) return;
  }
}
inline void expect_product(const poly::Buffers& in, const std::vector<double>& c,
                           const poly::Sizes& sizes, double tolerance = 1e-3) {
  const int64_t m = sizes.at("M"), k = 8 * sizes.at("K8"),
                n = sizes.count("N8") ? 8 * sizes.at("N8") : sizes.at("N");
  const auto &a = in.at("A"), &b = in.at("B");
  ASSERT_EQ(int64_t(c.size()), m * n);
  for (int64_t i = 0; i < m; ++i)
    for (int64_t j = 0; j < n; ++j) {
      double sum = 0;
      for (int64_t x = 0; x < k; ++x) sum += a[size_t(i * k + x)] * b[size_t(j * k + x)];
      ASSERT_NEAR(c[size_t(i * n + j)], sum, tolerance) << i << ", " << j;
    }
}

// --- kernels: C[M, N] = A[M, K] * B[N, K]
// ---------------------------------------------------------
// Rows are multiples of 16 bytes: K = 8 * K8, and N = 8 * N8 where C is stored in bulk.
inline Module product_module(const std::string& name, const std::string& target, bool bulk) {
  const IndexExpr k = var("K8") * 8, n = bulk ? var("N8") * 8 : var("N");
  Module m;
  m.name = name, m.target = target, m.sizes = {"K8", "M", bulk ? "N8" : "N"};
  m.tensors = {tensor("A", Type::F16, poly::TensorKind::Input, {var("M"), k}),
               tensor("B", Type::F16, poly::TensorKind::Input, {n, k}),
               tensor("C", Type::F32, poly::TensorKind::Output, {var("M"), n})};
  return m;
}
inline IndexExpr tiles(const IndexExpr& size, int64_t tile) {
  return IndexExpr::floordiv(size + (tile - 1), tile);
}

// cp.async into a ring of `slots`, ldmatrix, mma.sync; 2 x 2 warps. Notes: copy_a, copy_b, wait,
// sync, load_a, load_b, store.
inline Module ampere_product(int64_t bm = 32, int64_t bn = 32, int64_t bk = 32, int slots = 3) {
  Module m = product_module("ampere", "sm_80", false);
  Kernel k;
  k.name = "product";
  k.grid = {{"i0", tiles(var("M"), bm)}, {"j0", tiles(var("N"), bn)}};
  const Axis i{"i", bm}, j{"j", bn}, x{"k", bk};
  k.buffers = {buffer("As", Type::F16, {i, x},
                      swizzled({{"i", bm}}, {{"k", bk}}, 2, bk >= 64 ? 3 : 2), slots),
               buffer("Bs", Type::F16, {j, x},
                      swizzled({{"j", bn}}, {{"k", bk}}, 2, bk >= 64 ? 3 : 2), slots)};
  const Shape shape = Shape::M16N8K16;
  const Linear wi = Linear::identity("warp", "i", 1), wj = Linear::identity("warp", "j", 1),
               w0 = Linear::zeros("warp", 1);
  const FragmentType c =
      fragment(Type::F32, {i, j}, accumulator(shape, {{"i", bm / 2}}, {{"j", bn / 2}}) * wi * wj);
  const FragmentType a =
      fragment(Type::F16, {i, x}, operand_a(shape, {{"i", bm / 2}}, {{"k", bk}}) * wi * w0);
  const FragmentType b =
      fragment(Type::F16, {j, x}, operand_b(shape, {{"j", bn / 2}}, {{"k", bk}}) * w0 * wj);
  Body body(k);
  auto copies = [&](Body& at, IndexExpr t) {
    const IndexExpr slot = IndexExpr::mod(t, slots);
    at.copy(Code::CopyAsync, "A", {var("i0") * bm + var("i"), t * bk + var("k")}, "As", slot, 16,
            "copy_a");
    at.copy(Code::CopyAsync, "B", {var("j0") * bn + var("j"), t * bk + var("k")}, "Bs", slot, 16,
            "copy_b");
    at.plain(Code::CopyCommit);
  };
  const ValueId zero = body.constant(0, c);
  for (int s = 0; s + 1 < slots; ++s) copies(body, IndexExpr(s));
  const ValueId sum = body.loop("t", tiles(var("K8") * 8, bk), zero, [&](Body& at, ValueId acc) {
    at.plain(Code::CopyWait, "wait", slots - 2);
    at.plain(Code::BlockSync, "sync");
    copies(at, var("t") + (slots - 1));
    const IndexExpr slot = IndexExpr::mod(var("t"), slots);
    const ValueId left = at.load("As", slot, {var("i"), var("k")}, a, true, "load_a");
    const ValueId right = at.load("Bs", slot, {var("j"), var("k")}, b, true, "load_b");
    Instr mma = Body::of(Code::Mma);
    mma.operands = {acc, left, right}, mma.axes = {"k"}, mma.shape = shape;
    return at.add(mma, c);
  });
  const IndexExpr row = var("i0") * bm + var("i"), column = var("j0") * bn + var("j");
  body.store_global(sum, "C", {row, column}, both(less(row, var("M")), less(column, var("N"))),
                    "store");
  k.roles = {{"all", 0, 4, body.region}};
  m.kernels = {k};
  return m;
}

// Bulk copies by a producer warp, wgmma by a warpgroup, a ring with full and empty barriers; the
// tile of C goes through shared memory and a bulk store. Notes: wait_empty, expect, copy_a, copy_b,
// wait_full, fence, product, commit, wait_product, arrive, stage, proxy, named, store, store_wait.
inline Module hopper_product(int slots = 2) {
  const int64_t bm = 64, bn = 32, bk = 64;
  Module m = product_module("hopper", "sm_90a", true);
  Kernel k;
  k.name = "product";
  k.grid = {{"i0", tiles(var("M"), bm)}, {"j0", tiles(var("N8") * 8, bn)}};
  const Axis i{"i", bm}, j{"j", bn}, x{"k", bk};
  k.buffers = {
      buffer("As", Type::F16, {i, x}, swizzled({{"i", bm}}, {{"k", bk}}, 2, 3), slots, 1024),
      buffer("Bs", Type::F16, {j, x}, swizzled({{"j", bn}}, {{"k", bk}}, 2, 3), slots, 1024),
      buffer("Cs", Type::F32, {i, j}, swizzled({{"i", bm}}, {{"j", bn}}, 4, 3), 1, 1024)};
  k.mbarriers = {{"full", slots, 1}, {"empty", slots, 4}};
  k.named = {{"staged", 1, 4}};
  const IndexExpr slot = IndexExpr::mod(var("t"), slots),
                  turn = IndexExpr::floordiv(var("t"), slots);

  Body producer(k);
  producer.loop("t", tiles(var("K8") * 8, bk), -1, [&](Body& at, ValueId) {
    at.barrier(Code::Wait, "empty", slot, 0, IndexExpr::mod(turn + 1, 2), "wait_empty");
    at.barrier(Code::ExpectBytes, "full", slot, (bm + bn) * bk * 2, 0, "expect");
    for (const bool left : {true, false}) {
      at.copy(
          Code::CopyBulk, left ? "A" : "B",
          {left ? var("i0") * bm + var("i") : var("j0") * bn + var("j"), var("t") * bk + var("k")},
          left ? "As" : "Bs", slot, 0, left ? "copy_a" : "copy_b");
      at.region.body.back().barrier = "full";
      at.region.body.back().slot_b = slot;
    }
    return -1;
  });

  const FragmentType c =
      fragment(Type::F32, {i, j}, accumulator(Shape::M64NxK16, {{"i", bm}}, {{"j", bn}}));
  Body consumer(k);
  const ValueId zero = consumer.constant(0, c);
  const ValueId sum =
      consumer.loop("t", tiles(var("K8") * 8, bk), zero, [&](Body& at, ValueId acc) {
        at.barrier(Code::Wait, "full", slot, 0, IndexExpr::mod(turn, 2), "wait_full");
        at.plain(Code::MmaFence, "fence");
        Instr product = Body::of(Code::Wgmma, "product");
        product.operands = {acc}, product.axes = {"k"}, product.span = {x};
        product.shape = Shape::M64NxK16;
        product.buffer = "As", product.slot = slot, product.index = {var("i"), var("k")};
        product.buffer_b = "Bs", product.slot_b = slot, product.index_b = {var("j"), var("k")};
        const ValueId flying = at.add(product, c);
        at.plain(Code::MmaCommit, "commit");
        Instr wait = Body::of(Code::MmaWait, "wait_product");
        wait.operands = {flying};
        const ValueId done = at.add(wait, c);
        at.barrier(Code::Arrive, "empty", slot, 1, 0, "arrive");
        return done;
      });
  consumer.store(sum, "Cs", 0, {var("i"), var("j")}, "stage");
  consumer.plain(Code::ProxyFence, "proxy");
  consumer.named(Code::NamedSync, "staged", "named");
  consumer.copy(Code::BulkStore, "C", {var("i0") * bm + var("i"), var("j0") * bn + var("j")}, "Cs",
                0, 0, "store");
  consumer.plain(Code::BulkCommit);
  consumer.plain(Code::BulkWait, "store_wait");
  k.roles = {{"producer", 4, 1, producer.region}, {"consumer", 0, 4, consumer.region}};
  m.kernels = {k};
  return m;
}

}  // namespace nautilus::memory
