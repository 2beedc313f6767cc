// Whatever runs out of isl operations anywhere is refused, and nothing crashes.
#include <gtest/gtest.h>

#include "autosched/exploration.h"
#include "compiler/lower/lower.h"
#include "compiler/profile/profile.h"
#include "polyhedral/context.h"
#include "tests/cost/corpus_programs.h"

namespace nautilus::sched {
namespace {

class AnyQuota : public testing::TestWithParam<const char*> {};

TEST_P(AnyQuota, IsARefusal) {
  const poly::Sizes sizes =
      GetParam() == std::string("softmax")
          ? poly::Sizes{{"N", 64}, {"M", 64}}
          : poly::Sizes{{"B", 1}, {"H", 2}, {"N", 256}, {"M", 256}, {"D", 64}};
  const auto program = corpus_programs::program(GetParam(), sizes);
  SearchOptions o;
  o.machine = *load_machine(NAUTILUS_SOURCE_DIR "/corpus/machines/h200.json");
  o.seconds = 0;
  o.max_plans = 60;
  o.top = 1;
  auto ops = profile::tile_ops_provider(tile::Numerics::Reassociate);
  const auto found = search(program, o, *ops);
  ASSERT_TRUE(found) << found.error().text();
  ASSERT_FALSE(found->best.empty());
  const auto plan = plan_of(program, *found, found->best[0]);
  ASSERT_TRUE(plan);
  const isl::ctx ctx = program->context->get();
  bool done = false;
  int refused = 0;
  // Each quota about 0.7 % above the last: some 1,500 places.
  for (double quota = 1; quota < 5e7 && !done; quota = std::max(quota + 1, quota * 1.007)) {
    const auto answer = poly::with_quota(ctx, static_cast<unsigned long>(quota),
                                         [&] { return lower::lower(plan->schedule).has_value(); });
    done = answer && *answer;
    refused += !done;
  }
  EXPECT_TRUE(done);
  EXPECT_GT(refused, 100);
}

INSTANTIATE_TEST_SUITE_P(Kernels, AnyQuota, testing::Values("softmax", "attention_causal"),
                         [](const auto& info) { return std::string(info.param); });

}  // namespace
}  // namespace nautilus::sched
