// A lesson being played: which step, what was predicted, what was done, and whether it was right.
// Knows nothing of windows or schedules: computed answers and candidates are told to it.
#pragma once

#include <QObject>
#include <QString>
#include <map>

#include "gui/models/lesson_work.h"

namespace nautilus::gui {

class LessonRun : public QObject {
  Q_OBJECT
 public:
  enum class Phase : uint8_t {
    Predict,  // a question is open
    Do,       // a transform is to be applied
    Wait,     // predicted or done; the answer is still computed
    Done      // nothing is left to do here
  };
  using Answer = LessonAnswer;
  // What was done at a step so far.
  struct Progress {
    std::optional<double> guess;  // a number, or the choice's index
    bool given_up = false;        // shown without a guess
    std::optional<Answer> answer;
    int node = -1;          // the candidate that its transform made
    LessonOutcome outcome;  // of it
  };

  explicit LessonRun(QObject* parent = nullptr) : QObject(parent) {}
  void start(Lesson l);
  // What is kept of a lesson that was left, and going on there. Nodes are those of the new
  // document.
  struct Kept {
    int at = 0, reached = 0;
    std::vector<Progress> progress;
  };
  Kept keep() const { return {at_, reached_, progress_}; }
  void start(Lesson l, const Kept& kept);
  bool playing() const { return !lesson_.steps.empty(); }
  const Lesson& lesson() const { return lesson_; }
  int at() const { return at_; }
  int count() const { return static_cast<int>(lesson_.steps.size()); }
  const LessonStep& step() const { return lesson_.steps[static_cast<size_t>(at_)]; }
  const Progress& progress(int step) const { return progress_[static_cast<size_t>(step)]; }
  Phase phase() const { return phase_of(at_); }
  bool finished() const;

  // What the learner does. A sentence if it cannot be; "" if it could.
  QString predict(const QString& number);  // Number: "16", "1.5e3", "12 k", "3/4"
  QString predict(int choice);
  void give_up();  // show the answer
  bool can_go_next() const { return playing() && phase() == Phase::Done && at_ + 1 < count(); }
  void next();
  void back();
  void go(int step);  // one that was reached
  int reached() const { return reached_; }

  // What the program says. `asked`: the transform as it would be requested here.
  void set_answer(int step, Answer a);
  void set_asked(int step, LessonOutcome asked);
  const LessonOutcome* asked(int step) const;
  // A candidate that somebody made by hand: whether it is what this step waits for, and if not,
  // `why`. A request in other words (members by number, say) is known by what it comes to: `came`,
  // where that was found out; observe says Look where it is needed.
  enum class Seen : uint8_t { No, Look, Yes };
  Seen observe(int node, int parent, const std::vector<poly::TransformStep>& steps,
               const sched::SearchNode& made, QString* why, const LessonOutcome* came = nullptr);
  // The candidate of a step, "start" or "best" (`best`: its id); -1: not there yet.
  int node_of(const std::string& step, int best) const;
  LessonWork::Steps done() const;  // for LessonWork

  // Whether a guess was right, and how to say it.
  bool right(int step) const;
  QString judgement(int step) const;
  int rights() const;
  int asked_questions() const;  // answered or given up
  int predictions() const;      // made, where the answer is known
  // How many predictions were made and right, and how many answers were read without one; "": no
  // question was answered yet.
  QString score() const;
  // What of the lesson somebody changed although it is locked; "" if nothing.
  QString broken(const sched::SearchOptions& now) const;

 Q_SIGNALS:
  void changed();

 private:
  Phase phase_of(int step) const;
  Lesson lesson_;
  std::vector<Progress> progress_;
  std::map<int, LessonOutcome> asked_;
  int at_ = 0, reached_ = 0;
};

// A number as people write it: 1e6, 64 k, 2.5 MB, 3/4, 4 * 512 * 512, 50 %. nullopt: none.
std::optional<double> number_typed(const QString& text);

}  // namespace nautilus::gui
