#include <gtest/gtest.h>

#include <QSignalSpy>
#include <QTest>

#include "gui/models/snapshot.h"
#include "tests/gui/samples.h"

namespace nautilus::gui {
namespace {

using testing_samples::random_nodes;
using testing_samples::random_session;

TEST(Document, ChildrenAndPathsFollowGrowth) {
  Document d;
  d.set_session(random_session(100, 3), "a.nautilus.json");
  d.append(random_nodes(100, 4, 100));
  int edges = 0;
  for (const sched::SearchNode& n : d.nodes()) {
    for (int c : d.children(n.id)) EXPECT_EQ(d.node(c)->parent, n.id);
    edges += static_cast<int>(d.children(n.id).size());
    const std::vector<int> path = d.path(n.id);
    ASSERT_FALSE(path.empty());
    EXPECT_EQ(path.front(), 0);
    EXPECT_EQ(path.back(), n.id);
    EXPECT_EQ(d.depth(n.id), static_cast<int>(path.size()) - 1);
  }
  EXPECT_EQ(edges, 199);
  EXPECT_TRUE(d.path(200).empty());
  EXPECT_EQ(d.depth(200), 0);
  EXPECT_TRUE(d.children(-1).empty());
}

std::vector<sched::SearchNode> twice_as_slow(const Document& d) {
  std::vector<sched::SearchNode> out = d.nodes();
  for (sched::SearchNode& n : out) n.seconds *= 2;
  return out;
}

TEST(Document, OtherCostsComeWithTheirOptionsAndTheirAnswer) {
  Document d;
  d.set_session(random_session(100, 3), "");
  const std::vector<int> best = {d.best().back(), d.best().front()};
  const double before = d.node(best[0])->seconds;
  sched::SearchOptions o = d.session().options;
  o.machine.id = "other";
  int told = 0;
  const auto all_is_there = [&] {
    ++told;
    EXPECT_EQ(d.session().options.machine.id, "other");
    EXPECT_EQ(d.node(best[0])->seconds, 2 * before);
    EXPECT_EQ(d.best(), best);
    EXPECT_TRUE(d.on_best_path(best[0]));
  };
  QObject::connect(&d, &Document::options_changed, &d, all_is_there);
  QObject::connect(&d, &Document::answer_changed, &d, all_is_there);
  EXPECT_FALSE(d.set_costs(o, random_nodes(99, 3), best, {}));
  EXPECT_EQ(told, 0);
  EXPECT_FALSE(d.modified());
  EXPECT_TRUE(d.set_costs(o, twice_as_slow(d), best, {}));
  EXPECT_EQ(told, 2);
  EXPECT_TRUE(d.modified());
}

// What is written to a file is of one machine, too.
TEST(Document, ACopyInTheMakingHasTheCostsOfItsEnd) {
  Document d;
  d.set_session(random_session(30'000, 3), "");
  std::shared_ptr<sched::Session> copy;
  bool done = false;
  new Snapshot(
      d, [&](std::shared_ptr<sched::Session> s) { copy = std::move(s), done = true; }, &d);
  QCoreApplication::processEvents();  // a slice
  ASSERT_FALSE(done);
  sched::SearchOptions o = d.session().options;
  o.machine.id = "other";
  ASSERT_TRUE(d.set_costs(o, twice_as_slow(d), d.best(), {}));
  ASSERT_TRUE(QTest::qWaitFor([&] { return done; }, 60'000));
  ASSERT_TRUE(copy);
  EXPECT_EQ(copy->options.machine.id, "other");
  ASSERT_EQ(copy->result.nodes.size(), d.nodes().size());
  for (const sched::SearchNode& n : d.nodes())
    ASSERT_EQ(copy->result.nodes[static_cast<size_t>(n.id)].seconds, n.seconds) << n.id;
}

// A batch never waits for 100,000 nodes to be moved to a larger place.
TEST(Document, ThereIsRoomBeforeItIsNeeded) {
  Document d;
  d.set_session(random_session(100'000, 3), "");
  const auto room = [&] { return d.nodes().capacity() - d.nodes().size(); };
  for (int batch = 0; batch < 5; ++batch) {  // the first room is too little for them
    ASSERT_TRUE(QTest::qWaitFor([&] { return room() >= d.nodes().size() / 4; }, 60'000));
    const auto* before = d.nodes().data();
    auto more =
        random_nodes(static_cast<int>(d.nodes().size() / 4), 4, static_cast<int>(d.nodes().size()));
    d.append(std::move(more));
    EXPECT_EQ(d.nodes().data(), before);
  }
  for (size_t k = 0; k < d.nodes().size(); ++k) ASSERT_EQ(d.nodes()[k].id, static_cast<int>(k));
  EXPECT_FALSE(d.nodes()[99'999].decision.empty());
}

TEST(Document, TheBestPathIsMarked) {
  Document d;
  d.set_session(random_session(100, 3), "");
  const int best = d.best().front();
  for (const sched::SearchNode& n : d.nodes()) {
    const std::vector<int> path = d.path(best);
    EXPECT_EQ(d.on_best_path(n.id), std::find(path.begin(), path.end(), n.id) != path.end());
  }
  d.set_answer({99, 5000}, {-4, 98});
  EXPECT_EQ(d.best(), std::vector<int>{99});
  EXPECT_EQ(d.session().result.pareto, std::vector<int>{98});
  EXPECT_TRUE(d.on_best_path(99));
}

TEST(Document, ChangesAreToldOnceAndMarkItModified) {
  Document d;
  d.set_session(random_session(20, 3), "");
  QSignalSpy notes(&d, &Document::notes_changed), pins(&d, &Document::pins_changed),
      modified(&d, &Document::modified_changed);
  EXPECT_FALSE(d.modified());
  d.set_note(3, "here");
  d.set_note(3, "here");
  d.set_note(999, "nowhere");
  d.set_pinned(4, true);
  d.set_pinned(4, true);
  d.set_pinned(2, true);
  EXPECT_EQ(notes.count(), 1);
  EXPECT_EQ(pins.count(), 2);
  EXPECT_EQ(modified.count(), 1);
  EXPECT_EQ(d.pins(), (std::vector<int>{4, 2}));
  EXPECT_EQ(d.note(3), "here");
  d.set_saved("x.nautilus.json", d.revision());
  EXPECT_FALSE(d.modified());
  d.set_measured(7, {1e-4, true, "H200"});
  EXPECT_TRUE(d.modified());
  EXPECT_EQ(d.measured(7)->source, "H200");
  EXPECT_FALSE(d.measured(8));
}

}  // namespace
}  // namespace nautilus::gui
