// Small searches of the explorer, for tests.
#pragma once

#include <gtest/gtest.h>

#include <QTest>

#include "gui/models/live_search.h"
#include "gui/models/opening.h"

namespace nautilus::gui {

using SearchPhase = LiveSearch::Phase;
inline constexpr int kPatience = 60'000;

inline const sched::Session& small_softmax() {
  static const sched::Session s = [] {
    SpecRequest r;
    r.spec = "softmax";
    r.sizes = {{"N", 64}, {"M", 64}};
    auto opened = session_of(r);
    EXPECT_TRUE(opened) << opened.error().text();
    return *opened;
  }();
  return s;
}

inline bool paused(const LiveSearch& s) {
  return QTest::qWaitFor([&] { return s.phase() == SearchPhase::Paused; }, kPatience);
}

inline bool is_of(const Document& d, const std::string& machine) {
  return d.session().options.machine.id == machine;
}

// Ids are rows, parents come first, and what is listed exists.
inline void expect_sound(const Document& d) {
  for (size_t k = 0; k < d.nodes().size(); ++k) {
    ASSERT_EQ(d.nodes()[k].id, static_cast<int>(k));
    ASSERT_LT(d.nodes()[k].parent, static_cast<int>(k));
    ASSERT_LT(d.nodes()[k].duplicate_of, static_cast<int>(d.nodes().size()));
  }
  for (int id : d.best()) ASSERT_TRUE(d.node(id));
}

// A candidate that somebody else puts into the document, refused. Its id.
inline int append_refused(Document& d, bool by_hand = false) {
  sched::SearchNode mine;
  mine.parent = 0;
  mine.state = sched::NodeState::Illegal;
  mine.verdict = poly::VerdictKind::Illegal;
  mine.decision = "by hand";
  mine.by_hand = by_hand;
  d.append({mine});
  return static_cast<int>(d.nodes().size()) - 1;
}

}  // namespace nautilus::gui
