// Searches for a GPU at sizes that divide nothing: every kernel of the corpus gets a plan.
#include <filesystem>

#include "tests/cost/corpus_programs.h"

namespace nautilus::sched {
namespace {

using namespace corpus_programs;

TEST(AwkwardSizes, EveryKernelGetsAPlan) {
  for (const auto& file :
       std::filesystem::directory_iterator(NAUTILUS_SOURCE_DIR "/tests/golden")) {
    if (file.path().extension() != ".naut") continue;
    const std::string name = file.path().stem().string();
    auto whole = poly::parse_naut(poly::make_context(), text_of(name), name);
    ASSERT_TRUE(whole) << whole.error().text();
    poly::Sizes sizes = whole->typical;
    for (auto& [n, v] : sizes) {
      poly::Sizes other = sizes;
      other[n] = 65;
      if (poly::bind_sizes(*whole, other)) v = 65;
    }
    SearchOptions o = options("h200");
    o.max_plans = 60;
    const SearchResult r = run(program(name, sizes), o);
    EXPECT_FALSE(r.best.empty()) << name;
  }
}

// A stale reference is brought to its source's value where both end with one loop.
TEST(AwkwardSizes, LazyReferenceWhereItsSourceEnds) {
  SearchOptions o = options("h200");
  o.max_plans = 200;
  EXPECT_FALSE(run(program("logsumexp", {{"M", 65}, {"N", 65}}), o).best.empty());
}

// A reduction without instances: the output is its identity.
TEST(AwkwardSizes, NothingToAddUp) {
  const SearchResult r = run(edited("variance", {}, {{"N", 9}, {"M", 0}}), options("h200"));
  EXPECT_FALSE(r.best.empty());
  std::ifstream in(NAUTILUS_SOURCE_DIR "/tests/cost/empty_sum.naut");
  std::ostringstream text;
  text << in.rdbuf();
  const SearchResult e = run(bound(text.str(), {{"N", 9}, {"M", 37}}), options("h200"));
  EXPECT_FALSE(e.best.empty());
}

}  // namespace
}  // namespace nautilus::sched
