// Every kernel of the corpus through the models of the schedule tree, Why and the iteration space:
// free sizes, conditions on data, statements of any dimension.
#include <gtest/gtest.h>

#include <QGuiApplication>
#include <QImage>
#include <QPainter>

#include "compiler/driver/specs.h"
#include "gui/models/opening.h"
#include "gui/models/sched_jobs.h"
#include "gui/views/iteration_scene.h"
#include "gui/views/why_text.h"
#include "tests/gui/event_times.h"
#include "tests/gui/patience.h"

namespace nautilus::gui {
namespace {

using nlohmann::json;

std::vector<std::string> kernel_names() {
  std::vector<std::string> out;
  for (const driver::CorpusKernel& k : driver::corpus_kernels()) out.push_back(k.name);
  return out;
}

// What the bench has of a kernel, and a search tree with its root.
struct Opened {
  Workpiece work;
  Path path;
  explicit Opened(const std::string& kernel) {
    SpecRequest r;
    r.spec = kernel;
    const auto s = session_of(r);
    EXPECT_TRUE(s) << s.error().text();
    if (!s) return;
    auto p = poly::parse_naut(poly::make_context(), s->program_naut, "program");
    EXPECT_TRUE(p) << p.error().text();
    if (!p) return;
    work.program = std::make_shared<const poly::Program>(*std::move(p));
    work.options = s->options;
    work.spec_path = s->spec_path, work.spec_text = s->spec_text, work.kernel = s->kernel;
    path = Bench::path_nodes(s->result, 0);
  }
  Path below(sched::NodeState state, const poly::TransformStep& step) const {
    Path out = path;
    sched::SearchNode n;
    n.id = 1;
    n.parent = 0;
    n.state = state;
    n.decision = step_text(step);
    n.steps = {step};
    out.push_back(n);
    return out;
  }
};

void expect_sound(const IterationPicture& p, const std::string& what) {
  ASSERT_FALSE(p.statements.empty()) << what;
  EXPECT_LE(p.points.size(), 12'000u * p.statements.size()) << what;
  for (size_t k = 1; k < p.points.size(); ++k)
    ASSERT_FALSE(p.points[k].time < p.points[k - 1].time) << what;
  for (const IterStatement& s : p.statements) {
    EXPECT_EQ(s.low.size(), s.high.size());
    EXPECT_LT(s.x, static_cast<int>(s.dims.size())) << what;
    EXPECT_TRUE(s.x < 0 || s.x != s.y) << what;
  }
  const int points = static_cast<int>(p.points.size());
  for (const IterArrow& a : p.arrows) {
    ASSERT_TRUE(a.from >= 0 && a.from < points && a.to >= 0 && a.to < points) << what;
    EXPECT_NE(a.fate, Fate::Violated) << what;
  }
}

// What the interface thread does of a picture: the longest of its parts.
double longest_part(const IterationPicture& p, QString* what = nullptr) {
  const Theme theme;
  double longest = 0;
  IterationScene scene;
  auto timed = [&](const char* name, auto&& part) {
    const double before = thread_ms();
    part();
    const double ms = thread_ms() - before;
    if (ms <= longest) return;
    longest = ms;
    if (what) *what = QString::fromLatin1(name);
  };
  timed("lay out", [&] {
    std::vector<PanelChoice> choices;
    for (const IterStatement& s : p.statements) choices.push_back(first_choice(s));
    scene.set(p, choices, true);
  });
  if (scene.empty()) return longest;
  QImage page(700, 300, QImage::Format_ARGB32_Premultiplied);
  page.fill(Qt::white);
  const double scale =
      std::min(700 / scene.bounds().width(), std::min(300 / scene.bounds().height(), 1.6));
  for (int step : {-1, scene.step_count() / 2})
    timed("paint", [&] {
      QPainter painter(&page);
      painter.scale(scale, scale);
      painter.translate(-scene.bounds().topLeft());
      SceneState state;
      state.step = step;
      scene.paint(painter, theme, scene.bounds(), scale, state);
    });
  return longest;
}

class SchedCorpus : public ::testing::TestWithParam<std::string> {};

TEST_P(SchedCorpus, TheTreeIsThere) {
  const Opened o(GetParam());
  ASSERT_FALSE(o.path.empty());
  const TreeAnswer a = tree_job(o.work, o.path);
  ASSERT_TRUE(a.made) << a.remark;
  EXPECT_TRUE(a.remark.empty()) << a.remark;
  EXPECT_EQ(a.tree.statements.size(), o.work.program->statements.size());
  for (const TreeBox& b : a.tree.boxes) EXPECT_FALSE(b.statements.empty());
}

TEST_P(SchedCorpus, EveryStatementHasItsIterations) {
  const Opened o(GetParam());
  ASSERT_FALSE(o.path.empty());
  double longest = 0;
  QString part;
  std::string slowest;
  std::vector<IterationRequest> asked(1);  // and what is shown when nothing was asked for
  for (const poly::Statement& st : o.work.program->statements) {
    asked.emplace_back().statements = {st.name};
    const poly::Statement& next =
        o.work.program->statements[asked.size() % o.work.program->statements.size()];
    asked.emplace_back().statements = {st.name, next.name};
  }
  for (const IterationRequest& r : asked) {
    const std::string what = r.statements.empty() ? "by itself" : r.statements.back();
    const IterationAnswer a = iteration_job(o.work, CancelToken(), o.path, r);
    ASSERT_TRUE(a.why.empty()) << what << ": " << a.why;
    expect_sound(a.picture, what);
    for (const IterStatement& s : a.picture.statements)
      EXPECT_FALSE(s.low.empty() && !s.dims.empty()) << s.name << " has no instance";
    QString name;
    const double ms = longest_part(a.picture, &name);
    if (ms > longest) longest = ms, part = name, slowest = what;
    std::string notes;
    for (const std::string& n : a.picture.notes) notes += "; " + n;
    if (!a.picture.scaled && a.picture.cropped)
      std::printf("%s: %s%s\n", GetParam().c_str(), what.c_str(), notes.c_str());
  }
  std::printf("%s: %zu pictures, longest part %.1f ms (%s, %s)\n", GetParam().c_str(), asked.size(),
              longest, qPrintable(part), slowest.c_str());
  EXPECT_LT(longest, 50 * kSlower) << part.toStdString() << " of " << slowest;
}

// Fusing each child of the root with the next, as deep as it goes: whatever the verdict, it is
// told.
TEST_P(SchedCorpus, FusionsAreExplained) {
  const Opened o(GetParam());
  ASSERT_FALSE(o.path.empty());
  const TreePicture tree = tree_job(o.work, o.path).tree;
  const TreeBox& root = tree.boxes.front();
  if (root.kind != poly::NodeKind::Sequence) return;  // one statement: nothing to fuse
  std::vector<poly::TransformStep> steps;
  for (size_t k = 0; k + 1 < root.children.size(); ++k) {
    size_t depth = 1000;
    for (size_t c : {k, k + 1}) {
      const TreeBox& child = tree.boxes[static_cast<size_t>(root.children[c])];
      depth =
          std::min(depth, child.children.empty()
                              ? 0
                              : tree.boxes[static_cast<size_t>(child.children[0])].members.size());
    }
    const json params = {{"node", root.id}, {"first", k}, {"last", k + 1}, {"depth", depth}};
    if (depth > 0) steps.push_back({"fuse", params.dump()});
  }
  int explained = 0;
  for (const poly::TransformStep& step : steps) {
    const Attempt a = attempt_job(o.work, o.path, step);
    EXPECT_FALSE(a.verdict.malformed) << a.verdict.why;
    if (a.verdict.accepted()) continue;
    EXPECT_FALSE(a.verdict.why.empty()) << step_text(step);
    if (a.verdict.kind != poly::VerdictKind::Illegal) continue;
    ASSERT_EQ(a.verdict.witness.size(), 1u) << step_text(step) << ": " << a.verdict.why;
    if (explained++ > 0) continue;
    const Path path = o.below(sched::NodeState::Illegal, step);
    const Why w = why_job(o.work, CancelToken(), path, {});
    ASSERT_NE(w.failing(), nullptr);
    for (const std::string& r : w.remarks) ADD_FAILURE() << r;
    ASSERT_TRUE(w.picture) << step_text(step);
    ASSERT_GE(w.arrow, 0) << step_text(step) << ": " << picture_caption(w).toStdString();
    EXPECT_EQ(w.picture->arrows[static_cast<size_t>(w.arrow)].fate, Fate::Violated);
    const QString told = why_html(w, path.back(), {}, Theme());
    EXPECT_TRUE(told.contains("must come before"));
    EXPECT_TRUE(told.contains(QString::fromStdString(a.verdict.witness[0].source)));
    EXPECT_LT(longest_part(*w.picture), 50 * kSlower);
    const TreeAnswer asked_for = tree_job(o.work, path);
    EXPECT_TRUE(asked_for.made && asked_for.remark.find("refused") == 0) << asked_for.remark;
  }
  std::printf("%s: %zu fusions, %d illegal\n", GetParam().c_str(), steps.size(), explained);
}

INSTANTIATE_TEST_SUITE_P(Kernels, SchedCorpus, ::testing::ValuesIn(kernel_names()),
                         [](const auto& at) { return at.param; });

}  // namespace
}  // namespace nautilus::gui
