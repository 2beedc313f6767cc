// A product with roles, bulk copies, mbarriers and wgmma, stored through shared memory: clean in
// every order, and each way to spoil its barriers, fences and waits is found in every order.
#include <cmath>

#include "tests/memory/interpret_kernels.h"

namespace nautilus::memory {
namespace {

const poly::Sizes kHopperSizes = {{"M", 72}, {"N8", 5}, {"K8", 41}};  // six turns of a ring of two
using Kinds = std::set<FaultKind>;
const Kinds kHopperEarly = {FaultKind::Race, FaultKind::InFlight, FaultKind::Unwritten};
Kinds or_deadlock(Kinds k) {
  k.insert(FaultKind::Deadlock);
  return k;
}

TEST(InterpretHopper, RightAtOddSizes) {
  for (const poly::Sizes& sizes : {kHopperSizes, poly::Sizes{{"M", 1}, {"N8", 1}, {"K8", 1}},
                                   poly::Sizes{{"M", 129}, {"N8", 9}, {"K8", 13}}}) {
    const Module m = hopper_product();
    const auto out = expect_clean(m, sizes, 3);
    expect_product(random_inputs(m, sizes), out.at("C"), sizes);
  }
}
TEST(InterpretHopper, CleanInEveryOrder) {
  for (int slots : {1, 2, 3}) expect_clean(hopper_product(slots), kHopperSizes);
}
TEST(InterpretHopper, ConsumerWithWrongParity) {
  const auto flip = [](Instr& i) { i.parity = IndexExpr(1) - i.parity; };
  expect_fault(changed(hopper_product(), "wait_full", flip), kHopperSizes,
               or_deadlock(kHopperEarly));
}
TEST(InterpretHopper, ProducerWithWrongParity) {
  const auto flip = [](Instr& i) { i.parity = IndexExpr(1) - i.parity; };
  expect_fault(changed(hopper_product(), "wait_empty", flip), kHopperSizes, {FaultKind::Deadlock},
               "producer warp 0 (t=0) waits at");
}
TEST(InterpretHopper, ParityThatNeverFlips) {
  const auto stuck = [](Instr& i) { i.parity = 0; };
  expect_fault(changed(hopper_product(), "wait_full", stuck), kHopperSizes,
               or_deadlock(kHopperEarly));
}
TEST(InterpretHopper, MissingWaitOfTheConsumer) {
  expect_fault(without(hopper_product(), "wait_full"), kHopperSizes, kHopperEarly);
}
TEST(InterpretHopper, MissingWaitOfTheProducer) {
  expect_fault(without(hopper_product(), "wait_empty"), kHopperSizes, or_deadlock(kHopperEarly));
}
TEST(InterpretHopper, MissingExpectBytes) {
  expect_fault(without(hopper_product(), "expect"), kHopperSizes, {FaultKind::Deadlock},
               "consumer");
}
// An arrival without bytes ends the phase before the copies are there.
TEST(InterpretHopper, ArrivalInsteadOfBytes) {
  const auto arrive = [](Instr& i) { i.code = Code::Arrive, i.count = 1; };
  expect_fault(changed(hopper_product(), "expect", arrive), kHopperSizes,
               or_deadlock(kHopperEarly));
}
TEST(InterpretHopper, TooFewBytes) {
  const auto half = [](Instr& i) { i.count = 64 * 64 * 2; };
  expect_fault(changed(hopper_product(), "expect", half), kHopperSizes, or_deadlock(kHopperEarly));
}
TEST(InterpretHopper, TooManyBytes) {
  const auto more = [](Instr& i) { i.count += 16; };
  expect_fault(changed(hopper_product(), "expect", more), kHopperSizes, {FaultKind::Deadlock},
               "16 bytes short");
}
TEST(InterpretHopper, TooManyArrivalsAwaited) {
  Module m = hopper_product();
  m.kernels[0].mbarriers[1].arrivals = 5;
  expect_fault(m, kHopperSizes, {FaultKind::Deadlock}, "4 of 5 arrivals");
}
TEST(InterpretHopper, TooFewArrivalsAwaited) {
  Module m = hopper_product();
  m.kernels[0].mbarriers[1].arrivals = 3;
  expect_fault(m, kHopperSizes, or_deadlock(kHopperEarly));
}
TEST(InterpretHopper, TooManyArrivalsInAPhase) {
  const auto five = [](Instr& i) { i.count = 5; };
  expect_fault(changed(hopper_product(), "arrive", five), kHopperSizes, {FaultKind::Deadlock},
               "which takes 4");
}
TEST(InterpretHopper, SlotOffByOne) {
  const auto next = [](Instr& i) { i.slot_b = IndexExpr::mod(var("t") + 1, 2); };
  expect_fault(changed(hopper_product(), "product", next), kHopperSizes, kHopperEarly, "Bs");
}
TEST(InterpretHopper, CopyIntoTheWrongSlot) {
  const auto next = [](Instr& i) { i.slot = IndexExpr::mod(var("t") + 1, 2); };
  expect_fault(changed(hopper_product(), "copy_a", next), kHopperSizes, kHopperEarly, "As");
}
// Released before the matrix unit has finished with it.
TEST(InterpretHopper, ArriveBeforeTheWait) {
  Module m = hopper_product();
  each_instr(m.kernels[0].roles[1].body, [](Region& r, size_t n) {
    if (r.body[n].note == "wait_product") std::swap(r.body[n], r.body[n + 1]);
  });
  expect_fault(m, kHopperSizes, {FaultKind::InFlight}, "wgmma by consumer");
}
TEST(InterpretHopper, MissingMmaWait) {
  const auto none = [](Instr& i) { i.count = 1; };
  const Module m = changed(hopper_product(), "wait_product", none);
  expect_fault(m, kHopperSizes, {FaultKind::InFlight}, "has not waited for");
}
TEST(InterpretHopper, MissingCommit) {
  expect_fault(without(hopper_product(), "commit"), kHopperSizes, {FaultKind::InFlight});
}
TEST(InterpretHopper, MissingMmaFence) {
  expect_fault(without(hopper_product(), "fence"), kHopperSizes, {FaultKind::MissingFence},
               "operand 0");
}
TEST(InterpretHopper, MissingProxyFence) {
  expect_fault(without(hopper_product(), "proxy"), kHopperSizes, {FaultKind::MissingFence}, "Cs");
}
// The fence must follow the writes that it is for.
TEST(InterpretHopper, ProxyFenceTooEarly) {
  Module m = hopper_product();
  each_instr(m.kernels[0].roles[1].body, [](Region& r, size_t n) {
    if (r.body[n].note == "stage") std::swap(r.body[n], r.body[n + 1]);
  });
  expect_fault(m, kHopperSizes, {FaultKind::MissingFence}, "Cs");
}
TEST(InterpretHopper, MissingNamedBarrier) {
  expect_fault(without(hopper_product(), "named"), kHopperSizes,
               {FaultKind::Race, FaultKind::Unwritten}, "Cs");
}
TEST(InterpretHopper, NamedBarrierWithTooManyWarps) {
  Module m = hopper_product();
  m.kernels[0].named[0].warps = 5;
  expect_fault(m, kHopperSizes, {FaultKind::Deadlock}, "4 of 5 warps");
}
TEST(InterpretHopper, NamedBarrierWithTooFewWarps) {
  Module m = hopper_product();
  m.kernels[0].named[0].warps = 3;
  expect_fault(m, kHopperSizes, or_deadlock({FaultKind::Race, FaultKind::Unwritten}));
}
TEST(InterpretHopper, BlockEndsUnderABulkStore) {
  expect_fault(without(hopper_product(), "store_wait"), kHopperSizes, {FaultKind::InFlight},
               "block ends");
}
TEST(InterpretHopper, BlockEndsUnderABulkCopy) {
  Module m = hopper_product();
  // One tile more than the consumer takes.
  for (Instr& i : m.kernels[0].roles[0].body.body) i.upper = i.upper + 1;
  expect_fault(m, kHopperSizes, {FaultKind::InFlight}, "block ends");
}
// A role that never comes: the block's barrier waits for all.
TEST(InterpretHopper, BlockSyncOfOneRole) {
  Module m = hopper_product();
  m.kernels[0].roles[1].body.body.insert(m.kernels[0].roles[1].body.body.begin(),
                                         Body::of(Code::BlockSync));
  expect_fault(m, kHopperSizes, {FaultKind::Deadlock}, "4 of 5 warps have come");
}
// Buffers that share bytes while both are alive.
TEST(InterpretHopper, BuffersThatShareBytes) {
  Module m = hopper_product();
  std::vector<SharedBuffer>& b = m.kernels[0].buffers;
  b[0].offset = 0, b[1].offset = 2 * 8192, b[2].offset = 2 * 8192 + 2 * 4096;
  expect_clean(m, kHopperSizes, 3);
  b[1].offset = 8192;  // under the second slot of As
  expect_fault(m, kHopperSizes, or_deadlock(kHopperEarly));
  b[1].offset = 2 * 8192;
  b[2].offset = b[1].offset;  // over the ring, whose last tiles other warps may still read
  expect_fault(m, kHopperSizes, {FaultKind::Race, FaultKind::InFlight}, "Cs");
  Instr sync = Body::of(Code::NamedSync);
  sync.barrier = "staged";
  for (size_t n = 0; n < m.kernels[0].roles[1].body.body.size(); ++n)
    if (m.kernels[0].roles[1].body.body[n].note == "stage") {
      m.kernels[0].roles[1].body.body.insert(m.kernels[0].roles[1].body.body.begin() + ptrdiff_t(n),
                                             sync);
      break;
    }
  expect_clean(m, kHopperSizes, 3);
}
// A fault says who, where and against what.
TEST(InterpretHopper, FaultsNameBothAccesses) {
  const Module m = without(hopper_product(), "wait_full");
  const Interpretation r = interpreted(m, kHopperSizes, 3, random_inputs(m, kHopperSizes));
  ASSERT_FALSE(r.faults.empty());
  bool named = false;
  for (const Fault& f : r.faults) {
    EXPECT_EQ(f.block.size(), 2u);
    EXPECT_NE(f.instr, "");
    named = named || (f.text.find("copy_bulk by producer warp 0 lane 0 (t=") != std::string::npos &&
                      f.text.find("wgmma by consumer warp ") != std::string::npos);
  }
  EXPECT_TRUE(named) << text(r.faults);
}

}  // namespace
}  // namespace nautilus::memory
