// Lessons: files in corpus/lessons, NAME.json with what is done and asked and NAME.md with what is
// said. No number is stored in them: what is asked or quoted is computed by the program.
#pragma once

#include <functional>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "autosched/search.h"
#include "polyhedral/expected.h"

namespace nautilus::gui {

// "bytes.hbm" of a step's schedule; with `over`, divided by the same of another step. `of` and
// `over` are "start" (the order as written), "best" (the best plan of the lesson's search) or the
// name of a step that applies a transform. `times` multiplies by numbers that belong to no schedule
// ("size.K", "param.cut.sizes.0") or by a literal.
struct LessonNumber {
  std::string what, of = "start", over;
  sched::Knobs knobs;  // put in place of the plan's own
  std::vector<std::string> times;
  std::string unit;  // as which it is written, where its name does not say: "B", "s", "FLOP"
};

struct LessonQuestion {
  enum class Kind : uint8_t {
    Number,    // a number, right within a tolerance
    Verdict,   // what the step's transform will be: legal, repaired or illegal
    Largest,   // the choice whose number is the largest
    Smallest,  // or the smallest
    Named      // the choice whose word a computed text begins with
  };
  struct Choice {
    std::string text, word;
    LessonNumber number;
  };
  Kind kind = Kind::Number;
  std::string text, unit;
  LessonNumber answer;   // Number; Named: the text's name and step
  double tolerance = 0;  // relative; 0: exactly
  std::vector<Choice> choices;
};

struct LessonTransform {
  std::string name;
  nlohmann::json params;          // nodes by what they hold: "band S_Y_max", "sequence S_Y", "root"
  std::vector<std::string> free;  // parameters that the learner chooses
  std::string from;               // the step whose schedule it is applied to
  std::string expect;             // "legal", "repaired", "illegal"
  std::string says;               // a part of the verdict's reason
};

struct LessonStep {
  std::string id, title, text;  // Markdown
  std::string after;            // what is said once nothing is left to do, from "### After" on
  std::string view, statement;  // what is shown beside it
  std::string select;           // a step, "start" or "best"
  std::optional<LessonQuestion> question;
  std::optional<LessonTransform> transform;
};

struct Lesson {
  std::string name, title, about, kernel;
  int order = 0, minutes = 0;
  poly::Sizes sizes;
  std::string machine = "h200";
  int plans = 0;                    // of the search that the lesson begins with; 0: none
  std::vector<std::string> locked;  // "sizes", "machine"
  std::vector<LessonStep> steps;
  int step(const std::string& id) const;  // -1: none
};

struct GlossaryEntry {
  std::string term, text;
};

std::string lessons_dir();
// All lessons there are, in their order.
std::vector<std::string> lesson_names(const std::string& dir);
// The files that are meant to be lessons and cannot be read: name and what is wrong.
std::vector<std::pair<std::string, std::string>> damaged_lessons(const std::string& dir);
// The views that a step can show, by name.
const std::vector<std::string>& lesson_views();
Expected<Lesson> load_lesson(const std::string& dir, const std::string& name);
Expected<Lesson> lesson_from(const std::string& name, const nlohmann::json& j,
                             const std::string& markdown,
                             const std::vector<GlossaryEntry>& glossary);
Expected<std::vector<GlossaryEntry>> load_glossary(const std::string& dir);

// Numbers quoted in a text, as "{{traffic of fused over start}}" or "{{seconds of best}}".
std::vector<LessonNumber> quoted(const std::string& markdown);
// All that a step quotes: in its text, what is said after it, its question and its choices.
std::vector<LessonNumber> quoted(const LessonStep& step);
Expected<LessonNumber> number_from_words(const std::string& words);
// The text with each quoted number replaced by what `value` says of it.
std::string filled(const std::string& markdown,
                   const std::function<std::string(const LessonNumber&)>& value);
std::string to_string(const LessonNumber& n);

}  // namespace nautilus::gui
