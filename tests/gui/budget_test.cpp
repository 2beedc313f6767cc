// What plans take: registers, shared memory, and the pipeline in time.
#include <fstream>
#include <sstream>

#include "compiler/memory/liveness.h"
#include "gui/models/budget_data.h"
#include "tests/gui/sessions.h"

namespace nautilus::gui {
namespace {

using namespace testing_samples;

memory::Module sample(const std::string& name) {
  std::ifstream in(NAUTILUS_SOURCE_DIR "/tests/memory/samples/" + name);
  std::stringstream text;
  text << in.rdbuf();
  auto m = memory::parse(text.str(), name);
  EXPECT_TRUE(m) << (m ? "" : m.error().text());
  return m ? *std::move(m) : memory::Module();
}
sched::Machine h200() { return *sched::find_machine("h200"); }

void expect_sound(const KernelBudget& b) {
  int64_t sum = 0;
  for (const RegisterValue& v : b.live) sum += v.registers;
  EXPECT_EQ(sum, b.tile_registers);
  EXPECT_LE(b.registers, kRegistersOfThread);
  ASSERT_LT(b.peak, b.pressure.size());
  for (const PressurePoint& p : b.pressure) EXPECT_LE(p.registers, b.tile_registers);
  for (size_t i = 0; i < b.shared.size(); ++i) {
    const SharedBlock& x = b.shared[i];
    EXPECT_LE(x.offset + x.bytes, b.shared_bytes) << x.name.toStdString();
    for (size_t j = 0; j < i; ++j) {
      const SharedBlock& y = b.shared[j];
      const bool together = x.first < y.last && y.first < x.last;
      const bool overlap = x.offset < y.offset + y.bytes && y.offset < x.offset + x.bytes;
      EXPECT_FALSE(together && overlap) << x.name.toStdString() << " and " << y.name.toStdString();
    }
  }
}

void expect_sound(const Timeline& t) {
  EXPECT_FALSE(t.stuck);
  EXPECT_GT(t.seconds, 0);
  ASSERT_FALSE(t.bars.empty());
  for (size_t n = 0; n < t.bars.size(); ++n) {
    const TimelineBar& b = t.bars[n];
    EXPECT_LT(b.begin, b.end);
    EXPECT_LE(b.end, t.seconds * (1 + 1e-12));
    ASSERT_GE(b.row, 0);
    ASSERT_LT(size_t(b.row), t.rows.size());
    if (n) {
      EXPECT_LE(t.bars[n - 1].begin, b.begin);
    }
  }
}

TEST(BudgetTest, SamplesAddUp) {
  for (const char* name : {"ampere_product.mtile", "causal_attention.mtile", "gather_sums.mtile",
                           "hopper_product.mtile"}) {
    SCOPED_TRACE(name);
    const memory::Module m = sample(name);
    for (const memory::Kernel& k : m.kernels) {
      const KernelBudget b = kernel_budget(m, k, h200());
      expect_sound(b);
      expect_sound(b.timeline);
      EXPECT_EQ(b.tile_registers, memory::register_pressure(k));
      EXPECT_EQ(b.shared_bytes, k.shared_bytes());
    }
  }
}

TEST(BudgetTest, ThePlanOfASession) {
  Desk desk;
  std::optional<Budget> budget;
  QObject asker;
  auto path = Bench::path_nodes(desk.document.session().result, desk.best());
  path.back().knobs["tile.j"] = 32;  // several tiles: a loop with a pipeline
  desk.bench.ask<Budget>(
      &asker, "test",
      [path](const Workpiece& w, const CancelToken& c) {
        return make_budget(*stages_of(w, c, path, {}), w.options.machine);
      },
      [&](Budget b) { budget = std::move(b); });
  QElapsedTimer t;
  t.start();
  while (!budget && t.elapsed() < 60'000) QTest::qWait(2);
  ASSERT_TRUE(budget);
  ASSERT_FALSE(budget->refusal) << budget->refusal->text();
  ASSERT_FALSE(budget->kernels.empty());
  for (const KernelBudget& k : budget->kernels) expect_sound(k);
  const KernelBudget& k = budget->kernels.back();
  expect_sound(k.timeline);
  EXPECT_GT(k.occupancy, 0);
  EXPECT_LE(k.occupancy, 1);
  EXPECT_EQ(k.shared_capacity, 232448);
  EXPECT_FALSE(k.timeline.loop.isEmpty());
  bool copy = false, product = false, special = false;
  for (const TimelineBar& b : k.timeline.bars) {
    copy |= b.work == Work::Copy;
    product |= b.work == Work::Matrix;
    special |= b.work == Work::Special;
  }
  EXPECT_TRUE(copy && product && special);
}

// With more slots copies run ahead of what uses them: the block ends earlier.
TEST(TimelineTest, DeeperRingsHideTheLatency) {
  const auto seconds = [&](int ahead) {
    const std::string n = std::to_string(ahead), slots = std::to_string(ahead + 1);
    const std::string place =
        "f16[i: 64, j: 64] in {register: j=1 j=2 j=4 j=8 j=16; lane: i=1 i=2 i=4 i=8 i=16; "
        "warp: i=32 j=32}";
    const std::string text =
        "module p {\n  target sm_90\n  tensor A: f16[4096, 64] input global\n  kernel k {\n"
        "    blocks_per_sm 1\n    buffer A_s: f16[i: 64, j: 64] slots " +
        slots +
        " offset 0 align 128 in {offset: j=1 j=2 j=4 j=8 j=16 j=32 i=1 i=2 i=4 i=8 i=16 i=32}\n"
        "    values 2\n    role all first 0 warps 4 {\n      for p in [0, " +
        n +
        ") step 1 {\n        copy_async A_s[p] = A[64*p + i, j] vector 16\n        copy_commit\n"
        "      }\n      for t in [0, 16) step 1 {\n        copy_wait " +
        std::to_string(ahead - 1) + "\n        block_sync\n        copy_async A_s[mod(t + " + n +
        ", " + slots + ")] = A[64*t + i + " + std::to_string(64 * ahead) +
        ", j] vector 16\n        copy_commit\n        %0: " + place + " = load_shared A_s[mod(t, " +
        slots + ")](i, j)\n        %1: " + place +
        " = exp2 %0\n        block_sync\n      }\n    }\n  }\n}\n";
    auto m = memory::parse(text, "test");
    EXPECT_TRUE(m) << (m ? "" : m.error().text());
    if (!m) return 0.0;
    const Timeline t = simulate(*m, m->kernels[0], h200(), 16);
    expect_sound(t);
    EXPECT_EQ(t.trips, 16);
    EXPECT_EQ(t.shown_trips, 16);
    EXPECT_EQ(t.loop, "t");
    return t.seconds;
  };
  EXPECT_LT(seconds(3), 0.95 * seconds(1));
}

TEST(TimelineTest, RolesThatMeetAtBarriersGoOn) {
  const memory::Module m = sample("hopper_product.mtile");
  const Timeline t = simulate(m, m.kernels[0], h200(), 64);
  EXPECT_FALSE(t.stuck);
  QSet<QString> roles;
  for (const TimelineRow& r : t.rows) roles.insert(r.role);
  EXPECT_EQ(roles.size(), int(m.kernels[0].roles.size()));
  // A barrier that nobody arrives at is told, not hung on.
  memory::Module broken = m;
  for (memory::MBarrier& b : broken.kernels[0].mbarriers) b.arrivals += 1000;
  EXPECT_TRUE(simulate(broken, broken.kernels[0], h200(), 64).stuck);
}

TEST(BudgetTest, ACpuHasNoMemoryIr) {
  PlanStages p;
  sched::Machine cpu;
  cpu.name = "host", cpu.kind = "cpu";
  const Budget b = make_budget(p, cpu);
  ASSERT_TRUE(b.refusal);
  EXPECT_NE(b.refusal->why.find("GPU"), std::string::npos);
}

}  // namespace
}  // namespace nautilus::gui
