// Which plan becomes code where the best one does not.
#include "compiler/driver/gpu_code.h"

#include <gtest/gtest.h>

namespace nautilus::test {
namespace {

using driver::Choice;

// A softmax at small sizes, the plan that it is as written, and one that does not lower: its rows
// are tiles, and how long they are is not bound.
class PassedOver : public testing::Test {
 protected:
  void SetUp() override {
    driver::Input input;
    input.spec = NAUTILUS_SOURCE_DIR "/tests/golden/softmax.naut";
    input.sizes = {"N=40", "M=96"};
    int status = 0;
    in_ = driver::load(input, true, status);
    ASSERT_TRUE(in_);
    machine_ = *driver::find_gpu("h200");
  }

  Choice choice(const poly::Program& p, double seconds) const {
    Choice c;
    c.plan.schedule = poly::initial_schedule(std::make_shared<const poly::Program>(p));
    c.plan.numerics = "reassociate";
    c.about["plan"] = "plan of " + std::to_string(seconds) + " s";
    c.about["predicted_seconds"] = seconds;
    return c;
  }
  // The code where a plan that does not lower is followed by one that takes so many times as long.
  Expected<driver::GpuCode> after_one_that_does_not_lower(double times) {
    driver::PassPrinter printer("", false);
    Choice rows = choice(in_->general, 1);
    const poly::NodeId band = rows.plan.schedule.root->children[0]->children[0]->id;
    auto mapped = poly::apply_unchecked(rows.plan.schedule, "map",
                                        {{"node", band}, {"member", "j"}, {"mapping", "tile"}});
    if (!mapped) return mapped.error();
    rows.plan.schedule = *mapped;
    return driver::generate({rows, choice(in_->program, times)}, machine_,
                            {"sm_90", false, &*in_, false}, printer);
  }

  std::optional<driver::Loaded> in_;
  sched::Machine machine_;
};

TEST_F(PassedOver, TheNextPlanIsTakenAndThatIsSaid) {
  const auto code = after_one_that_does_not_lower(19);
  ASSERT_TRUE(code) << code.error().text();
  EXPECT_EQ(code->choice.about["predicted_seconds"], 19.0);
  EXPECT_FALSE(code->source.launches.empty());
  ASSERT_GE(code->notes.size(), 2u);
  const std::string& why = code->notes[code->notes.size() - 2];
  EXPECT_EQ(why.rfind("passed over: plan of 1.000000 s: ", 0), 0u) << why;
  EXPECT_EQ(code->notes.back(), "this plan is predicted to take " + driver::human_time(19) +
                                    ", the best found " + driver::human_time(1));
}

TEST_F(PassedOver, AFarSlowerPlanIsNotWhatWasAskedFor) {
  const auto code = after_one_that_does_not_lower(21);
  ASSERT_FALSE(code);
  const Refusal& r = code.error();
  EXPECT_EQ(r.where, "softmax");
  EXPECT_NE(r.why.find("is not constant"), std::string::npos) << r.why;
  EXPECT_NE(r.why.find("what is left is predicted to be 20 times slower and more"),
            std::string::npos)
      << r.why;
  EXPECT_NE(r.suggest.find("--schedule original"), std::string::npos) << r.suggest;
}

// Slow, but the best there is: nothing was passed over for it.
TEST_F(PassedOver, TheFirstPlanIsTakenHoweverSlow) {
  driver::PassPrinter printer("", false);
  const auto code = driver::generate({choice(in_->program, 1e9)}, machine_,
                                     {"sm_90", false, &*in_, false}, printer);
  ASSERT_TRUE(code) << code.error().text();
  for (const std::string& n : code->notes)
    EXPECT_EQ(n.find("the best found"), std::string::npos) << n;
}

}  // namespace
}  // namespace nautilus::test
