// Every transform of the registry by hand, on kernels of the corpus, through the menu and the
// editors: judged first, then applied as a candidate of the same tree.
#include <gtest/gtest.h>

#include <QPushButton>

#include "gui/models/opening.h"
#include "gui/views/schedule_canvas.h"
#include "gui/views/schedule_view.h"
#include "gui/views/step_editor.h"
#include "tests/gui/sched_rig.h"

namespace nautilus::gui {
namespace {

using nlohmann::json;
using Steps = std::vector<poly::TransformStep>;

struct KernelRig : SchedRig {
  ScheduleView view{shared(), nullptr};
  explicit KernelRig(const std::string& kernel) : SchedRig(false) {
    SpecRequest r;
    r.spec = kernel;
    const auto s = session_of(r);
    EXPECT_TRUE(s) << s.error().text();
    if (s) document.set_session(*s, QString());
    view.resize(900, 500);
    view.show();
    EXPECT_TRUE(QTest::qWaitForWindowExposed(&view));
    EXPECT_TRUE(select(view, 0));
  }
  StepEditor& editor() { return view.editor(); }
  const TreePicture& tree() { return view.canvas().tree(); }
  // Selects a node of the tree, chooses the transform from the menu, changes some parameters.
  const Attempt* judge(const std::string& name, poly::NodeId at, const json& params) {
    selection.select_tree_node(at);
    QCoreApplication::processEvents();
    Q_EMIT view.transform_menu()->aboutToShow();
    QAction* entry = nullptr;
    for (QAction* a : view.transform_menu()->actions())
      if (a->text().toStdString() == name) entry = a;
    if (!entry || !entry->isEnabled()) return nullptr;
    entry->trigger();
    for (const auto& [key, value] : params.items()) {
      StepField* f = editor().field(QString::fromStdString(key));
      EXPECT_NE(f, nullptr) << name << "." << key;
      if (f) f->set_value(value);
    }
    EXPECT_FALSE(editor().apply_button()->isEnabled()) << name << ": no verdict yet";
    if (!QTest::qWaitFor([&] { return editor().attempt().has_value(); }, 60'000)) return nullptr;
    return &*editor().attempt();
  }
  // Presses Apply; the new candidate, selected.
  int press() {
    const size_t before = document.nodes().size(), steps = tree().script.size();
    QTest::mouseClick(editor().apply_button(), Qt::LeftButton);
    const int id = static_cast<int>(before);
    EXPECT_TRUE(QTest::qWaitFor([&] { return selection.now().node == id; }, 60'000));
    EXPECT_TRUE(QTest::qWaitFor([&] { return tree().script.size() == steps + 1; }, 60'000));
    EXPECT_TRUE(idle(view));
    return id;
  }
  poly::NodeId node(poly::NodeKind kind, const std::string& statement) {
    poly::NodeId out = -1;  // the innermost
    for (const TreeBox& b : tree().boxes)
      if (b.kind == kind && std::ranges::find(b.statements, statement) != b.statements.end())
        out = b.id;
    return out;
  }
};

// One that is legal, on which kernel, after which steps: kinds of nodes by statement, so that no id
// is written down.
struct Recipe {
  std::string transform, kernel;
  poly::NodeKind at;
  std::string statement;
  json params;
  std::vector<Recipe> before;
};
constexpr auto kBand = poly::NodeKind::Band, kFilter = poly::NodeKind::Filter,
               kSequence = poly::NodeKind::Sequence;

std::vector<Recipe> recipes() {
  const Recipe rows{"fuse", "softmax", kSequence, "", {{"first", 0}, {"last", 3}, {"depth", 1}},
                    {}};
  const Recipe running{
      "rolling_update", "logsumexp", kSequence, "", {{"first", 0}, {"last", 1}, {"depth", 2}}, {}};
  return {
      {"tile", "softmax", kBand, "S_Y_exp", {{"sizes", {16, 32}}}, {}},
      {"split", "softmax", kBand, "S_Y_exp", {{"at", 1}}, {}},
      {"interchange", "softmax", kBand, "S_Y_exp", json::object(), {}},
      {"fuse", "softmax", kFilter, "S_Y_exp", json::object(), {}},
      {"distribute", "softmax", kBand, "", json::object(), {rows}},
      {"shift", "softmax", kBand, "S_Y_exp", {{"amount", -3}}, {}},
      {"skew", "softmax", kBand, "S_Y_exp", {{"factor", 2}}, {}},
      {"reverse", "softmax", kBand, "S_Y_exp", json::object(), {}},
      {"sink", "softmax", kFilter, "S_Y_exp", {{"depth", 2}}, {}},
      {"recompute", "softmax", kBand, "S_Y_exp", {{"stmt", "S_Y_exp"}}, {}},
      running,
      {"lazy_reference", "logsumexp", kBand, "", json::object(), {running}},
      {"split_k", "softmax", kSequence, "", {{"parts", 4}}, {}},
      {"partition", "softmax", kBand, "S_Y_exp", {{"condition", "{ S_Y_exp[i, j] : j < 16 }"}}, {}},
      {"map", "softmax", kBand, "S_Y_exp", json::object(), {}},
      {"set_scope", "softmax", kSequence, "", {{"scope", "shared"}}, {rows}},
      {"unroll", "softmax", kBand, "S_Y_exp", json::object(), {}},
  };
}

const Attempt* judge(KernelRig& rig, const Recipe& r) {
  const poly::NodeId at = r.statement.empty() ? -1 : rig.node(r.at, r.statement);
  EXPECT_TRUE(r.statement.empty() || at >= 0) << r.transform;
  return rig.judge(r.transform, at, r.params);
}

TEST(SchedTransforms, EachIsAppliedByHand) {
  std::set<std::string> tried;
  std::map<std::string, std::unique_ptr<KernelRig>> rigs;
  for (const Recipe& r : recipes()) {
    tried.insert(r.transform);
    auto& rig = rigs[r.kernel];
    if (!rig) rig = std::make_unique<KernelRig>(r.kernel);
    ASSERT_TRUE(rig->select(rig->view, 0));
    int parent = 0;
    for (const Recipe& b : r.before) {
      const Attempt* a = judge(*rig, b);
      ASSERT_TRUE(a && a->verdict.accepted()) << b.transform << ": " << headline(a->verdict);
      parent = rig->press();
    }
    const Attempt* a = judge(*rig, r);
    ASSERT_NE(a, nullptr) << r.transform;
    EXPECT_TRUE(a->verdict.accepted())
        << step_text(a->step) << ": " << headline(a->verdict) << " " << a->verdict.suggest;
    if (!a->verdict.accepted()) continue;
    const std::string name = a->step.name;
    const int id = rig->press();
    const sched::SearchNode* n = rig->document.node(id);
    ASSERT_NE(n, nullptr);
    EXPECT_EQ(n->parent, parent) << r.transform;
    EXPECT_TRUE(n->by_hand) << r.transform;
    EXPECT_FALSE(was_refused(*n)) << r.transform << ": " << n->reason;
    EXPECT_NE(n->decision.find(name), std::string::npos) << n->decision;
    ASSERT_FALSE(rig->tree().script.empty());
    EXPECT_EQ(rig->tree().script.back().name, name);
    // There and back.
    rig->view.hand_steps().undo_stack().undo();
    QCoreApplication::processEvents();
    EXPECT_EQ(rig->selection.now().node, parent) << r.transform;
    rig->view.hand_steps().undo_stack().redo();
    QCoreApplication::processEvents();
    EXPECT_EQ(rig->selection.now().node, id) << r.transform;
    ASSERT_TRUE(rig->idle(rig->view));
  }
  for (const poly::TransformInfo& t : poly::transforms())
    EXPECT_TRUE(tried.count(t.name)) << t.name << " has no recipe";
}

// What a newcomer gets who takes the transforms as they are offered: a verdict, and words.
TEST(SchedTransforms, WhatIsOfferedIsJudged) {
  for (const char* kernel : {"softmax", "attention_causal", "matmul", "rmsnorm"}) {
    KernelRig rig(kernel);
    int meaningless = 0, accepted = 0;
    for (const poly::TransformInfo& t : poly::transforms()) {
      const Attempt* a = rig.judge(t.name, -1, json::object());
      ASSERT_NE(a, nullptr) << t.name;
      const VerdictStory& v = a->verdict;
      std::printf("%s %s: %s\n", kernel, step_text(a->step).c_str(), headline(v).c_str());
      if (v.accepted()) {
        ++accepted;
        EXPECT_FALSE(a->after.boxes.empty()) << t.name;
        continue;
      }
      EXPECT_FALSE(v.why.empty()) << t.name;
      if (v.kind == poly::VerdictKind::Illegal && !v.malformed) {
        EXPECT_EQ(v.witness.size(), 1u) << t.name << ": " << v.why;
      }
      meaningless += v.malformed;
      EXPECT_EQ(rig.editor().apply_button()->isEnabled(), !v.malformed) << t.name;
    }
    EXPECT_GE(accepted, 9) << kernel;
    EXPECT_LE(meaningless, 5) << kernel;
  }
}

}  // namespace
}  // namespace nautilus::gui
