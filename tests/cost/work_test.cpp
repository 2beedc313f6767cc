// No plan is costed with less work on the matrix unit than the mathematics asks for, however its
// tiles lie across the edges.
#include <gtest/gtest.h>

#include "autosched/cost.h"
#include "tests/cost/corpus_programs.h"

namespace nautilus::sched {
namespace {

// Pairs of a row and a key that it sees, if it sees those up to its own place counted from the end.
double pairs(int64_t rows, int64_t keys, bool causal) {
  double n = 0;
  for (int64_t i = 0; i < rows; ++i)
    n += causal ? double(std::clamp<int64_t>(i + 1 + keys - rows, 0, keys)) : double(keys);
  return n;
}

TEST(Work, PlansComputeWhatIsAsked) {
  const Machine machine = *load_machine(NAUTILUS_SOURCE_DIR "/corpus/machines/h200.json");
  for (const char* kernel : {"attention_global", "attention_causal"})
    for (const auto& [n, m] : {std::pair<int64_t, int64_t>{100, 256},
                               {129, 256},
                               {256, 100},
                               {200, 328},
                               {256, 256},
                               {1, 65}}) {
      SCOPED_TRACE(std::string(kernel) + " N=" + std::to_string(n) + " M=" + std::to_string(m));
      const auto program =
          corpus_programs::program(kernel, {{"B", 1}, {"H", 2}, {"N", n}, {"M", m}, {"D", 64}});
      SearchOptions o;
      o.machine = machine;
      o.seconds = 0;
      o.max_plans = 120;
      auto ops = profile::tile_ops_provider(tile::Numerics::Reassociate);
      const auto found = search(program, o, *ops);
      ASSERT_TRUE(found) << found.error().text();
      const double asked =
          2 * 2 * 64.0 * 2 * pairs(n, m, kernel == std::string("attention_causal"));
      int looked_at = 0;
      for (const SearchNode& node : found->nodes) {
        if (node.state != NodeState::Complete || looked_at == 40) continue;
        ++looked_at;
        const auto plan = plan_of(program, *found, node.id);
        ASSERT_TRUE(plan) << plan.error().text();
        const auto own = ops->structure_ops(plan->schedule);
        if (!own) continue;
        const auto p = sched::profile(*plan, machine, *own);
        ASSERT_TRUE(p) << p.error().text();
        double work = 0;
        for (const char* unit : {"matrix", "fma"})
          if (const auto at = p->ops.find(unit); at != p->ops.end())
            work += at->second * (unit[0] == 'm' ? 1 : 2);
        EXPECT_GE(work, asked) << node.decision << " node " << node.id;
      }
      EXPECT_GT(looked_at, 5);
    }
}

}  // namespace
}  // namespace nautilus::sched
