// The discovered schedule of attention must be worth it on a CPU. Ratios only: the machine may be
// busy.
#include "cpu_attention.h"
#include "cpu_helpers.h"

namespace nautilus::cpu {
namespace {

TEST(CpuSpeed, FusedAttentionIsSeveralTimesFasterThanStatementByStatement) {
  const int64_t h = 1, N = 512, D = 64;
  const auto fused = module_of(fused_attention(h, N, D, 64, 64, false)),
             plain = module_of(unfused_attention(h, N, D));
  const poly::Buffers in = random_inputs(fused, 1);
  Ready a(fused, in), b(plain, in);
  a.run();
  b.run();
  expect_close(a.outputs(), b.outputs(), 1e-4, "fused and unfused");
  // Both on one thread: this is about the code, not about the number of cores.
  const double fast = a.time(1, 5), slow = b.time(1, 2), flops = 4.0 * double(h * N * N * D);
  RecordProperty("fused_gflops", std::to_string(flops / fast / 1e9));
  std::printf("fused %.1f GFLOP/s, statement by statement %.1f GFLOP/s\n", flops / fast / 1e9,
              flops / slow / 1e9);
  EXPECT_GT(slow / fast, 5);
}

}  // namespace
}  // namespace nautilus::cpu
