#include <gtest/gtest.h>

#include <QCoreApplication>
#include <QSignalSpy>
#include <random>

#include "gui/models/selection.h"

namespace nautilus::gui {
namespace {

TEST(Selection, ChangesOfOneTurnAreOneSignal) {
  Selection s;
  QSignalSpy spy(&s, &Selection::changed);
  s.select(3);
  s.select_tree_node(7);
  s.toggle(5);
  s.hover(9);
  EXPECT_EQ(spy.count(), 0);
  QCoreApplication::processEvents();
  ASSERT_EQ(spy.count(), 1);
  EXPECT_EQ(spy[0][0].toUInt(),
            unsigned{Selection::Node | Selection::TreeNode | Selection::Isolated | Selection::Hover});
  s.select(3);  // nothing new
  QCoreApplication::processEvents();
  EXPECT_EQ(spy.count(), 1);
}

TEST(Selection, AnotherCandidateForgetsItsTreeNodeAndStatement) {
  Selection s;
  s.select(1);
  s.select_tree_node(4);
  s.select_statement("P");
  s.select(2);
  EXPECT_EQ(s.now(), (Selected{2, {}, -1, ""}));
}

// Against a list and a position in it.
TEST(Selection, HistoryAgreesWithAList) {
  const uint32_t seed = std::random_device{}();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937 r(seed);
  Selection s;
  std::vector<int> list;
  int at = -1;
  for (int step = 0; step < 3000; ++step) {
    switch (r() % 4) {
      case 0:
        s.back();
        if (at > 0) --at;
        break;
      case 1:
        s.forward();
        if (at + 1 < static_cast<int>(list.size())) ++at;
        break;
      default: {
        const int node = static_cast<int>(r() % 10);
        s.select(node);
        if (at >= 0 && list[at] == node) break;
        list.resize(at + 1);
        list.push_back(node);
        ++at;
      }
    }
    ASSERT_EQ(s.now().node, at < 0 ? -1 : list[at]);
    ASSERT_EQ(s.can_go_back(), at > 0);
    ASSERT_EQ(s.can_go_forward(), at + 1 < static_cast<int>(list.size()));
  }
}

}  // namespace
}  // namespace nautilus::gui
