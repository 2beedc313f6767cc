// What a view needs around it, for tests and benchmarks.
#pragma once

#include <QApplication>
#include <QElapsedTimer>
#include <QTest>

#include "gui/views/view.h"

namespace nautilus::gui {

struct Surroundings {
  Document document;
  Selection selection;
  FilterStack filters{document};
  Bench bench;
  Theme theme;
  Shared shared() { return {document, selection, filters, bench, theme}; }

  // Shows a view and waits until its picture is there.
  void show(View& v, QSize size = {1000, 700}) {
    v.resize(size);
    v.show();
    v.setFocus();
    settle(v);
  }
  static void settle(View& v) {
    QElapsedTimer t;
    t.start();
    do QTest::qWait(5);
    while (v.busy() && t.elapsed() < 20000);
    QTest::qWait(5);
  }
};

}  // namespace nautilus::gui
