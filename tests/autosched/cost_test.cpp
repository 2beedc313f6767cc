#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "autosched/cost/evaluate.h"
#include "autosched/search.h"
#include "tests/autosched/programs.h"

namespace nautilus::sched {
namespace {

using namespace testing_programs;

Machine h200() { return *load_machine(NAUTILUS_SOURCE_DIR "/corpus/machines/h200.json"); }

ResourceProfile big_product() {
  ResourceProfile r;
  r.ops = {{"matrix", 1e12}, {"special", 1e9}, {"fma", 1e9}};
  r.bytes = {{"hbm", 1e9}, {"l2", 4e9}, {"shared", 1e10}};
  r.compulsory_bytes = 5e8;
  r.useful_flops = 1e12;
  r.blocks = 132 * 64;
  r.register_bytes = 100e3;
  r.shared_bytes = 100e3;
  return r;
}

TEST(CostModel, NeverFallsWhenWorkGrows) {
  Machine m = h200();
  std::mt19937_64 rng(7);
  for (int trial = 0; trial < 300; ++trial) {
    ResourceProfile r = big_product();
    for (auto* map : {&r.ops, &r.bytes})
      for (auto& [k, v] : *map) v *= std::exp2(static_cast<double>(rng() % 20) - 10);
    r.compulsory_bytes = std::min(r.compulsory_bytes, r.bytes["hbm"]);
    Cost before = cost(r, m);
    EXPECT_LE(before.lower_bound, before.seconds);
    for (const char* unit : {"matrix", "special", "fma", "divide", "convert", "compare"}) {
      ResourceProfile more = r;
      more.ops[unit] += 1e10;
      EXPECT_GE(cost(more, m).seconds, before.seconds) << unit << " seed 7 trial " << trial;
    }
    for (const char* level : {"hbm", "l2", "shared"}) {
      ResourceProfile more = r;
      more.bytes[level] *= 2;
      EXPECT_GE(cost(more, m).seconds, before.seconds) << level << " seed 7 trial " << trial;
    }
    ResourceProfile kernels = r;
    kernels.parts = {r, r};
    EXPECT_GT(cost(kernels, m).seconds, before.seconds);
  }
}

TEST(CostModel, NamesTheLimiter) {
  Machine m = h200();
  ResourceProfile r = big_product();
  EXPECT_NE(cost(r, m).limiter.find("matrix bound"), std::string::npos) << cost(r, m).limiter;
  r.ops["special"] = 1e13;
  EXPECT_NE(cost(r, m).limiter.find("special-function bound"), std::string::npos)
      << cost(r, m).limiter;
  r = big_product();
  r.bytes["hbm"] = 1e12;
  EXPECT_NE(cost(r, m).limiter.find("memory bound"), std::string::npos) << cost(r, m).limiter;
  r = ResourceProfile{};
  EXPECT_NE(cost(r, m).limiter.find("launch bound"), std::string::npos) << cost(r, m).limiter;
}

TEST(CostModel, CapacityIsCheckedWithNumbers) {
  Machine m = h200();
  ResourceProfile r = big_product();
  EXPECT_TRUE(cost(r, m).fits);
  r.register_bytes = 260e3;
  Cost c = cost(r, m);
  EXPECT_FALSE(c.fits);
  EXPECT_NE(c.over_capacity.find("registers"), std::string::npos);
  r = big_product();
  r.shared_bytes = 300e3;
  EXPECT_NE(cost(r, m).over_capacity.find("shared"), std::string::npos);
}

TEST(CostModel, FewBlocksAndLongBlocksCostMore) {
  Machine m = h200();
  ResourceProfile r = big_product();
  double full = cost(r, m).seconds;
  r.blocks = 10;
  EXPECT_GT(cost(r, m).seconds, 5 * full);
  r.blocks = 133;
  EXPECT_GT(cost(r, m).seconds, 1.5 * full);
  r = big_product();
  r.blocks = 132;
  double even = cost(r, m).seconds;
  r.imbalance = 2;
  EXPECT_GT(cost(r, m).seconds, 1.5 * even);
}

TEST(CostModel, RooflinePointsAgree) {
  Machine m = h200();
  Cost c = cost(big_product(), m);
  ASSERT_EQ(c.points.size(), 3u);
  for (const RooflinePoint& p : c.points) {
    EXPECT_NEAR(p.achieved, 1e12 / c.seconds, 1);
    EXPECT_LE(p.achieved, p.roof * 1.0001) << p.level;
  }
}

// --- counting ----------------------------------------------------------------------------------

// Distinct coordinates by brute force over a triangle j <= i < n.
TEST(TileCounts, MatchEnumeration) {
  auto program = attention(2, 37, 5, true);
  auto facts = program_facts(program);
  ASSERT_TRUE(facts) << facts.error().text();
  const StmtModel& s = (*facts)->stmts.at("S_S");
  EXPECT_EQ(s.instances, 2 * 37 * 38 / 2);
  EXPECT_FALSE(s.box);
  TileCounter counter;
  auto coord = [](int dim, int64_t step) {
    TileCoordinate c;
    c.e.coef.assign(3, 0.0);
    c.e.coef[dim] = 1;
    c.step = step;
    return c;
  };
  for (int64_t ti : {1, 4, 7, 16, 64})
    for (int64_t tj : {1, 5, 8, 32}) {
      std::set<std::array<int64_t, 3>> all;
      std::map<std::array<int64_t, 3>, int64_t> inside;
      for (int64_t h = 0; h < 2; ++h)
        for (int64_t i = 0; i < 37; ++i)
          for (int64_t j = 0; j <= i; ++j) {
            all.insert({h, i / ti, j / tj});
            inside[{h, i / ti, j / tj}]++;
          }
      int64_t full = 0;
      for (auto& [t, n] : inside) full += n == ti * tj;
      std::vector<TileCoordinate> c = {coord(0, 1), coord(1, ti), coord(2, tj)};
      EXPECT_EQ(counter.nonempty(s, c), static_cast<double>(all.size())) << ti << " " << tj;
      EXPECT_EQ(counter.full(s, c), static_cast<double>(full)) << ti << " " << tj;
      std::map<int64_t, int64_t> row;
      for (auto& t : all)
        if (t[0] == 0) row[t[1]]++;
      double longest = 0, mean = 0;
      for (auto& [i, n] : row)
        longest = std::max(longest, static_cast<double>(n)),
        mean += static_cast<double>(n) / static_cast<double>(row.size());
      EXPECT_NEAR(counter.imbalance(s, {coord(0, 1), coord(1, ti)}, c), longest / mean, 1e-6);
    }
  // A coarser tile of the same dim adds nothing.
  EXPECT_EQ(counter.nonempty(s, {coord(1, 16), coord(1, 4)}), counter.nonempty(s, {coord(1, 4)}));
  EXPECT_EQ(counter.nonempty(s, {}), 1);
}

TEST(TileCounts, EmptyAndTiny) {
  for (int64_t n : {0, 1}) {
    auto facts = program_facts(softmax(n, 7));
    ASSERT_TRUE(facts) << facts.error().text();
    TileCounter counter;
    const StmtModel& s = (*facts)->stmts.at("S_E");
    EXPECT_EQ(s.instances, static_cast<double>(n * 7));
    TileCoordinate c;
    c.e.coef = {1, 0};
    c.step = 8;
    EXPECT_EQ(counter.nonempty(s, {c}), static_cast<double>(n));
  }
}

TEST(ProgramFactsTest, UnboundSizesAreRefused) {
  Naut b("p", {"N"});
  b.tensor("X", "input", "f32", {"N"}).tensor("Y", "output", "f32", {"N"});
  b.statement("Y", {{"i", "N"}}, "i", {{"X", "i"}}, "$0 + 1");
  auto p = b.done({});
  auto facts = program_facts(p);
  ASSERT_FALSE(facts);
  EXPECT_NE(facts.error().why.find("size N is not bound"), std::string::npos)
      << facts.error().text();
}

TEST(ProgramFactsTest, CompulsoryTrafficAndWork) {
  auto facts = program_facts(attention(4, 256, 64));
  ASSERT_TRUE(facts);
  EXPECT_EQ((*facts)->compulsory_bytes, 4.0 * 4 * 256 * 64 * 2);
  EXPECT_GE((*facts)->useful_flops, 4.0 * 4 * 256 * 256 * 64);
  EXPECT_LT((*facts)->useful_flops, 4.4 * 4 * 256 * 256 * 64);
  StatementWork w = statement_work((*facts)->stmts.at("S_E"));
  EXPECT_EQ(w.special, 4.0 * 256 * 256);
  EXPECT_EQ(statement_work((*facts)->stmts.at("S_O_acc")).matrix_flops, 2.0 * 4 * 256 * 256 * 64);
}

TEST(Axes, FollowWhatStatementsReadOfEachOther) {
  auto facts = program_facts(chained(64, 32, 16));
  ASSERT_TRUE(facts);
  ProgramAxes a = program_axes(**facts);
  EXPECT_EQ(a.axis("S_T", 0), a.axis("S_O", 0));
  EXPECT_EQ(a.axis("S_T", 1), a.axis("S_O", 1));
  EXPECT_NE(a.axis("S_T", 2), a.axis("S_O", 2));
  EXPECT_EQ(a.names.size(), 4u);
}

TEST(Axes, NeverPutTwoDimsOfOneStatementTogether) {
  Naut b("sym", {"N"});
  b.tensor("X", "input", "f32", {"N", "N"}).tensor("Y", "output", "f32", {"N", "N"});
  b.statement("Y", {{"i", "N"}, {"j", "N"}}, "i,j", {{"X", "i,j"}, {"X", "j,i"}}, "$0 + $1");
  auto facts = program_facts(b.done({{"N", 8}}));
  ASSERT_TRUE(facts);
  ProgramAxes a = program_axes(**facts);
  EXPECT_NE(a.axis("S_Y", 0), a.axis("S_Y", 1));
}

// After rewriting, linked axes have one name: that of the first statement's member stands for the
// same tile in all of them.
TEST(Counts, AxesMayBeAnotherStatementsMembers) {
  auto program = softmax(512, 1024);
  SearchOptions o;
  o.machine = *load_machine(NAUTILUS_SOURCE_DIR "/tests/autosched/cpu.json");
  o.seconds = 0;
  o.max_plans = 200;
  auto provider = direct_ops_provider();
  auto r = search(program, o, *provider);
  ASSERT_TRUE(r && !r->best.empty());
  auto plan = plan_of(program, *r, r->best[0]);
  ASSERT_TRUE(plan);
  auto facts = program_facts(plan->schedule.program);
  ASSERT_TRUE(facts);
  auto model = structure_model(plan->schedule, *facts);
  ASSERT_TRUE(model);
  StructureOps own = direct_ops(*model), shared = own;
  int renamed = 0;
  for (StructureOps::Entry& e : shared.entries)
    for (const StmtModel& s : model->stmts)
      if (s.stmt->name == e.stmt)
        for (std::string& axis : e.axes)
          for (const TileDim& t : s.tile)
            if (t.member == axis)
              for (const StmtModel& first : model->stmts) {
                if (first.kernel != s.kernel) continue;
                const auto same = std::find_if(first.tile.begin(), first.tile.end(),
                                               [&](const TileDim& u) { return u.axis == t.axis; });
                if (same == first.tile.end()) continue;
                renamed += axis != same->member;
                axis = same->member;
                break;
              }
  EXPECT_GT(renamed, 3);
  for (const Machine& m : {h200(), o.machine}) {
    auto a = profile(*plan, m, own), b = profile(*plan, m, shared);
    ASSERT_TRUE(a && b);
    EXPECT_EQ(a->ops, b->ops);
    EXPECT_EQ(a->issue, b->issue);
    EXPECT_EQ(a->bytes, b->bytes);
    EXPECT_GE(a->ops.at("special"), 512.0 * 1024);
  }
}

// --- whole programs in their written order -----------------------------------------------------

TEST(WrittenOrder, IsScalarAndSlow) {
  auto program = attention(4, 512, 64);
  Plan p;
  p.schedule = poly::initial_schedule(program);
  for (const Machine& m : {h200(), probe_cpu()}) {
    auto r = profile(p, m, {});
    ASSERT_TRUE(r) << r.error().text();
    EXPECT_EQ(r->kernels, 8);
    Cost c = cost(*r, m);
    EXPECT_LE(c.lower_bound, c.seconds);
    EXPECT_GT(c.seconds, 10 * c.lower_bound) << m.id;
    EXPECT_TRUE(std::isfinite(c.seconds));
  }
}

}  // namespace
}  // namespace nautilus::sched
