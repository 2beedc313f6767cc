// Plans through all stages: texts, what their lines are about, passes, refusals in place.
#include <QSet>

#include "gui/models/stage_texts.h"
#include "gui/models/syntax.h"
#include "tests/gui/sessions.h"

namespace nautilus::gui {
namespace {

using namespace testing_samples;

// Asked of a bench, as views do.
PlanStages stages(Desk& desk, std::vector<sched::SearchNode> path) {
  std::optional<PlanStages> out;
  const SpecText spec = SpecText::of(desk.document.session());
  QObject asker;
  desk.bench.ask<PlanStages>(
      &asker, "test",
      [path, spec](const Workpiece& w, const CancelToken& c) {
        return make_stages(w, c, path, spec);
      },
      [&](PlanStages p) { out = std::move(p); });
  QElapsedTimer t;
  t.start();
  while (!out && t.elapsed() < 60'000) QTest::qWait(2);
  EXPECT_TRUE(out);
  return out ? *std::move(out) : PlanStages();
}
// That it has the stage, as text.
void expect_text(const PlanStages& p, const char* id) {
  const Stage* s = p.find(id);
  ASSERT_TRUE(s) << id;
  EXPECT_FALSE(s->refusal) << id << ": " << (s->refusal ? s->refusal->text() : "");
  EXPECT_GT(s->lines.size(), 5) << id;
  EXPECT_EQ(s->tags.size(), size_t(s->lines.size())) << id;
}
// Where copies run ahead: in rings of their own warps, or of a producer's.
const char* ahead(const PlanStages& p) {
  return p.find("memory.1.roles") ? "memory.1.roles" : "memory.1.pipelining";
}
PlanStages best_stages(Desk& desk) {
  return stages(desk, Bench::path_nodes(desk.document.session().result, desk.best()));
}

int lit(const PlanStages& p, const char* stage, const Focus& f, int least = 2) {
  const Stage* s = p.find(stage);
  if (!s) return -1;
  int n = 0;
  for (const LineTag& t : s->tags) n += relevance(p, t, f) >= least;
  return n;
}

TEST(StagesTest, EveryStageHasATextAndATagForEachLine) {
  Desk desk;
  const PlanStages p = best_stages(desk);
  for (const char* id :
       {"spec", "program", "schedule", "loops", "tile.lower", "tile.rewrite", "memory.1.placement",
        ahead(p), "memory.1.synchronization", "memory", "cuda"})
    expect_text(p, id);
  EXPECT_TRUE(p.memory && p.source && p.cost);
  ASSERT_TRUE(p.find("ptx"));
  EXPECT_EQ(p.find("ptx")->syntax, Syntax::Ptx);
}

TEST(StagesTest, AStatementIsFoundInEveryStage) {
  Desk desk;
  const PlanStages p = best_stages(desk);
  const Focus f{-1, "S_P_exp"};
  for (const char* id :
       {"spec", "program", "schedule", "loops", "tile.lower", "tile.rewrite", "memory", "cuda"})
    EXPECT_GT(lit(p, id, f), 0) << id;
  // What is lit in the tile IR is about that statement by its own words.
  ASSERT_TRUE(p.find("tile.lower"));
  const Stage& tile = *p.find("tile.lower");
  for (qsizetype n = 0; n < tile.lines.size(); ++n)
    if (relevance(p, tile.tags[size_t(n)], f) == 2) {
      EXPECT_TRUE(tile.lines[n].contains("S_P_exp") || tile.lines[n].contains("yield") ||
                  tile.lines[n].trimmed().startsWith('}'))
          << tile.lines[n].toStdString();
    }
  EXPECT_EQ(lit(p, "cuda", {-1, "no_such_statement"}), 0);
  EXPECT_EQ(lit(p, "cuda", {}), 0);
}

TEST(StagesTest, ABandLightsItsLinesAndWhatIsBelow) {
  Desk desk;
  const PlanStages p = best_stages(desk);
  ASSERT_TRUE(p.find("schedule") && p.find("loops"));
  const Stage& schedule = *p.find("schedule");
  ASSERT_FALSE(schedule.tags.empty());
  ASSERT_GE(schedule.tags[0].node, 0);
  const Focus root{schedule.tags[0].node, {}};
  EXPECT_EQ(lit(p, "schedule", root), 1);
  EXPECT_GT(lit(p, "schedule", root, 1), 5);
  EXPECT_GT(lit(p, "cuda", root, 1), 10);
  EXPECT_GT(lit(p, "program", root, 1), 10);
  // The node of a loop is a band of the schedule, with the same number in its line.
  const Stage& loops = *p.find("loops");
  for (size_t n = 0; n < loops.tags.size(); ++n) {
    const int node = loops.tags[n].node;
    const QString line = loops.lines[qsizetype(n)].trimmed();
    const bool guard = line.startsWith("if") || line.startsWith("else");  // of no node alone
    EXPECT_TRUE(guard || p.tree.count(node)) << line.toStdString();
    if (!loops.lines[qsizetype(n)].trimmed().startsWith("for")) continue;
    bool found = false;
    for (const QString& l : schedule.lines)
      found |= l.trimmed().startsWith(QString::number(node) + ": band");
    EXPECT_TRUE(found) << loops.lines[qsizetype(n)].toStdString();
  }
}

TEST(StagesTest, LinesPickWhatTheyAreAbout) {
  Desk desk;
  const PlanStages p = best_stages(desk);
  ASSERT_TRUE(p.find("cuda"));
  const Stage& cuda = *p.find("cuda");
  int about = 0;
  for (const LineTag& t : cuda.tags) {
    const Focus f = focus_of(p, t);
    if (f.empty()) continue;
    ++about;
    EXPECT_EQ(relevance(p, t, f), 2);
  }
  EXPECT_GT(about, cuda.lines.size() / 4);
}

TEST(StagesTest, PassesSayWhetherTheyChangedAnything) {
  Desk desk;
  const PlanStages p = best_stages(desk);
  ASSERT_TRUE(p.find("tile.rewrite") && p.find(ahead(p)));
  EXPECT_TRUE(p.find("tile.rewrite")->changed);
  EXPECT_TRUE(p.find(ahead(p))->changed);
  for (size_t n = 1; n < p.stages.size(); ++n) {
    const Stage &a = p.stages[n - 1], &b = p.stages[n];
    if (a.syntax == b.syntax && a.pass && b.pass) {
      EXPECT_EQ(b.changed, a.lines != b.lines) << n;
    }
  }
}

TEST(StagesTest, APlanThatCannotBeLoweredShowsTheRefusalInPlace) {
  Desk desk;
  auto path = Bench::path_nodes(desk.document.session().result, desk.best());
  path.back().knobs["tile.i"] = 2048;
  path.back().knobs["tile.j"] = 2048;
  const PlanStages p = stages(desk, path);
  const Stage* memory = p.find("memory");
  ASSERT_TRUE(memory);
  ASSERT_TRUE(memory->refusal);
  EXPECT_FALSE(memory->refusal->why.empty());
  ASSERT_TRUE(p.find("tile.rewrite"));
  EXPECT_FALSE(p.find("tile.rewrite")->refusal);  // what comes before is there
  EXPECT_TRUE(p.lowered_with.isEmpty());
  ASSERT_TRUE(p.find("cuda"));
  ASSERT_TRUE(p.find("cuda")->refusal);
  EXPECT_NE(p.find("cuda")->refusal->why.find("Memory IR"), std::string::npos);
  EXPECT_FALSE(p.memory);
}

// As `nautilusc compile` would: smaller tiles of the same structure, and it is told which.
TEST(StagesTest, WhatDoesNotFitIsLoweredWithSmallerTiles) {
  Desk desk;
  auto path = Bench::path_nodes(desk.document.session().result, desk.best());
  PlanStages p;
  // With a compiler there are more registers for it to share than without.
  for (const auto& [i, j] : {std::pair(128, 256), {128, 512}, {256, 128}, {256, 256}, {512, 128}}) {
    path.back().knobs["tile.i"] = i;
    path.back().knobs["tile.j"] = j;
    p = stages(desk, path);
    if (!p.lowered_with.isEmpty()) break;
  }
  EXPECT_TRUE(p.lowered_with.contains(" → ")) << "all fit, or none";
  for (const QString& knob : p.lowered_with.split(", ")) {  // "tile.j 256 → 128"
    const QStringList words = knob.split(' ');
    ASSERT_EQ(words.size(), 4) << knob.toStdString();
    EXPECT_LT(words[3].toInt(), words[1].toInt()) << knob.toStdString();
  }
  EXPECT_TRUE(p.memory && p.source);
  expect_text(p, "cuda");
  std::set<QString> ids;
  for (const Stage& s : p.stages) EXPECT_TRUE(ids.insert(s.id).second) << s.id.toStdString();
  // The lines still lead to the tree of the plan that is selected.
  const Stage& cuda = *p.find("cuda");
  for (const LineTag& t : cuda.tags) EXPECT_TRUE(t.node < 0 || p.tree.count(t.node)) << t.node;
  EXPECT_EQ(p.knobs.at("tile.j"), path.back().knobs.at("tile.j"));
}

TEST(StagesTest, AStepThatDoesNotApplyIsARefusalOfTheSchedule) {
  Desk desk;
  auto path = Bench::path_nodes(desk.document.session().result, desk.best());
  path.back().steps = {{"tile", "{\"band\":9999}"}};
  const PlanStages p = stages(desk, path);
  ASSERT_TRUE(p.find("schedule"));
  EXPECT_TRUE(p.find("schedule")->refusal);
  EXPECT_TRUE(p.find("loops")->refusal);
  EXPECT_FALSE(p.find("program")->refusal);
}

TEST(StagesTest, TheSameQuestionIsAnsweredOnce) {
  Desk desk;
  std::vector<PlanStagesPtr> got;
  QObject asker;
  const auto path = Bench::path_nodes(desk.document.session().result, desk.best());
  for (int n = 0; n < 2; ++n)
    desk.bench.ask<PlanStagesPtr>(
        &asker, QString::number(n),
        [path](const Workpiece& w, const CancelToken& c) { return stages_of(w, c, path, {}); },
        [&](PlanStagesPtr p) { got.push_back(p); });
  QElapsedTimer t;
  t.start();
  while (got.size() < 2 && t.elapsed() < 60'000) QTest::qWait(2);
  ASSERT_EQ(got.size(), 2u);
  EXPECT_EQ(got[0], got[1]);
}

TEST(StagesTest, PtxLinesLeadToCudaLines) {
  const QStringList ptx = {".visible .entry k(",
                           "  .loc 1 12 5",
                           "  add.f32 %f1, %f2, %f3;",
                           "  .loc 1 3 9, function_name $L__info_string0, inlined_at 1 14 7",
                           "  ex2.approx.f32 %f4, %f1;",
                           "}"};
  std::vector<bool> known(20);
  known[12] = known[14] = true;
  const std::vector<int> lines = source_lines(ptx, Assembly::Ptx, known);
  EXPECT_EQ(lines, (std::vector<int>{0, 12, 12, 14, 14, 0}));
  const QStringList sass = {"//--------- .text.k",
                            "\t//## File \"/tmp/kernel.cu\", line 12",
                            "        /*0010*/  FADD R1, R2, R3 ;",
                            "\t//## File \"/tmp/kernel.cu\", line 3 inlined at \"/tmp/kernel.cu\"",
                            "\t//## File \"/tmp/kernel.cu\", line 14",
                            "        /*0020*/  MUFU.EX2 R4, R1 ;"};
  EXPECT_EQ(source_lines(sass, Assembly::Sass, known), (std::vector<int>{0, 12, 12, 3, 14, 14}));
}

TEST(SyntaxTest, WordsOfEachLanguage) {
  const QHash<QString, int> statements = {{"S_C", 4}};
  const auto kinds = [&](Syntax s, const char* line) {
    QStringList out;
    for (const TokenSpan& t : tokens_of(s, line, statements))
      out << QString(line).mid(t.begin, t.length) + ':' + QString::number(int(t.token));
    return out.join(' ');
  };
  const auto k = [](Token t) { return QString::number(int(t)); };
  EXPECT_EQ(kinds(Syntax::Tile, "%2: f16 = load A[i] @S_C:4"),
            "%2:" + k(Token::Value) + " f16:" + k(Token::Type) + " load:" + k(Token::Keyword) +
                " @S_C:4:" + k(Token::Origin));
  EXPECT_EQ(
      kinds(Syntax::Cuda, "float x = 1.5f; // S_C"),
      "float:" + k(Token::Type) + " 1.5f:" + k(Token::Number) + " // S_C:" + k(Token::Comment));
  EXPECT_EQ(kinds(Syntax::Loops, "S_C[i]"), "S_C:" + k(Token::Statement));
  EXPECT_EQ(kinds(Syntax::Cuda, "\"unclosed"), "\"unclosed:" + k(Token::Text));
  EXPECT_EQ(kinds(Syntax::Cuda, "/* open"), "/* open:" + k(Token::Comment));
  EXPECT_EQ(kinds(Syntax::Ptx, "  ld.global.f32 %f1, [%rd2];"),
            "ld:" + k(Token::Keyword) + " .global:" + k(Token::Type) + " .f32:" + k(Token::Type) +
                " %f1:" + k(Token::Value) + " %rd2:" + k(Token::Value));
  EXPECT_EQ(word_at("%12 = load", 1), "%12");
  EXPECT_EQ(word_at("a + bc", 5), "bc");
  EXPECT_EQ(word_at("a + bc", 2), "");
}

TEST(SyntaxTest, SpansNeverOverlapNorLeaveTheLine) {
  std::mt19937 r(7);
  const QString letters = "ab_%@:./*\"\\#0 9\tS";
  for (int round = 0; round < 3000; ++round) {
    QString line;
    for (unsigned n = r() % 24; n > 0; --n)
      line += letters[qsizetype(r() % unsigned(letters.size()))];
    for (int s = 0; s <= int(Syntax::Sass); ++s) {
      int at = 0;
      for (const TokenSpan& t : tokens_of(Syntax(s), line, {{"S", 0}})) {
        ASSERT_GE(t.begin, at) << line.toStdString();
        ASSERT_GT(t.length, 0) << line.toStdString();
        at = t.begin + t.length;
      }
      ASSERT_LE(at, line.size()) << line.toStdString() << " syntax " << s;
    }
  }
}

}  // namespace
}  // namespace nautilus::gui
