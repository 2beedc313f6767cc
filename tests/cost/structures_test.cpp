// What the search finds for the corpus at real sizes: which kernels run in one pass over memory,
// with how many reductions corrected, and how many products are left for the matrix unit.
#include "compiler/lower/lower.h"
#include "tests/cost/corpus_programs.h"

namespace nautilus::sched {
namespace {

using namespace corpus_programs;

struct Found {
  const char* kernel;
  poly::Sizes sizes;
  size_t kernels;   // launched
  size_t repaired;  // reductions whose running values are corrected, all at one loop
  int products;     // of full tiles and, where a mask is causal, of partial ones
};
void PrintTo(const Found& f, std::ostream* os) { *os << f.kernel; }

class Structures : public testing::TestWithParam<Found> {};

int products_in(const tile::Region& b) {
  int n = 0;
  for (const tile::Instr& i : b.body) {
    n += i.code == tile::Code::Dot;
    for (const tile::Region& inner : i.regions) n += products_in(inner);
  }
  return n;
}

TEST_P(Structures, BestPlan) {
  const Found& f = GetParam();
  const auto p = program(f.kernel, f.sizes);
  SearchOptions o = options("h200");
  o.max_plans = 300;
  const SearchResult r = run(p, o);
  ASSERT_FALSE(r.best.empty());
  const auto plan = plan_of(p, r, r.best.front());
  ASSERT_TRUE(plan) << plan.error().text();
  const std::string tree = poly::to_text(plan->schedule);
  EXPECT_EQ(plan->schedule.root->children.size(), f.kernels) << tree;
  EXPECT_EQ(plan->schedule.repairs.size(), f.repaired) << tree;
  std::set<int> bands;
  for (const poly::Repair& x : plan->schedule.repairs) bands.insert(x.band);
  EXPECT_EQ(bands.size(), f.repaired ? 1u : 0u) << tree;
  const auto m = lower::lower(plan->schedule);
  ASSERT_TRUE(m) << m.error().text() << tree;
  int products = 0;
  for (const tile::Kernel& k : m->kernels) products += products_in(k.body);
  EXPECT_EQ(products, f.products) << tile::print(*m);
}

const poly::Sizes kSizes = {{"B", 1}, {"H", 32}, {"N", 4096}, {"M", 4096}, {"D", 128}};
poly::Sizes with(const poly::Sizes& more) {
  poly::Sizes s = kSizes;
  for (const auto& [n, v] : more) s[n] = v;
  return s;
}

INSTANTIATE_TEST_SUITE_P(Attention, Structures,
                         testing::Values(Found{"attention_causal", kSizes, 1, 2, 4},
                                         Found{"attention_causal_mqa", kSizes, 1, 2, 4},
                                         Found{"attention_sink", kSizes, 1, 2, 4},
                                         Found{"attention_lse", kSizes, 1, 3, 4},
                                         Found{"attention_mla", with({{"D", 192}, {"E", 128}}), 1,
                                               2, 4},
                                         Found{"attention_t5", with({{"Buckets", 32}}), 1, 2, 2},
                                         Found{"attention_ragged", kSizes, 1, 2, 2}),
                         [](const auto& info) { return std::string(info.param.kernel); });

}  // namespace
}  // namespace nautilus::sched
