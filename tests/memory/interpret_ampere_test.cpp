// A multi-stage product with cp.async: clean at many sizes, and each way to spoil its
// synchronization is found in every order.
#include "tests/memory/interpret_kernels.h"

namespace nautilus::memory {
namespace {

const poly::Sizes kSizes = {{"M", 40}, {"N", 33}, {"K8", 17}};
using Kinds = std::set<FaultKind>;
// What reading too early looks like: nothing is there, it is on its way, or nothing orders it.
const Kinds kEarly = {FaultKind::Race, FaultKind::InFlight, FaultKind::Unwritten};

TEST(InterpretAmpere, RightAtOddSizes) {
  for (const poly::Sizes& sizes : {kSizes, poly::Sizes{{"M", 1}, {"N", 1}, {"K8", 1}},
                                   poly::Sizes{{"M", 17}, {"N", 65}, {"K8", 13}},
                                   poly::Sizes{{"M", 32}, {"N", 32}, {"K8", 4}}}) {
    const Module m = ampere_product();
    const auto out = expect_clean(m, sizes, 3);
    expect_product(random_inputs(m, sizes), out.at("C"), sizes);
  }
}
TEST(InterpretAmpere, CleanInEveryOrder) {
  for (int slots : {2, 3, 4}) expect_clean(ampere_product(32, 32, 32, slots), kSizes);
}
TEST(InterpretAmpere, NoTermsGivesZeros) {
  const auto out = expect_clean(ampere_product(), {{"M", 3}, {"N", 5}, {"K8", 0}}, 2);
  EXPECT_EQ(out.at("C"), std::vector<double>(15, 0.0));
}
TEST(InterpretAmpere, MissingCopyWait) {
  expect_fault(without(ampere_product(), "wait"), kSizes, kEarly, "As");
}
TEST(InterpretAmpere, WaitForTooFewGroups) {
  expect_fault(changed(ampere_product(), "wait", [](Instr& i) { i.count = 2; }), kSizes, kEarly);
}
TEST(InterpretAmpere, MissingBlockSync) {
  expect_fault(without(ampere_product(), "sync"), kSizes, kEarly);
}
// Waiting after the barrier: other threads' copies are not covered.
TEST(InterpretAmpere, BarrierBeforeWait) {
  Module m = ampere_product();
  for (Role& r : m.kernels[0].roles)
    each_instr(r.body, [](Region& at, size_t n) {
      if (at.body[n].note == "wait") std::swap(at.body[n], at.body[n + 1]);
    });
  expect_fault(m, kSizes, kEarly);
}
// One slot fewer than the distance between copy and use needs: it is refilled while it is read.
TEST(InterpretAmpere, SlotReusedTooSoon) {
  Module m = ampere_product();
  m = changed(m, "copy_a", [](Instr& i) { i.slot = IndexExpr::mod(i.slot, 2); });
  m = changed(m, "load_a", [](Instr& i) { i.slot = IndexExpr::mod(i.slot, 2); });
  expect_fault(m, kSizes, kEarly, "As");
}
TEST(InterpretAmpere, SlotOffByOne) {
  const auto next = [](Instr& i) { i.slot = IndexExpr::mod(var("t") + 1, 3); };
  expect_fault(changed(ampere_product(), "load_b", next), kSizes, kEarly, "Bs");
}
TEST(InterpretAmpere, SlotOutsideTheRing) {
  const auto no_ring = [](Instr& i) { i.slot = var("t"); };
  expect_fault(changed(ampere_product(), "load_b", no_ring), kSizes, {FaultKind::OutOfBounds},
               "slot 3 of Bs");
}
TEST(InterpretAmpere, PrologueReadEarly) {
  Module m = ampere_product();
  // Only one of the two tiles of the prologue is copied: the second iteration reads nothing.
  std::vector<Instr>& body = m.kernels[0].roles[0].body.body;
  int groups = 0;
  for (size_t n = 0; n < body.size(); ++n)
    if (body[n].code == Code::CopyCommit && ++groups == 2)
      body.erase(body.begin() + ptrdiff_t(n) - 2, body.begin() + ptrdiff_t(n));
  ASSERT_EQ(groups, 2);
  expect_fault(m, kSizes, {FaultKind::Unwritten}, "t=1");
}
TEST(InterpretAmpere, StoreWithoutMask) {
  const auto always = [](Instr& i) { i.cond = Cond::always(); };
  expect_fault(changed(ampere_product(), "store", always), kSizes, {FaultKind::OutOfBounds},
               "outside dimension");
}
TEST(InterpretAmpere, LoadOutsideTheBuffer) {
  const auto shifted = [](Instr& i) { i.index[0] = i.index[0] + 1; };
  expect_fault(changed(ampere_product(), "load_a", shifted), kSizes, {FaultKind::OutOfBounds},
               "outside As");
}
TEST(InterpretAmpere, TwoBlocksWriteOneElement) {
  const auto overlap = [](Instr& i) { i.index[0] = var("i0") * 16 + var("i"); };
  expect_fault(changed(ampere_product(), "store", overlap), kSizes, {FaultKind::Uncovered},
               "another block");
}
TEST(InterpretAmpere, ElementsThatNoBlockWrites) {
  Module m = ampere_product();
  m.kernels[0].grid[1].extent = IndexExpr::floordiv(var("N"), 32);
  expect_fault(m, kSizes, {FaultKind::Uncovered}, "no block writes");
}
TEST(InterpretAmpere, OneBlockAloneIsNotAskedToCover) {
  const Module m = ampere_product();
  InterpretOptions o;
  o.only_block = {1, 0};
  auto r = interpret(m, kSizes, random_inputs(m, kSizes), o);
  ASSERT_TRUE(r) << r.error().text();
  EXPECT_TRUE(r->faults.empty()) << text(r->faults);
  EXPECT_TRUE(std::isnan(r->outputs.at("C")[0]));
  EXPECT_FALSE(std::isnan(r->outputs.at("C")[32 * 33]));
}
TEST(InterpretAmpere, Budget) {
  const Module m = ampere_product();
  InterpretOptions o;
  o.max_ops = 5000;
  auto r = interpret(m, kSizes, random_inputs(m, kSizes), o);
  ASSERT_TRUE(r) << r.error().text();
  ASSERT_EQ(r->faults.size(), 1u);
  EXPECT_EQ(r->faults[0].kind, FaultKind::Budget);
}
TEST(InterpretAmpere, CountsForTheCostModel) {
  const Module m = ampere_product();
  const poly::Sizes sizes = {{"M", 32}, {"N", 32}, {"K8", 8}};
  const Interpretation r = interpreted(m, sizes, 1, random_inputs(m, sizes));
  EXPECT_EQ(r.counts.at("mma_flops"), 2 * 32 * 32 * 64);
  EXPECT_EQ(r.counts.at("global_read_bytes"), 2 * 32 * 64 * 2);
  EXPECT_EQ(r.counts.at("global_write_bytes"), 32 * 32 * 4);
  EXPECT_EQ(r.counts.at("bank_passes"), r.counts.at("bank_passes_at_best"));  // swizzled
  EXPECT_EQ(r.counts.at("barrier_waits"), 2 * 4);
}
TEST(InterpretAmpere, BankConflictsOfPlainRowsAreCounted) {
  Module m = ampere_product(32, 32, 64);
  for (SharedBuffer& b : m.kernels[0].buffers)
    b.place.map = swizzled({{b.axes[0].name, 32}}, {{"k", 64}}, 2, 0);
  const poly::Sizes sizes = {{"M", 32}, {"N", 32}, {"K8", 8}};
  const Interpretation r = interpreted(m, sizes, 1, random_inputs(m, sizes));
  EXPECT_EQ(r.counts.at("bank_passes"), 8 * r.counts.at("bank_passes_at_best"));
}

// One block of a real tile: about a second is too long already.
TEST(InterpretAmpere, BigTileIsFast) {
  const Module m = ampere_product(128, 128, 64, 3);
  const poly::Sizes sizes = {{"M", 128}, {"N", 128}, {"K8", 32}};
  const auto out = expect_clean(m, sizes, 1);
  expect_product(random_inputs(m, sizes), out.at("C"), sizes);
}

}  // namespace
}  // namespace nautilus::memory
