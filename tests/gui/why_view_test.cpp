// Why: verdicts found out again, witnesses drawn, derivations told.
#include "gui/views/why_view.h"

#include <gtest/gtest.h>

#include <QTextBrowser>
#include <QUrl>

#include "gui/views/why_text.h"
#include "tests/gui/sched_rig.h"

namespace nautilus::gui {
namespace {

struct WhyRig : SchedRig {
  WhyView view{shared(), nullptr};
  WhyRig() {
    view.resize(600, 700);
    view.show();
    EXPECT_TRUE(QTest::qWaitForWindowExposed(&view));
  }
  QString told() const { return view.text()->toPlainText(); }
};

TEST(WhyView, AnIllegalCandidateShowsItsWitness) {
  WhyRig r;
  ASSERT_TRUE(r.select(r.view, 1));
  EXPECT_TRUE(r.told().contains("must come before")) << r.told().toStdString();
  EXPECT_TRUE(r.told().contains("i = 0, j = 1"));
  EXPECT_TRUE(r.told().contains("m[0]"));
  EXPECT_TRUE(r.told().contains("N = 64"));
  EXPECT_TRUE(r.view.picture()->isVisible());
  EXPECT_GE(r.view.picture()->arrow(), 0);
  EXPECT_TRUE(r.view.picture()->caption().contains("must come before"));
  EXPECT_EQ(r.view.picture()->scene().panels().size(), 2u);
  Q_EMIT r.view.text()->anchorClicked(QUrl("statement:S_P"));
  EXPECT_EQ(r.selection.now().statement, "S_P");
}

TEST(WhyView, ARepairIsToldWithItsObligations) {
  WhyRig r;
  ASSERT_TRUE(r.select(r.view, 2));
  EXPECT_TRUE(r.told().contains("Correction of the running value"));
  EXPECT_TRUE(r.told().contains("Derived by"));
  EXPECT_TRUE(r.told().contains("What had to be shown"));
  EXPECT_TRUE(r.told().contains("The plain fusion is"));
  EXPECT_FALSE(r.told().contains("✗ \n"));
  EXPECT_TRUE(r.view.picture()->isVisible());
  EXPECT_TRUE(r.view.picture()->caption().contains("a correction pays"));
}

TEST(WhyView, NumbersOfWhatDoesNotFit) {
  WhyRig r;
  ASSERT_TRUE(r.select(r.view, 3));
  EXPECT_TRUE(r.told().contains("does not fit"));
  EXPECT_TRUE(r.told().contains("391 KiB")) << r.told().toStdString();
  EXPECT_TRUE(r.told().contains("▲"));
  EXPECT_FALSE(r.view.picture()->isVisible());
}

TEST(WhyView, ADuplicateLinksToItsOriginal) {
  WhyRig r;
  ASSERT_TRUE(r.select(r.view, 4));
  EXPECT_TRUE(r.told().contains("The same schedule as node 2"));
  Q_EMIT r.view.text()->anchorClicked(QUrl("candidate:2"));
  EXPECT_EQ(r.selection.now().node, 2);
}

TEST(WhyView, WhatRestsOnCorrectionsTellsThem) {
  WhyRig r;
  sched::SearchNode below;
  below.id = 5;
  below.parent = 2;
  below.state = sched::NodeState::Complete;
  below.verdict = poly::VerdictKind::Repairable;
  r.document.append({below});
  ASSERT_TRUE(r.select(r.view, 5));
  ASSERT_EQ(r.view.why().inherited.size(), 1u);
  EXPECT_TRUE(r.told().contains("Corrections that it rests on")) << r.told().toStdString();
  EXPECT_TRUE(r.told().contains("from node 2: fuse m .. l by rolling update"));
  EXPECT_TRUE(r.told().contains("exp("));
}

TEST(WhyView, AWrongResultIsSaid) {
  WhyRig r;
  ASSERT_TRUE(r.select(r.view, 2));
  EXPECT_FALSE(r.told().contains("wrong"));
  r.document.set_measured(2, {3e-6, false, "h200"});
  QCoreApplication::processEvents();
  ASSERT_TRUE(r.idle(r.view));
  EXPECT_TRUE(r.told().contains("its result was wrong")) << r.told().toStdString();
  EXPECT_TRUE(r.told().contains("3 µs"));
}

TEST(WhyView, OnlyTheLastSelectionIsAnswered) {
  WhyRig r;
  for (int k : {1, 2, 3, 1, 2}) {
    r.selection.select(k);
    QCoreApplication::processEvents();
  }
  ASSERT_TRUE(r.idle(r.view));
  EXPECT_EQ(r.view.why().node, 2);
  r.selection.clear();
  QCoreApplication::processEvents();
  EXPECT_TRUE(r.told().contains("Select a candidate"));
  EXPECT_FALSE(r.view.busy());
}

TEST(WhyView, ThePictureAndRowsAreExported) {
  WhyRig r;
  ASSERT_TRUE(r.select(r.view, 1));
  QImage image(900, 900, QImage::Format_RGB32);
  image.fill(Qt::magenta);
  QPainter p(&image);
  r.view.paint_picture(p, QRectF(0, 0, 900, 900));
  p.end();
  int red = 0;
  for (int y = 500; y < 900; ++y)
    for (int x = 0; x < 900; ++x) red += image.pixelColor(x, y) == r.theme.bad();
  EXPECT_GT(red, 20);  // the arrow
  ASSERT_EQ(r.view.export_rows().size(), 1);
  EXPECT_EQ(r.view.export_rows()[0]["verdict"].toString(), "illegal");
}

TEST(WhyView, DarkIsReadableToo) {
  WhyRig r;
  ASSERT_TRUE(r.select(r.view, 1));
  const QString light = r.view.text()->toHtml();
  r.theme.set_mode(Theme::Mode::Dark);
  EXPECT_NE(r.view.text()->toHtml(), light);  // its colours
  EXPECT_TRUE(r.told().contains("must come before"));
}

}  // namespace
}  // namespace nautilus::gui
