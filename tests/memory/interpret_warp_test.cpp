// Lanes of one warp through shared memory: each reads what another wrote, after a WarpSync.
#include "tests/memory/interpret_kernels.h"

namespace nautilus::memory {
namespace {

Module reversed() {
  Module m;
  m.name = "reversed", m.target = "sm_80";
  m.tensors = {tensor("X", Type::F32, poly::TensorKind::Input, {32}),
               tensor("Y", Type::F32, poly::TensorKind::Output, {32})};
  Kernel k;
  k.name = "reversed";
  k.buffers = {buffer("S", Type::F32, {{"i", 32}}, Linear::identity("offset", "i", 5), 1)};
  const FragmentType t = fragment(Type::F32, {{"i", 32}}, Linear::identity("lane", "i", 5));
  Body body(k);
  const ValueId x = body.load_global("X", {var("i")}, Cond::always(), t);
  body.store(x, "S", 0, {var("i")}, "stage");
  body.plain(Code::WarpSync, "sync");
  const ValueId y = body.load("S", 0, {IndexExpr(31) - var("i")}, t, false, "load");
  body.store_global(y, "Y", {var("i")}, Cond::always(), "store");
  k.roles = {{"all", 0, 1, body.region}};
  m.kernels = {k};
  return m;
}

TEST(InterpretWarp, LanesSeeEachOtherAfterWarpSync) {
  const Module m = reversed();
  const auto out = expect_clean(m, {});
  std::vector<double> x = random_inputs(m, {}).at("X");
  std::reverse(x.begin(), x.end());
  EXPECT_EQ(out.at("Y"), x);
}
TEST(InterpretWarp, MissingWarpSync) {
  expect_fault(without(reversed(), "sync"), {}, {FaultKind::Race}, "lane");
}
// A lane's own element needs no synchronization.
TEST(InterpretWarp, OwnElementNeedsNone) {
  const auto own = [](Instr& i) { i.index[0] = var("i"); };
  expect_clean(changed(without(reversed(), "sync"), "load", own), {});
}
TEST(InterpretWarp, StoreTwice) {
  const auto half = [](Instr& i) { i.index[0] = IndexExpr::floordiv(var("i"), 2); };
  expect_fault(changed(reversed(), "store", half), {}, {FaultKind::Uncovered}, "second time");
}

}  // namespace
}  // namespace nautilus::memory
