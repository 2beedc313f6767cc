// What the CUDA compiler says of a kernel decides how many blocks the cost model sees on a unit.
#include "compiler/profile/resources.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "autosched/cost/parts.h"

namespace nautilus::profile {
namespace {

sched::Machine h200() {
  auto m = sched::find_machine("h200");
  EXPECT_TRUE(m) << m.error().text();
  return *m;
}

// A profile of two kernels whose tiles alone would let many blocks in.
sched::ResourceProfile two_kernels() {
  sched::ResourceProfile part;
  part.ops["matrix"] = 1e12;
  part.blocks = 5000;
  part.steps = 20000;  // a long chain of dependent steps in each block
  part.register_bytes = 1000;
  part.shared_bytes = 1000;
  part.copier_bytes = 1 << 16;  // a guess, which the real kernel replaces
  sched::ResourceProfile p = part;
  p.parts = {part, part};
  p.kernels = 2;
  return p;
}

TEST(Resources, BlocksOnAUnitAreThoseOfTheHardware) {
  const sched::Machine m = h200();
  const double words = m.registers_per_unit.value / 4;
  for (const int registers : {24, 32, 64, 128, 168, 255})
    for (const int threads : {128, 256, 512})
      for (const int64_t shared : {0, 40 << 10, 100 << 10}) {
        const std::vector<cuda::Launch> launches(2, {"k", {1}, threads, shared, 1, {}});
        const std::vector<cuda::Resources> kernels(2, {"k", registers, 0, 0, shared, 0});
        const sched::ResourceProfile p = with_resources(two_kernels(), m, launches, kernels);
        const double want =
            std::max(1.0, std::floor(std::min({words / (registers * threads),
                                               1.0 * m.max_threads_per_unit / threads,
                                               m.shared_per_unit.value / (shared + 1024.0)})));
        for (const sched::ResourceProfile& part : p.parts)
          EXPECT_EQ(sched::resident_blocks(part, m), want)
              << registers << " registers, " << threads << " threads, " << shared << " bytes";
      }
}

TEST(Resources, MoreRegistersNeverPredictLessTime) {
  const sched::Machine m = h200();
  double last = 0;
  for (const int registers : {32, 64, 128, 255}) {
    const std::vector<cuda::Launch> launches(2, {"k", {1}, 256, 0, 1, {}});
    const std::vector<cuda::Resources> kernels(2, {"k", registers, 0, 0, 0, 0});
    const double seconds =
        sched::cost(with_resources(two_kernels(), m, launches, kernels), m).seconds;
    EXPECT_GE(seconds, last);
    last = seconds;
  }
  const std::vector<cuda::Launch> launches(2, {"k", {1}, 256, 0, 1, {}});
  EXPECT_GT(last,
            sched::cost(with_resources(two_kernels(), m, launches, {2, {"k", 32, 0, 0, 0, 0}}), m)
                .seconds);
}

TEST(Resources, OtherKernelsThanThePlansChangeNothing) {
  const sched::Machine m = h200();
  const std::vector<cuda::Launch> three(3, {"k", {1}, 256, 0, 1, {}});
  const std::vector<cuda::Resources> kernels(3, {"k", 255, 0, 0, 0, 0});
  const sched::ResourceProfile p = with_resources(two_kernels(), m, three, kernels);
  EXPECT_EQ(p.parts[0].register_bytes, 1000);
  EXPECT_EQ(p.parts[1].shared_bytes, 1000);
}

}  // namespace
}  // namespace nautilus::profile
