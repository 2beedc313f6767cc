// What lessons ask, computed: transforms applied with their verdicts, numbers and words of
// schedules. Belongs to the thread of the program's isl context.
#pragma once

#include <atomic>
#include <map>
#include <memory>

#include "gui/models/lesson.h"
#include "polyhedral/legality.h"

namespace nautilus::gui {

// A step's transform, applied.
struct LessonOutcome {
  poly::TransformStep step;  // with node ids
  std::string verdict;       // "legal", "repaired", "illegal", "unknown"
  std::string reason;        // the verdict's words, with witness
  uint64_t hash = 0;         // of the schedule that it makes; 0: it makes none
};

// The answer of a question.
struct LessonAnswer {
  double number = 0;              // Number
  int choice = -1;                // of the question's choices; -1: a number
  std::vector<std::string> said;  // what each choice comes to; or the number, in words
};

class LessonWork {
 public:
  using Steps = std::map<std::string, poly::TransformStep>;  // by step id
  // `best`: the nodes from the root to the best plan of the lesson's search. `done`: what the
  // learner did, where that was free to choose.
  LessonWork(const Lesson& lesson, poly::ProgramPtr program, const sched::SearchOptions& options,
             const sched::SearchResult& searched, Steps done = {});
  Expected<LessonOutcome> outcome(const std::string& step);
  // Of another request at the same schedule.
  Expected<LessonOutcome> outcome_of(const std::string& step, const poly::TransformStep& request);
  Expected<LessonAnswer> answer(const LessonStep& step);
  Expected<double> number(const LessonNumber& n);
  Expected<std::string> words(const LessonNumber& n);  // "limiter", "numerics"
  Expected<std::string> quote(const LessonNumber& n);  // either, as it is written in a text

 private:
  struct State {
    sched::Plan plan;
    LessonOutcome outcome;
  };
  Expected<const State*> state(const std::string& step);
  Expected<sched::Plan> plan_for(const LessonNumber& n, const std::string& step);
  Expected<double> value(const LessonNumber& n, const std::string& step);
  Expected<const sched::Cost*> cost_for(const LessonNumber& n, const std::string& step);
  std::optional<double> count(const std::string& what);        // of the search and the program
  std::optional<double> given(const std::string& what) const;  // of the lesson and the machine
  std::optional<double> of_schedule(const std::string& what, const sched::Plan& p);

  const Lesson& lesson_;
  poly::ProgramPtr program_;
  const sched::SearchOptions& options_;
  const sched::SearchResult& searched_;
  Steps done_;
  std::unique_ptr<sched::OpsProvider> ops_;
  std::map<std::string, State> states_;
  std::map<std::string, sched::Cost> costs_;
};

// Parameters whose nodes are named by what they hold, for this tree: "root", "band S", "inner S"
// (its innermost band), "sequence S" (the innermost around it), "filter S".
Expected<nlohmann::json> resolved(const poly::Schedule& s, const nlohmann::json& params);
// Whether a step is what was asked for; `free` parameters may be anything.
bool as_asked(const poly::TransformStep& asked, const poly::TransformStep& did,
              const std::vector<std::string>& free);
// The session that a lesson begins with: its kernel at its sizes, and the search if it has one.
// `stop`, once set, ends that with a refusal.
Expected<sched::Session> lesson_session(const Lesson& l, std::atomic<bool>* stop = nullptr);

// Adds candidates for the transforms of steps that were done before, in the lesson's order; their
// nodes by step. What cannot be done again is left out.
std::map<std::string, int> do_again(sched::Session& s, const Lesson& l,
                                    const LessonWork::Steps& done);

// "2.1 MB", "3.4 us", "x 12", as the quantity is.
std::string lesson_value(const LessonNumber& n, double value);

}  // namespace nautilus::gui
