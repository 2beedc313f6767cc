// A real session: causal attention on an H200, with its best plans and what was refused beside
// them.
#pragma once

#include <gtest/gtest.h>

#include <QElapsedTimer>
#include <QtTest>
#include <QtWidgets>

#include "gui/views/view.h"
#include "tests/gui/samples.h"

namespace nautilus::gui::testing_samples {

inline sched::Session attention_session() {
  auto s = sched::load_session(NAUTILUS_SOURCE_DIR "/tests/gui/attention_session.json");
  EXPECT_TRUE(s) << (s ? "" : s.error().text());
  return s ? *std::move(s) : sched::Session();
}

// What views share, with the session open.
struct Desk {
  Document document;
  Selection selection;
  FilterStack filters{document};
  Bench bench;
  Theme theme;
  explicit Desk(sched::Session s = attention_session()) {
    bench.set_work(s);
    document.set_session(std::move(s), "attention_session.json");
  }
  Shared shared() { return {document, selection, filters, bench, theme}; }
  int best() const { return document.best().at(0); }
};

// Shows the view and waits until it has what it asked for.
inline bool settle(View& v, int ms = 60'000) {
  QElapsedTimer t;
  t.start();
  QTest::qWait(1);
  while (v.busy() && t.elapsed() < ms) QTest::qWait(5);
  return !v.busy();
}

}  // namespace nautilus::gui::testing_samples
