// Searches whose plans are to serve every value of some sizes.
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "autosched/open_sizes.h"
#include "polyhedral/loops.h"
#include "tests/autosched/searches.h"

namespace nautilus::sched {
namespace {

using namespace testing_searches;

struct Operator {
  poly::ProgramPtr open, bound;
};
Operator read(const std::string& kernel, const poly::Sizes& sizes) {
  std::ifstream in(std::string(NAUTILUS_SOURCE_DIR "/tests/golden/") + kernel + ".naut");
  std::ostringstream text;
  text << in.rdbuf();
  auto p = poly::parse_naut(poly::make_context(), text.str(), kernel);
  EXPECT_TRUE(p) << p.error().text();
  auto b = poly::bind_sizes(*p, sizes);
  EXPECT_TRUE(b) << b.error().text();
  return {std::make_shared<const poly::Program>(poly::restrict_to_demanded(*p)),
          std::make_shared<const poly::Program>(poly::restrict_to_demanded(*b))};
}

// Whether the plan has loops where its sizes are open: no tile spans an open axis.
bool stays_open(const Operator& op, const Plan& plan) {
  auto schedule = with_open_sizes(plan, op.open);
  return schedule && poly::generate_loops(*schedule);
}

// At sizes of less than a tile everything fits one; a plan of an ordinary search holds it there.
TEST(OpenDims, HaveLoopsHoweverShort) {
  const std::vector<std::tuple<std::string, poly::Sizes, std::set<std::string>>> cases{
      {"softmax", {{"N", 12}, {"M", 40}}, {"i", "j"}},
      {"matmul", {{"N", 40}, {"M", 24}, {"K", 9}}, {"i", "j", "k"}}};
  for (const auto& [kernel, sizes, dims] : cases) {
    const Operator op = read(kernel, sizes);
    SearchOptions o = options_for();
    o.max_plans = 60;
    const SearchResult ordinary = run(op.bound, o);
    auto plan = plan_of(op.bound, ordinary, ordinary.best[0]);
    ASSERT_TRUE(plan) << plan.error().text();
    EXPECT_FALSE(stays_open(op, *plan)) << kernel;
    o.open_dims = dims;
    const SearchResult r = run(op.bound, o);
    check_invariants(r);
    for (int id : r.best) {
      plan = plan_of(op.bound, r, id);
      ASSERT_TRUE(plan) << plan.error().text();
      EXPECT_TRUE(stays_open(op, *plan)) << kernel << ": " << poly::to_text(plan->schedule);
    }
    Session s;
    s.options = o;
    s.result = r;
    s.program_naut = poly::print_naut(*op.bound);
    auto back = session_from_json(session_to_json(s));
    ASSERT_TRUE(back) << back.error().text();
    EXPECT_EQ(back->options.open_dims, dims);
  }
}

}  // namespace
}  // namespace nautilus::sched
