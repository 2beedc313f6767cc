// Every lesson played from its first step to its last with the real library: what it expects is
// what the program finds, and what it quotes can be computed.
#include <gtest/gtest.h>

#include <filesystem>
#include <iostream>

#include "autosched/exploration.h"
#include "compiler/driver/searching.h"
#include "compiler/profile/profile.h"
#include "gui/models/lesson_run.h"

namespace nautilus::gui {
namespace {

std::vector<std::string> lesson_files() {
  std::vector<std::string> out;
  for (const auto& e : std::filesystem::directory_iterator(lessons_dir()))
    if (e.path().extension() == ".json") out.push_back(e.path().stem().string());
  std::sort(out.begin(), out.end());
  return out;
}

class PlayedLesson : public ::testing::TestWithParam<std::string> {};

// The lesson at work: what the window has in views and threads, in one place.
struct Desk {
  explicit Desk(const Lesson& l) : lesson(l) {
    auto s = lesson_session(l);
    EXPECT_TRUE(s) << s.error().text();
    if (!s) return;
    session = *std::move(s);
    auto p = poly::parse_naut(poly::make_context(), session.program_naut, "program");
    EXPECT_TRUE(p) << p.error().text();
    if (!p) return;
    program = std::make_shared<const poly::Program>(*std::move(p));
    ops = profile::tile_ops_provider(tile::Numerics::Reassociate,
                                     driver::op_costs(session.options.machine));
    auto made = sched::Exploration::resume(program, session.options, session.result, *ops);
    EXPECT_TRUE(made) << made.error().text();
    if (made) exploration = *std::move(made);
  }
  int best() const { return session.result.best.empty() ? -1 : session.result.best[0]; }
  Lesson lesson;
  sched::Session session;
  poly::ProgramPtr program;
  std::unique_ptr<sched::OpsProvider> ops;
  std::unique_ptr<sched::Exploration> exploration;
};

void quote(LessonWork& work, const LessonStep& step) {
  for (const LessonNumber& n : quoted(step)) {
    const auto v = work.quote(n);
    EXPECT_TRUE(v) << step.id << ": " << (v ? "" : v.error().text());
    if (v) std::cout << "  " << step.id << ": " << to_string(n) << " = " << *v << "\n";
  }
}

void predict(LessonRun& player, LessonWork& work) {
  const LessonStep& step = player.step();
  const auto answer = work.answer(step);
  ASSERT_TRUE(answer) << step.id << ": " << answer.error().text();
  const bool number = step.question->kind == LessonQuestion::Kind::Number;
  std::cout << "  " << step.id << "? "
            << (number ? answer->said[0] + " (" + std::to_string(answer->number) + ")"
                       : step.question->choices[static_cast<size_t>(answer->choice)].text);
  for (const std::string& s : answer->said) std::cout << " | " << s;
  std::cout << "\n";
  EXPECT_EQ(player.phase(), LessonRun::Phase::Predict);
  EXPECT_FALSE(player.can_go_next());
  const QString problem = number ? player.predict(QString::number(answer->number, 'g', 17))
                                 : player.predict(answer->choice);
  EXPECT_EQ(problem, QString()) << step.id;
  player.set_answer(player.at(), *answer);
  EXPECT_TRUE(player.right(player.at())) << step.id << player.judgement(player.at()).toStdString();
}

void transform(LessonRun& player, LessonWork& work, Desk& desk) {
  const LessonStep& step = player.step();
  EXPECT_EQ(player.phase(), LessonRun::Phase::Do) << step.id;
  const auto asked = work.outcome(step.id);
  ASSERT_TRUE(asked) << step.id << ": " << asked.error().text();
  EXPECT_EQ(asked->verdict, step.transform->expect) << step.id << ": " << asked->reason;
  EXPECT_NE(asked->reason.find(step.transform->says), std::string::npos)
      << step.id << ": " << asked->reason;
  std::cout << "  " << step.id << "! " << asked->step.name << " " << asked->step.params << ": "
            << asked->verdict << " " << asked->reason << "\n";
  player.set_asked(player.at(), *asked);
  const int from = player.node_of(step.transform->from, desk.best());
  ASSERT_GE(from, 0) << step.id;
  const auto id = desk.exploration->add_by_hand(from, {asked->step});
  ASSERT_TRUE(id) << step.id << ": " << id.error().text();
  const sched::SearchNode& made = desk.exploration->result().nodes[static_cast<size_t>(*id)];
  QString why;
  EXPECT_EQ(player.observe(*id, from, made.steps, made, &why), LessonRun::Seen::Yes)
      << step.id << why.toStdString();
}

TEST_P(PlayedLesson, FromTheFirstStepToTheLast) {
  const auto lesson = load_lesson(lessons_dir(), GetParam());
  ASSERT_TRUE(lesson) << lesson.error().text();
  EXPECT_FALSE(lesson->title.empty());
  EXPECT_GE(lesson->steps.size(), 5u);
  Desk desk(*lesson);
  ASSERT_TRUE(desk.exploration);
  for (const LessonStep& s : lesson->steps)
    EXPECT_TRUE(s.statement.empty() || desk.program->statement(s.statement) || s.select != "start")
        << s.id << ": there is no statement " << s.statement;
  LessonRun player;
  player.start(*lesson);
  int questions = 0;
  for (int k = 0; k < player.count(); ++k) {
    ASSERT_EQ(player.at(), k);
    LessonWork work(player.lesson(), desk.program, desk.session.options, desk.session.result,
                    player.done());
    quote(work, player.step());
    if (player.step().question) ++questions, predict(player, work);
    if (player.step().transform) transform(player, work, desk);
    EXPECT_EQ(player.phase(), LessonRun::Phase::Done) << player.step().id;
    EXPECT_EQ(player.can_go_next(), k + 1 < player.count());
    player.next();
  }
  EXPECT_TRUE(player.finished());
  EXPECT_GE(questions, 3);
  EXPECT_EQ(player.rights(), questions);
  EXPECT_EQ(player.broken(desk.session.options), QString());
}

// What the text of "search" says of bounds: on the way down they never fall.
TEST(LessonClaims, BoundsNeverFallOnTheWayDown) {
  const auto lesson = load_lesson(lessons_dir(), "search");
  ASSERT_TRUE(lesson);
  Desk desk(*lesson);
  int compared = 0;
  for (const sched::SearchNode& n : desk.session.result.nodes)
    if (n.parent >= 0 && n.lower_bound > 0) {
      ++compared;
      EXPECT_GE(n.lower_bound,
                desk.session.result.nodes[static_cast<size_t>(n.parent)].lower_bound * (1 - 1e-12))
          << n.id;
    }
  EXPECT_GT(compared, 100);
}

INSTANTIATE_TEST_SUITE_P(Corpus, PlayedLesson, ::testing::ValuesIn(lesson_files()),
                         [](const auto& info) { return info.param; });

}  // namespace
}  // namespace nautilus::gui
