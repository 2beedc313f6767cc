// Lowering for sm_90a: products of warpgroups fed by a producer warp. The same tile programs as for
// other targets, run in the interpreter of the memory IR, which knows phases, groups and proxies.
#include <functional>

#include "compiler/memory/lower/passes.h"
#include "tests/memory/lower_helpers.h"

namespace nautilus::memory {
namespace {

LowerOptions hopper() {
  LowerOptions o;
  o.target = "sm_90a";
  return o;
}

// Plans whose tiles suit warpgroups.
std::vector<tile::Module> wide_plans(const std::string& kernel, const poly::Sizes& sizes,
                                     std::vector<int64_t> tiles) {
  const poly::Program general = corpus_program(kernel);
  const auto program = demanded(general, with_typical(general, sizes));
  sched::SearchOptions o;
  o.machine = *sched::load_machine(NAUTILUS_SOURCE_DIR "/corpus/machines/h200.json");
  o.seconds = 0;
  o.max_plans = 100;
  o.top = 20;
  o.numerics = "fast";  // f32 factors may be rounded
  o.knobs.tiles = std::move(tiles);
  auto ops = profile::tile_ops_provider(tile::Numerics::Fast);
  auto found = sched::search(program, o, *ops);
  std::vector<tile::Module> out;
  if (!found) {
    ADD_FAILURE() << found.error().text();
    return out;
  }
  for (int best : found->best) {
    const auto plan = sched::plan_of(program, *found, best);
    if (!plan) continue;
    auto m = lower::lower(plan->schedule, {true, tile::Numerics::Fast});
    tile::RewriteOptions rewriting;
    rewriting.numerics = tile::Numerics::Fast;
    if (m) out.push_back(tile::rewrite(*m, rewriting));
  }
  return out;
}

// Takes the nth instruction of a kind out; false: there is none.
bool remove(Region& r, const Which& which, int& nth) {
  for (size_t n = 0; n < r.body.size(); ++n) {
    if (which(r.body[n]) && nth-- == 0) {
      r.body.erase(r.body.begin() + ptrdiff_t(n));
      return true;
    }
    for (Region& inner : r.body[n].regions)
      if (remove(inner, which, nth)) return true;
  }
  return false;
}

struct WideCase {
  const char* kernel;
  poly::Sizes sizes;
  std::vector<int64_t> tiles;
};
void PrintTo(const WideCase& c, std::ostream* os) {
  *os << c.kernel;
  for (const auto& [n, v] : c.sizes) *os << " " << n << "=" << v;
}

class Warpgroups : public testing::TestWithParam<WideCase> {};

// The best of the plans whose products are those of warpgroups.
TEST_P(Warpgroups, ComputeWhatTheTileProgramDoes) {
  const WideCase& c = GetParam();
  std::string others;
  for (const tile::Module& t : wide_plans(c.kernel, c.sizes, c.tiles)) {
    const auto m = lower(t, hopper());
    if (!m || !count(*m, Code::Wgmma) || count(*m, Code::Mma)) {
      others += tile::print(t) + (m ? "" : m.error().text() + "\n");
      continue;
    }
    SCOPED_TRACE(tile::print(t));
    EXPECT_GT(count(*m, Code::CopyBulk), 0);
    auto ran = expect_same(t, hopper(), 2);
    ASSERT_TRUE(ran);
    EXPECT_EQ(ran->counts["bank_passes"], ran->counts["bank_passes_at_best"]);
    return;
  }
  FAIL() << "no plan takes warpgroups:\n" << others;
}

poly::Sizes keys(int64_t n, int64_t m, int64_t d) {
  return {{"B", 1}, {"H", 1}, {"N", n}, {"M", m}, {"D", d}};
}
INSTANTIATE_TEST_SUITE_P(
    Products, Warpgroups,
    testing::Values(WideCase{"matmul", {{"N", 128}, {"M", 128}, {"K", 512}}, {64}},
                    WideCase{"matmul", {{"N", 256}, {"M", 256}, {"K", 256}}, {64, 128}},
                    WideCase{"matmul", {{"N", 200}, {"M", 136}, {"K", 520}}, {64}},
                    WideCase{"matmul_bias_gelu", {{"N", 128}, {"M", 72}, {"K", 264}}, {64}},
                    WideCase{"matmul_bias_relu", {{"N", 100}, {"M", 128}, {"K", 128}}, {64}}));
INSTANTIATE_TEST_SUITE_P(
    Attention, Warpgroups,
    testing::Values(WideCase{"attention_global", keys(128, 256, 64), {64}},
                    WideCase{"attention_global", keys(128, 384, 64), {64, 128}},
                    WideCase{"attention_global", keys(200, 328, 64), {64}},
                    WideCase{"attention_causal", keys(256, 256, 64), {64}},
                    WideCase{"attention_causal", keys(130, 200, 128), {64}},
                    WideCase{"attention_softcap", keys(128, 192, 64), {64}},
                    WideCase{"attention_alibi", keys(192, 192, 64), {64}},
                    WideCase{"attention_window",
                             {{"B", 1}, {"H", 1}, {"N", 192}, {"M", 192}, {"D", 64}, {"W", 70}},
                             {64}},
                    WideCase{"attention_mla",
                             {{"B", 1}, {"H", 1}, {"N", 128}, {"M", 192}, {"D", 96}, {"E", 64}},
                             {64}}));

const char* const kLongProduct = R"(module product {
  tensor A: f16[128, 512] input global
  tensor B: f16[512, 64] input global
  tensor C: f16[128, 64] output global
  kernel product {
    grid i0 < 2
    values 8
    %0: f32 = const 0
    %6: f32[i: 64, j: 64] = for k0 in [0, STEPS) step 1 carry (%1: f32[i: 64, j: 64] = %0) {
      %2: f16[i: 64, k: 64] = load A[64*i0 + i, 64*k0 + k]
      %3: f16[j: 64, k: 64] = load B[64*k0 + k, j]
      %4: f32[i: 64, j: 64] = dot %2, %3 over (k)
      %5: f32[i: 64, j: 64] = add %1, %4
      yield %5
    }
    %7: f16[i: 64, j: 64] = cast %6
    store C[64*i0 + i, j] = %7
  }
}
)";
const char* const kLongAttention = R"(module attention {
  tensor Q: f16[64, 64] input global
  tensor K: f16[512, 64] input global
  tensor V: f16[512, 64] input global
  tensor O: f16[64, 64] output global
  kernel attention {
    values 27
    %0: f32 = const 0
    %1: f32 = const -inf
    %2: f16[d: 64, i: 64] = load Q[i, d]
    %15: f32[i: 64], %16: f32[i: 64], %17: f32[e: 64, i: 64] = for j0 in [0, STEPS) step 1 carry (%3: f32[i: 64] = %1, %4: f32[i: 64] = %0, %5: f32[e: 64, i: 64] = %0) {
      %6: f16[d: 64, j: 64] = load K[64*j0 + j, d]
      %7: f32[i: 64, j: 64] = dot %2, %6 over (d)
      %8: f32[i: 64] = reduce max %7 over (j)
      %9: f32[i: 64] = max %3, %8
      %10: f32[i: 64, j: 64] = sub %7, %9
      %11: f32[i: 64, j: 64] = exp %10
      %12: f16[i: 64, j: 64] = cast %11
      %13: f32[i: 64] = sub %3, %9
      %14: f32[i: 64] = exp %13
      %18: f32[i: 64] = mul %4, %14
      %19: f32[i: 64] = reduce sum %11 over (j)
      %20: f32[i: 64] = add %18, %19
      %21: f16[e: 64, j: 64] = load V[64*j0 + j, e]
      %22: f32[e: 64, i: 64] = mul %5, %14
      %23: f32[e: 64, i: 64] = dot %12, %21 over (j)
      %24: f32[e: 64, i: 64] = add %23, %22
      yield %9, %20, %24
    }
    %25: f32[e: 64, i: 64] = div %17, %16
    %26: f16[e: 64, i: 64] = cast %25
    store O[i, e] = %26
  }
}
)";

tile::Module with_steps(std::string text, int steps) {
  const size_t at = text.find("STEPS");
  text.replace(at, 5, std::to_string(steps));
  return tile_module(text);
}
const Role& role(const Kernel& k, const std::string& name) {
  for (const Role& r : k.roles)
    if (r.name == name) return r;
  throw std::runtime_error("no role " + name);
}

// A ring that is never filled again needs nobody to say that a slot is empty.
TEST(LowerWarpgroups, SlotsAreReleasedWhereTheRingIsFilledAgain) {
  for (int steps : {1, 2, 6, 7, 8}) {
    SCOPED_TRACE(steps);
    const tile::Module t = with_steps(kLongProduct, steps);
    const auto m = lower(t, hopper());
    ASSERT_TRUE(m) << m.error().text();
    const Kernel& k = m->kernels[0];
    ASSERT_EQ(k.roles.size(), 2u);
    for (const SharedBuffer& b : k.buffers) {
      const auto bar = [&](const std::string& name) {
        return std::any_of(k.mbarriers.begin(), k.mbarriers.end(),
                           [&](const MBarrier& x) { return x.name == name + b.name; });
      };
      EXPECT_TRUE(bar("full_"));
      EXPECT_LE(b.slots, steps);
      EXPECT_EQ(bar("empty_"), steps > b.slots) << b.name << " of " << b.slots;
    }
    EXPECT_EQ(count(role(k, "consumer").body, is(Code::CopyBulk)), 0);
    EXPECT_EQ(count(role(k, "producer").body, is(Code::Wgmma)), 0);
    ASSERT_TRUE(expect_same(t, hopper(), 4));
  }
}

// The second product of a tile is issued behind the first product of the next one; a loop of one
// tile stays as it is.
TEST(LowerWarpgroups, SecondProductRunsUnderTheNextTile) {
  for (int steps : {1, 2, 3, 8}) {
    SCOPED_TRACE(steps);
    const tile::Module t = with_steps(kLongAttention, steps);
    const auto m = lower(t, hopper());
    ASSERT_TRUE(m) << m.error().text();
    const Region& consumer = role(m->kernels[0], "consumer").body;
    const std::string text = print(*m);
    // Before the loop a first product, in it both, after it the last one.
    EXPECT_EQ(count(consumer, is(Code::Wgmma)), steps == 1 ? 2 : 4) << text;
    const Which early = [](const Instr& i) { return i.code == Code::MmaWait && i.count == 1; };
    EXPECT_EQ(count(consumer, early) > 0, steps > 1) << text;
    ASSERT_TRUE(expect_same(t, hopper(), 4));
  }
}

// What the kernel does to keep its order is needed: without any one of it the interpreter objects,
// by a fault or a wrong value.
TEST(LowerWarpgroups, NothingThatOrdersIsSpare) {
  const tile::Module t = with_steps(kLongAttention, 8);
  const auto whole = lower(t, hopper());
  ASSERT_TRUE(whole) << whole.error().text();
  const poly::Buffers in = inputs_of(t, 11);
  const auto objects = [&](const Module& m) {
    for (uint64_t seed = 1; seed <= 6; ++seed) {
      InterpretOptions o;
      o.seed = seed;
      const auto r = interpret(m, {}, in, o);
      if (!r || !r->faults.empty()) return true;
    }
    return false;
  };
  ASSERT_FALSE(objects(*whole));
  const std::vector<std::pair<std::string, Which>> kinds{
      {"wait", is(Code::Wait)},
      {"arrive", is(Code::Arrive)},
      {"expected bytes", is(Code::ExpectBytes)},
      {"commit", is(Code::MmaCommit)},
  };
  for (const auto& [name, which] : kinds) {
    // Nobody waits for the release of the last tile, which comes last.
    const int n = count(*whole, which) - (name == "arrive");
    EXPECT_GT(n, 0) << name;
    for (int at = 0; at < n; ++at) {
      Module m = *whole;
      int nth = at;
      bool done = false;
      for (Role& r : m.kernels[0].roles) done = done || remove(r.body, which, nth);
      ASSERT_TRUE(done);
      EXPECT_TRUE(objects(m)) << name << " " << at << " left out:\n" << print(m);
    }
  }
}

// Lanes that read a tile beside its product: the tile is released when both are done.
TEST(LowerWarpgroups, TilesThatLanesReadToo) {
  std::string text = kLongAttention;
  const auto put = [&](const std::string& what, const std::string& with) {
    const size_t at = text.find(what);
    ASSERT_NE(at, std::string::npos) << what;
    text.replace(at, what.size(), with);
  };
  put("  kernel", "  tensor W: f32[64] output global\n  kernel");
  put("values 27", "values 40");
  put("%17: f32[e: 64, i: 64] = for", "%17: f32[e: 64, i: 64], %30: f32[e: 64] = for");
  put("%5: f32[e: 64, i: 64] = %0)", "%5: f32[e: 64, i: 64] = %0, %31: f32[e: 64] = %0)");
  put("      yield %9, %20, %24\n",
      "      %32: f32[e: 64, j: 64] = cast %21\n"
      "      %33: f32[e: 64] = reduce sum %32 over (j)\n"
      "      %34: f32[e: 64] = add %31, %33\n"
      "      yield %9, %20, %24, %34\n");
  put("    store O[i, e] = %26\n", "    store O[i, e] = %26\n    store W[e] = %30\n");
  ASSERT_TRUE(expect_same(with_steps(text, 8), hopper(), 4));

  ASSERT_TRUE(expect_same(tile_module(R"(module rows {
  tensor A: f16[64, 1024] input global
  tensor B: f16[1024, 64] input global
  tensor C: f32[64, 64] output global
  tensor S: f32[64] output global
  kernel rows {
    values 12
    %0: f32 = const 0
    %10: f32[i: 64, j: 64], %11: f32[i: 64] = for t in [0, 16) step 1 carry (%8: f32[i: 64, j: 64] = %0, %9: f32[i: 64] = %0) {
      %1: f16[i: 64, k: 64] = load A[i, 64*t + k]
      %2: f16[j: 64, k: 64] = load B[64*t + k, j]
      %3: f32[i: 64, j: 64] = dot %1, %2 over (k)
      %4: f32[i: 64, j: 64] = add %8, %3
      %5: f32[i: 64, k: 64] = cast %1
      %6: f32[i: 64] = reduce sum %5 over (k)
      %7: f32[i: 64] = add %9, %6
      yield %4, %7
    }
    store C[i, j] = %10
    store S[i] = %11
  }
}
)"),
                          hopper(), 4));
}

// Steps written out, more of them than slots: a slot is released before its next copy is waited
// for.
TEST(LowerWarpgroups, MoreStepsThanSlotsWithoutALoop) {
  std::string text =
      "module steps {\n  tensor A: f16[64, 640] input global\n  tensor B: f16[640, 64] input "
      "global\n  tensor C: f32[64, 64] output global\n  kernel steps {\n    values 41\n"
      "    %0: f32 = const 0\n";
  std::string sum = "%0";
  for (int t = 0; t < 10; ++t) {
    const auto name = [&](int n) { return "%" + std::to_string(1 + 4 * t + n); };
    const std::string from = std::to_string(64 * t);
    text += "    " + name(0) + ": f16[i: 64, k: 64] = load A[i, k + " + from + "]\n    " + name(1) +
            ": f16[j: 64, k: 64] = load B[k + " + from + ", j]\n    " + name(2) +
            ": f32[i: 64, j: 64] = dot " + name(0) + ", " + name(1) + " over (k)\n    " + name(3) +
            ": f32[i: 64, j: 64] = add " + sum + ", " + name(2) + "\n";
    sum = name(3);
  }
  text += "    store C[i, j] = " + sum + "\n  }\n}\n";
  ASSERT_TRUE(expect_same(tile_module(text), hopper(), 4));
}

// Two sums side by side have nothing to run beside a shifted product.
TEST(LowerWarpgroups, TwoSumsOfOneLoop) {
  ASSERT_TRUE(expect_same(tile_module(R"(module pair {
  tensor A: f16[64, 512] input global
  tensor B: f16[512, 64] input global
  tensor G: f16[512, 64] input global
  tensor C: f32[64, 64] output global
  kernel pair {
    values 12
    %0: f32 = const 0
    %9: f32[i: 64, j: 64], %10: f32[i: 64, j: 64] = for t in [0, 8) step 1 carry (%1: f32[i: 64, j: 64] = %0, %2: f32[i: 64, j: 64] = %0) {
      %3: f16[i: 64, k: 64] = load A[i, 64*t + k]
      %4: f16[j: 64, k: 64] = load B[64*t + k, j]
      %5: f32[i: 64, j: 64] = dot %3, %4 over (k)
      %6: f32[i: 64, j: 64] = add %1, %5
      %7: f16[j: 64, k: 64] = load G[64*t + k, j]
      %8: f32[i: 64, j: 64] = dot %3, %7 over (k)
      %11: f32[i: 64, j: 64] = add %2, %8
      yield %6, %11
    }
    store C[i, j] = %9
  }
}
)"),
                          hopper(), 4));
}

// A sum that is stored as it is and added to by a second product: that one gets registers of its
// own, written before the fence.
TEST(LowerWarpgroups, ASumThatIsReadElsewhere) {
  const tile::Module t = tile_module(R"(module twice {
  tensor A: f16[64, 64] input global
  tensor B: f16[64, 64] input global
  tensor G: f16[64, 64] input global
  tensor C: f32[64, 64] output global
  tensor D: f32[64, 64] output global
  kernel twice {
    values 7
    %0: f16[i: 64, k: 64] = load A[i, k]
    %1: f16[j: 64, k: 64] = load B[k, j]
    %2: f16[j: 64, k: 64] = load G[k, j]
    %3: f32[i: 64, j: 64] = dot %0, %1 over (k)
    %4: f32[i: 64, j: 64] = dot %0, %2 over (k)
    %5: f32[i: 64, j: 64] = add %3, %4
    store D[i, j] = %5
    store C[i, j] = %3
  }
}
)");
  const auto m = lower(t, hopper());
  ASSERT_TRUE(m) << m.error().text();
  const Region& consumer = role(m->kernels[0], "consumer").body;
  std::map<ValueId, int> uses;
  for (const Instr& i : consumer.body)
    for (ValueId v : i.operands) ++uses[v];
  int products = 0;
  for (size_t n = 0; n < consumer.body.size(); ++n) {
    const Instr& i = consumer.body[n];
    if (i.code != Code::Wgmma) continue;
    ++products;
    EXPECT_EQ(uses[i.operands[0]], 1) << print(*m);
    EXPECT_TRUE(consumer.body[n - 1].code == Code::MmaFence ||
                consumer.body[n - 1].code == Code::Wgmma)
        << print(*m);
  }
  EXPECT_EQ(products, 2) << print(*m);
  ASSERT_TRUE(expect_same(t, hopper(), 4));
}

// Longest rows first, where rows differ.
TEST(LowerWarpgroups, LongBlocksStartFirst) {
  const auto descending = [](const std::string& kernel) {
    for (const tile::Module& t : wide_plans(kernel, keys(256, 256, 64), {64})) {
      const auto m = lower(t, hopper());
      if (!m) continue;
      for (const tile::GridDim& g : m->kernels[0].grid)
        if (g.descending) return true;
    }
    return false;
  };
  EXPECT_TRUE(descending("attention_causal"));
  EXPECT_FALSE(descending("attention_global"));
}

// Of those, the blocks of several heads start together where the cache holds what they read; the
// module says so in its text and is well formed.
TEST(LowerWarpgroups, LongBlocksOfSeveralHeadsStartTogether) {
  const auto plans = [](int64_t rows) {
    return wide_plans("attention_causal", keys(rows, rows, 64), {64});
  };
  // Of the first plan whose rows are of unequal length; 0: there is none.
  const auto together = [](std::vector<tile::Module> of, int64_t heads) -> int64_t {
    for (tile::Module& t : of) {
      for (tile::TensorDecl& d : t.tensors)
        if (d.extents.size() == 4) d.extents[1] = heads;
      for (tile::Kernel& k : t.kernels)
        for (tile::GridDim& g : k.grid)
          if (g.iv == "h") g.extent = heads;
      const auto m = lower(t, hopper());
      if (!m || !m->kernels[0].grid.back().descending) continue;
      const auto again = parse(print(*m));
      EXPECT_TRUE(again) << (again ? "" : again.error().text());
      EXPECT_EQ(again ? print(*again) : "", print(*m));
      return m->kernels[0].grid.back().together;
    }
    return 0;
  };
  const std::vector<tile::Module> few = plans(256);
  EXPECT_EQ(together(few, 8), 8);
  EXPECT_EQ(together(few, 6), 2) << "a section divides the heads";
  EXPECT_EQ(together(few, 1), 1);
  // Q, K and V of a head take 6 MB; a section has 24.
  EXPECT_EQ(together(plans(16384), 8), 4);
  // What the kernel does not read takes no room.
  std::vector<tile::Module> long_rows = plans(16384);
  for (tile::Module& t : long_rows)
    t.tensors.push_back({"unread",
                         Type::F32,
                         poly::TensorKind::Input,
                         poly::Scope::Global,
                         {IndexExpr(8), IndexExpr(1 << 24)}});
  EXPECT_EQ(together(long_rows, 8), 4);
}

// Heads whose rows differ in length start longest first themselves, not in sections.
TEST(LowerWarpgroups, DimsThatDescendBothHaveNoSections) {
  int seen = 0;
  for (tile::Module& t : wide_plans("attention_causal", keys(256, 256, 64), {64})) {
    for (tile::TensorDecl& d : t.tensors)
      if (d.extents.size() == 4) d.extents[1] = 8;
    for (tile::Kernel& k : t.kernels)
      for (tile::GridDim& g : k.grid)
        if (g.iv == "h") g.extent = 8;
    auto m = lower(t, hopper());
    if (!m || m->kernels[0].grid.back().together == 1) continue;
    Kernel& k = m->kernels[0];
    k.grid.back().together = 1;
    const std::function<void(Region&)> longer = [&](Region& r) {
      for (Instr& i : r.body) {
        if (i.code == Code::For) i.upper = i.upper + IndexExpr::var("h");
        for (Region& inner : i.regions) longer(inner);
      }
    };
    for (Role& r : k.roles) longer(r.body);
    lowering::longest_first(k, *m);
    for (const tile::GridDim& g : k.grid) EXPECT_EQ(g.together, 1) << g.iv;
    EXPECT_TRUE(k.grid.back().descending);
    EXPECT_FALSE(verify(*m));
    ++seen;
    break;
  }
  EXPECT_EQ(seen, 1);
}

// Consumers take what the producer gives, and no more than the unit has.
TEST(LowerWarpgroups, RegistersAreShared) {
  const auto m = lower(with_steps(kLongAttention, 8), hopper());
  ASSERT_TRUE(m) << m.error().text();
  const Kernel& k = m->kernels[0];
  int64_t all = 0;
  for (const Role& r : k.roles) {
    ASSERT_FALSE(r.body.body.empty());
    const Instr& first = r.body.body[0];
    ASSERT_EQ(first.code, Code::SetRegisters) << r.name;
    EXPECT_EQ(first.count % 8, 0);
    all += first.count * 32 * r.warps;
  }
  EXPECT_LE(all * k.blocks_per_sm, 65536);
}

}  // namespace
}  // namespace nautilus::memory
