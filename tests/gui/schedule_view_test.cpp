// The schedule tree: choosing nodes, editing transforms, refusals, undo, scripts.
#include "gui/views/schedule_view.h"

#include <gtest/gtest.h>

#include <QComboBox>
#include <QFile>
#include <QLabel>
#include <QLineEdit>
#include <QPushButton>
#include <QSpinBox>
#include <QTemporaryDir>
#include <QTextBrowser>
#include <QToolButton>

#include "gui/views/schedule_canvas.h"
#include "gui/views/step_editor.h"
#include "tests/gui/sched_rig.h"

namespace nautilus::gui {
namespace {

// A view on the softmax, shown, with the root selected.
struct ScheduleRig : SchedRig {
  ScheduleView view{shared(), nullptr};
  ScheduleRig() {
    view.resize(900, 500);
    view.show();
    view.activateWindow();  // shortcuts need that
    EXPECT_TRUE(QTest::qWaitForWindowActive(&view));
    EXPECT_TRUE(select(view, 0));
  }
  const TreePicture& tree() { return view.canvas().tree(); }
  poly::NodeId box(poly::NodeKind kind, int which = 0) {
    for (const TreeBox& b : tree().boxes)
      if (b.kind == kind && which-- == 0) return b.id;
    return -1;
  }
  void click(poly::NodeId id) {
    QTest::mouseClick(&view.canvas(), Qt::LeftButton, {}, view.canvas().middle_of(id).toPoint());
    QCoreApplication::processEvents();
  }
  StepEditor& editor() { return view.editor(); }
  template <class T>
  T* input(const char* param) {
    return editor().field(QString::fromLatin1(param))->findChild<T*>();
  }
  bool verdict() {
    return QTest::qWaitFor([&] { return editor().attempt().has_value(); }, 60'000);
  }
  // The menu's entry, as a person chooses it.
  void choose(const char* transform) {
    Q_EMIT view.transform_menu()->aboutToShow();
    for (QAction* a : view.transform_menu()->actions())
      if (a->text() == QLatin1String(transform)) return a->trigger();
    FAIL() << transform;
  }
};

TEST(ScheduleView, ClicksAndKeysSelectInTheSharedSelection) {
  ScheduleRig r;
  ASSERT_EQ(r.tree().boxes.size(), 9u);
  r.click(r.box(poly::NodeKind::Filter, 1));
  EXPECT_EQ(r.selection.now().tree_node, r.box(poly::NodeKind::Filter, 1));
  EXPECT_EQ(r.selection.now().statement, "S_P");
  QTest::keyClick(&r.view.canvas(), Qt::Key_Right);  // its band
  QCoreApplication::processEvents();
  EXPECT_EQ(r.selection.now().tree_node, r.box(poly::NodeKind::Band, 1));
  QTest::keyClick(&r.view.canvas(), Qt::Key_Left);
  QTest::keyClick(&r.view.canvas(), Qt::Key_Home);
  QCoreApplication::processEvents();
  EXPECT_EQ(r.selection.now().tree_node, r.root_node());
  QTest::keyClick(&r.view.canvas(), Qt::Key_End);
  QCoreApplication::processEvents();
  EXPECT_EQ(r.selection.now().tree_node, r.tree().boxes.back().id);
  EXPECT_TRUE(r.view.canvas().accessibleDescription().contains("band"));
}

TEST(ScheduleView, HoveringLightsUpElsewhere) {
  ScheduleRig r;
  const poly::NodeId band = r.box(poly::NodeKind::Band);
  QTest::mouseMove(&r.view.canvas(), r.view.canvas().middle_of(band).toPoint());
  QCoreApplication::processEvents();
  EXPECT_EQ(r.selection.hovered_tree_node(), band);
  EXPECT_EQ(r.selection.hovered_statement(), "S_m");
}

TEST(ScheduleView, TheMenuHasEveryTransformAndFittingOnesFirst) {
  ScheduleRig r;
  r.click(r.box(poly::NodeKind::Band));
  Q_EMIT r.view.transform_menu()->aboutToShow();
  QStringList names;
  int section = -1;
  for (QAction* a : r.view.transform_menu()->actions()) {
    if (a->isSeparator()) section = static_cast<int>(names.size());
    if (a->isSeparator()) continue;
    names << a->text();
    EXPECT_FALSE(a->toolTip().isEmpty());
  }
  EXPECT_EQ(names.size(), static_cast<qsizetype>(poly::transforms().size()));
  EXPECT_EQ(names.first(), "tile");
  ASSERT_GT(section, 0);
  EXPECT_GE(names.indexOf("fuse"), section);
  EXPECT_LT(names.indexOf("interchange"), section);
}

TEST(ScheduleView, EveryTransformHasAnEditorForEveryParameter) {
  ScheduleRig r;
  for (const poly::TransformInfo& t : poly::transforms()) {
    r.view.begin_transform(QString::fromStdString(t.name));
    for (const poly::ParamInfo& p : t.params) {
      StepField* f = r.editor().field(QString::fromStdString(p.name));
      ASSERT_NE(f, nullptr) << t.name << "." << p.name;
      EXPECT_TRUE(p.optional || !f->value().is_null()) << t.name << "." << p.name;
      ASSERT_NE(f->focusProxy(), nullptr);
      EXPECT_FALSE(f->focusProxy()->accessibleName().isEmpty()) << t.name << "." << p.name;
    }
    EXPECT_EQ(r.editor().step().name, t.name);
  }
}

TEST(ScheduleView, TheVerdictIsShownBeforeApplying) {
  ScheduleRig r;
  r.click(r.box(poly::NodeKind::Band, 1));
  r.choose("tile");
  EXPECT_TRUE(r.editor().isVisible());
  EXPECT_FALSE(r.editor().apply_button()->isEnabled());
  ASSERT_TRUE(r.verdict());
  EXPECT_TRUE(r.editor().verdict_label()->text().contains("legal"));
  EXPECT_TRUE(r.editor().apply_button()->isEnabled());
  EXPECT_EQ(r.document.nodes().size(), 5u);  // nothing was applied
  // Another value: the old verdict goes at once.
  r.input<QSpinBox>("sizes")->setValue(16);
  EXPECT_FALSE(r.editor().attempt());
  EXPECT_FALSE(r.editor().apply_button()->isEnabled());
  ASSERT_TRUE(r.verdict());
  EXPECT_NE(r.editor().attempt()->step.params.find("[16,32]"), std::string::npos)
      << r.editor().attempt()->step.params;
  QTest::keyClick(&r.view.canvas(), Qt::Key_Escape);
  EXPECT_FALSE(r.editor().isVisible());
}

TEST(ScheduleView, ARefusalShowsItsWitnessAndTheWayOut) {
  ScheduleRig r;
  r.click(r.box(poly::NodeKind::Filter, 0));
  r.choose("fuse");
  EXPECT_EQ(r.input<QComboBox>("node")->currentData().toInt(), r.root_node());
  r.input<QSpinBox>("last")->setValue(2);
  ASSERT_TRUE(r.verdict());
  EXPECT_EQ(r.editor().attempt()->verdict.kind, poly::VerdictKind::Illegal);
  EXPECT_TRUE(r.editor().verdict_label()->text().contains("S_m[i="));
  EXPECT_EQ(r.editor().apply_button()->text(), "Keep as refused");
  // The suggestion is a link to the transform, on the same nodes.
  auto* details = r.editor().findChild<QTextBrowser*>();
  ASSERT_TRUE(details->toHtml().contains("transform:rolling_update"));
  Q_EMIT details->anchorClicked(QUrl("transform:rolling_update"));
  EXPECT_EQ(r.editor().transform()->name, "rolling_update");
  EXPECT_EQ(r.input<QSpinBox>("last")->value(), 2);
  ASSERT_TRUE(r.verdict());
  EXPECT_EQ(r.editor().attempt()->verdict.kind, poly::VerdictKind::Repairable);
  EXPECT_TRUE(details->toPlainText().contains("exp"));
}

TEST(ScheduleView, NodesArePickedFromTheTree) {
  ScheduleRig r;
  r.click(r.box(poly::NodeKind::Band, 0));
  r.choose("tile");
  r.editor().field("node")->picker()->click();
  EXPECT_TRUE(r.editor().picking());
  r.click(r.box(poly::NodeKind::Band, 2));
  EXPECT_FALSE(r.editor().picking());
  EXPECT_EQ(r.editor().field("node")->value(), r.box(poly::NodeKind::Band, 2));
  EXPECT_EQ(r.selection.now().tree_node, r.box(poly::NodeKind::Band, 0));  // unchanged
  EXPECT_TRUE(r.input<QSpinBox>("sizes")->prefix().startsWith("i_3"));
}

// What the bench found for the machine before is not put beside costs of the one now.
TEST(ScheduleView, AStepUnderWayIsCostedForTheMachineThatCame) {
  ScheduleRig r;
  HandSteps& hand = r.view.hand_steps();
  int asked = 0;
  hand.set_adder([&asked, alone = hand.adder()](int below, const HandSteps::Steps& steps,
                                                HandSteps::Done done) {
    ++asked;
    alone(below, steps, std::move(done));
  });
  QSignalSpy applied(&hand, &HandSteps::applied);
  hand.apply(0, r.document.node(2)->steps);
  ASSERT_EQ(asked, 1);
  sched::SearchOptions o = r.document.session().options;
  o.machine = *sched::load_machine(NAUTILUS_SOURCE_DIR "/corpus/machines/rtx4090.json");
  r.bench.set_options(o);
  r.document.set_options(o);
  ASSERT_TRUE(QTest::qWaitFor([&] { return applied.count() == 1; }, 60'000));
  EXPECT_EQ(asked, 2);
  EXPECT_EQ(r.document.nodes().size(), 6u);
  EXPECT_FALSE(hand.busy());
}

TEST(ScheduleView, ApplyMakesACandidateAndUndoGoesBack) {
  ScheduleRig r;
  QSignalSpy requested(&r.view, &ScheduleView::apply_requested);
  r.click(r.box(poly::NodeKind::Band, 1));
  r.choose("tile");
  ASSERT_TRUE(r.verdict());
  QTest::mouseClick(r.editor().apply_button(), Qt::LeftButton);
  ASSERT_TRUE(QTest::qWaitFor([&] { return r.tree().script.size() == 1; }, 60'000));
  EXPECT_EQ(r.selection.now().node, 5);
  ASSERT_TRUE(r.idle(r.view));
  ASSERT_EQ(r.document.nodes().size(), 6u);
  const sched::SearchNode* n = r.document.node(5);
  EXPECT_EQ(n->parent, 0);
  EXPECT_TRUE(n->by_hand);
  EXPECT_EQ(n->steps.size(), 1u);
  EXPECT_NE(n->decision.find("tile"), std::string::npos) << n->decision;
  EXPECT_NE(n->state, sched::NodeState::Illegal);
  EXPECT_EQ(requested.count(), 1);
  EXPECT_EQ(requested[0][0].toInt(), 0);
  EXPECT_EQ(r.tree().boxes.size(), 10u);  // one more band
  ASSERT_EQ(r.tree().script.size(), 1u);
  // Undo, redo: between the candidates; nothing is lost.
  EXPECT_TRUE(r.view.hand_steps().undo_stack().canUndo());
  QTest::keySequence(&r.view.canvas(), QKeySequence(QKeySequence::Undo));
  QCoreApplication::processEvents();
  EXPECT_EQ(r.selection.now().node, 0);
  ASSERT_TRUE(r.idle(r.view));
  EXPECT_EQ(r.tree().boxes.size(), 9u);
  EXPECT_EQ(r.document.nodes().size(), 6u);
  r.view.hand_steps().undo_stack().redo();
  QCoreApplication::processEvents();
  EXPECT_EQ(r.selection.now().node, 5);
}

TEST(ScheduleView, ARefusedStepBecomesAnIllegalCandidateWithTheWitness) {
  ScheduleRig r;
  r.view.begin_transform("fuse");
  r.input<QSpinBox>("first")->setValue(0);
  r.input<QSpinBox>("last")->setValue(1);
  ASSERT_TRUE(r.verdict());
  ASSERT_EQ(r.editor().attempt()->verdict.kind, poly::VerdictKind::Illegal);
  QTest::keyClick(&r.view.canvas(), Qt::Key_Return, Qt::ControlModifier);
  ASSERT_TRUE(QTest::qWaitFor([&] { return r.document.nodes().size() == 6; }, 60'000));
  const sched::SearchNode* n = r.document.node(5);
  EXPECT_EQ(n->state, sched::NodeState::Illegal);
  EXPECT_NE(n->reason.find("S_m[i="), std::string::npos) << n->reason;
  // Its tree is the order that was asked for.
  ASSERT_TRUE(QTest::qWaitFor([&] { return r.selection.now().node == 5; }));
  ASSERT_TRUE(r.idle(r.view));
  EXPECT_FALSE(r.tree().boxes.empty());
}

TEST(ScheduleView, ThePreviewIsTheTreeAfterwards) {
  ScheduleRig r;
  r.click(r.box(poly::NodeKind::Band));
  r.choose("tile");
  ASSERT_TRUE(r.verdict());
  Q_EMIT r.editor().preview(true);
  EXPECT_EQ(r.tree().boxes.size(), 10u);
  Q_EMIT r.editor().preview(false);
  EXPECT_EQ(r.tree().boxes.size(), 9u);
}

TEST(ScheduleView, ScriptsAreSavedAndReplayed) {
  ScheduleRig r;
  ASSERT_TRUE(r.select(r.view, 2));
  QTemporaryDir dir;
  const QString file = dir.filePath("STEPS.json");
  ASSERT_TRUE(r.view.save_script(file));
  QFile in(file);
  ASSERT_TRUE(in.open(QIODevice::ReadOnly));
  const auto steps = HandSteps::script_from(in.readAll());
  ASSERT_TRUE(steps);
  ASSERT_EQ(steps->size(), 1u);
  EXPECT_EQ(steps->front().name, "rolling_update");
  ASSERT_TRUE(r.view.load_script(file));
  ASSERT_TRUE(QTest::qWaitFor([&] { return r.document.nodes().size() == 6; }, 60'000));
  EXPECT_EQ(r.document.node(5)->parent, 0);
  EXPECT_FALSE(r.view.load_script(dir.filePath("none.json")));
  QFile damaged(dir.filePath("damaged.json"));
  ASSERT_TRUE(damaged.open(QIODevice::WriteOnly));
  damaged.write("[{]");
  damaged.close();
  EXPECT_FALSE(r.view.load_script(damaged.fileName()));
}

TEST(ScheduleView, RefusedAndMissingCandidatesSaySo) {
  ScheduleRig r;
  ASSERT_TRUE(r.select(r.view, 1));
  EXPECT_FALSE(r.tree().boxes.empty());
  QString remark;
  for (QLabel* l : r.view.findChildren<QLabel*>())
    if (l->accessibleName() == "remark on the schedule") remark = l->text();
  EXPECT_TRUE(remark.contains("refused")) << remark.toStdString();
  r.selection.clear();
  QCoreApplication::processEvents();
  ASSERT_TRUE(r.idle(r.view));
  EXPECT_TRUE(r.tree().boxes.empty());
  r.view.begin_transform("tile");  // nothing to apply it to
  EXPECT_FALSE(r.editor().active());
}

TEST(ScheduleView, MeaninglessRequestsCannotBeApplied) {
  ScheduleRig r;
  r.view.begin_transform("interchange");
  r.input<QLineEdit>("order")->setText("i, i");
  ASSERT_TRUE(r.verdict());
  EXPECT_FALSE(r.editor().apply_button()->isEnabled());
  r.view.hand_steps().apply(99, {{"tile", "{}"}});
  EXPECT_EQ(r.document.nodes().size(), 5u);
}

TEST(ScheduleView, ExportsAPictureAndRows) {
  ScheduleRig r;
  QImage image(800, 600, QImage::Format_RGB32);
  image.fill(Qt::magenta);
  QPainter p(&image);
  r.view.paint_picture(p, QRectF(0, 0, 800, 600));
  p.end();
  EXPECT_EQ(image.pixelColor(799, 0), r.theme.background());
  EXPECT_EQ(r.view.export_rows().size(), 9);
  EXPECT_EQ(r.view.export_rows()[2]["members"].toString(), "i; j");
}

TEST(ScheduleLayout, RowsAreFoundAndCulled) {
  const auto p = poly::testing_programs::chain(poly::make_context(), 60);
  const TreePicture tree = tree_picture(poly::initial_schedule(p));
  const TreeLayout l = lay_out(tree, QFontMetricsF(QFont()), QFontMetricsF(QFont()));
  ASSERT_EQ(l.rows.size(), 121u);
  for (size_t k = 1; k < l.rows.size(); ++k)
    EXPECT_GT(l.rows[k].rect.top(), l.rows[k - 1].rect.bottom());
  EXPECT_EQ(l.row_at(l.rows[7].rect.center()), 7);
  EXPECT_EQ(l.row_at(QPointF(-5, 10)), -1);
  const auto [first, last] = l.rows_between(l.rows[10].rect.top(), l.rows[12].rect.bottom());
  EXPECT_EQ(first, 10);
  EXPECT_EQ(last, 13);
  EXPECT_FALSE(l.storage.empty());
  EXPECT_TRUE(l.bounds.contains(l.storage_rect));
}

}  // namespace
}  // namespace nautilus::gui
