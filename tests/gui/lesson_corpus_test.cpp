// The lessons' texts: the author's page and its example, the course, what may not stand in a text;
// folders with damaged lessons.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <regex>

#include "autosched/file.h"
#include "gui/models/lesson_layout.h"
#include "gui/models/lesson_run.h"

namespace nautilus::gui {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

std::string page() {
  const auto text = sched::read_file(lessons_dir() + "/README.md");
  EXPECT_TRUE(text);
  return text ? *text : "";
}

// The block of a language in the author's page.
std::string block(const std::string& language) {
  const std::string all = page(), open = "```" + language + "\n";
  const size_t from = all.find(open);
  if (from == std::string::npos) return "";
  return all.substr(from + open.size(), all.find("```", from + 3) - from - open.size());
}

TEST(LessonCorpus, TheExampleOfTheAuthorsPageIsALesson) {
  const auto glossary = load_glossary(lessons_dir());
  ASSERT_TRUE(glossary);
  const auto l = lesson_from("example", json::parse(block("json"), nullptr, false),
                             block("markdown"), *glossary);
  ASSERT_TRUE(l) << l.error().text();
  const auto s = lesson_session(*l);
  ASSERT_TRUE(s) << s.error().text();
  auto p = poly::parse_naut(poly::make_context(), s->program_naut, "program");
  ASSERT_TRUE(p);
  LessonWork work(*l, std::make_shared<const poly::Program>(*std::move(p)), s->options, s->result);
  for (const LessonStep& step : l->steps) {
    for (const LessonNumber& n : quoted(step)) EXPECT_TRUE(work.quote(n)) << to_string(n);
    const auto answer = work.answer(step);
    EXPECT_TRUE(answer) << step.id << ": " << answer.error().text();
    if (!step.transform) continue;
    const auto o = work.outcome(step.id);
    ASSERT_TRUE(o) << o.error().text();
    EXPECT_EQ(o->verdict, step.transform->expect);
  }
}

TEST(LessonCorpus, TheAuthorsPageNamesEveryFieldAndView) {
  const std::string all = page();
  for (const char* field : {"nautilus_lesson",
                            "title",
                            "about",
                            "order",
                            "minutes",
                            "kernel",
                            "sizes",
                            "machine",
                            "plans",
                            "locked",
                            "steps",
                            "id",
                            "view",
                            "statement",
                            "select",
                            "ask",
                            "do",
                            "kind",
                            "text",
                            "unit",
                            "answer",
                            "tolerance",
                            "choices",
                            "word",
                            "number",
                            "transform",
                            "params",
                            "free",
                            "from",
                            "expect",
                            "says"})
    EXPECT_NE(all.find("`" + std::string(field) + "`"), std::string::npos) << field;
  for (const std::string& view : lesson_views())
    EXPECT_NE(all.find("`" + view + "`"), std::string::npos) << view;
}

TEST(LessonCorpus, TheCourseListsEveryLessonInOrder) {
  const std::string all = page();
  size_t at = 0;
  int number = 0;
  for (const std::string& name : lesson_names(lessons_dir())) {
    const std::string row = "| " + std::to_string(++number) + " | `" + name + "` |";
    const size_t found = all.find(row);
    ASSERT_NE(found, std::string::npos) << row;
    EXPECT_GE(found, at);
    at = found;
    const auto l = load_lesson(lessons_dir(), name);
    ASSERT_TRUE(l);
    EXPECT_EQ(l->order, number) << name;
    EXPECT_GE(l->minutes, 5) << name;
    EXPECT_LE(l->minutes, 10) << name;
  }
  EXPECT_GE(number, 10);
  EXPECT_TRUE(damaged_lessons(lessons_dir()).empty());
}

// Numbers are computed when a step is entered; what is typed would one day be wrong.
TEST(LessonCorpus, NoNumberIsTyped) {
  const std::regex computed(R"(\{\{[^}]*\}\}|`[^`]*`|\]\([^)]*\))"),
      digit(R"((^|[^A-Za-z^_])[0-9])");
  for (const std::string& name : lesson_names(lessons_dir())) {
    const auto l = load_lesson(lessons_dir(), name);
    ASSERT_TRUE(l);
    const auto check = [&](const std::string& text, const std::string& where) {
      EXPECT_FALSE(std::regex_search(std::regex_replace(text, computed, ""), digit))
          << name << ", " << where << ": " << text;
    };
    check(l->title + l->about, "title");
    for (const LessonStep& s : l->steps) {
      check(s.title + "\n" + s.text + s.after, s.id);
      if (!s.question) continue;
      check(s.question->text, s.id);
      for (const LessonQuestion::Choice& c : s.question->choices) check(c.text, s.id);
    }
  }
}

// A text that quotes what its question asks for gives the answer away.
TEST(LessonCorpus, NoTextGivesItsAnswerAway) {
  for (const std::string& name : lesson_names(lessons_dir())) {
    const auto l = load_lesson(lessons_dir(), name);
    ASSERT_TRUE(l);
    for (const LessonStep& s : l->steps) {
      if (!s.question) continue;
      std::vector<std::string> asked{to_string(s.question->answer)};
      for (const LessonQuestion::Choice& c : s.question->choices)
        asked.push_back(to_string(c.number));
      for (const LessonNumber& n : quoted(s.text + s.question->text))
        EXPECT_EQ(std::count(asked.begin(), asked.end(), to_string(n)), 0)
            << name << ", " << s.id << ": " << to_string(n);
    }
  }
}

// What the lesson on warp roles rests on.
TEST(LessonCorpus, TheInterpreterFindsWhatWasLeftOut) {
  const std::string dir = lessons_dir();
  for (const auto& [what, found] : {std::pair("interpreted.warp_roles", "clean"),
                                    {"interpreted.warp_roles.wait_full", "in_flight"},
                                    {"interpreted.warp_roles.arrive_empty", "deadlock"},
                                    {"interpreted.warp_roles.wait_empty", "in_flight"},
                                    {"interpreted.warp_roles.proxy_fence", "missing_fence"}}) {
    const auto said = interpreted(dir, what);
    ASSERT_TRUE(said) << said.error().text();
    EXPECT_TRUE(said->starts_with(found)) << what << ": " << *said;
  }
  EXPECT_EQ(memory_number(dir, "memory.warp_roles.roles"), 2);
  EXPECT_EQ(memory_number(dir, "memory.warp_roles.ring_bytes"), 131072);
  for (const char* bad : {"interpreted.warp_roles.no_such_words", "interpreted.none", "interpreted",
                          "interpreted...", "interpreted.../x"})
    EXPECT_FALSE(interpreted(dir, bad)) << bad;
  for (const char* bad : {"memory.warp_roles", "memory.warp_roles.colour", "memory.none.roles"})
    EXPECT_FALSE(memory_number(dir, bad)) << bad;
}

TEST(LessonCorpus, DamagedFilesAreNamedAndTheOthersStay) {
  const fs::path dir = fs::temp_directory_path() / ("lessons-" + std::to_string(::getpid()));
  fs::remove_all(dir);
  fs::create_directories(dir);
  const auto put = [&](const std::string& name, const std::string& text) {
    std::ofstream(dir / name) << text;
  };
  fs::copy_file(lessons_dir() + "/glossary.md", dir / "glossary.md");
  put("good.json", block("json"));
  put("good.md", block("markdown"));
  put("no_text.json", block("json"));
  put("cut.json", block("json").substr(0, 200));
  put("cut.md", block("markdown"));
  put("empty.json", "");
  put("empty.md", "");
  put("binary.json", std::string("\x00\xff\xfe{", 4));
  put("binary.md", block("markdown"));
  put("deep.json", std::string(200'000, '['));
  put("deep.md", block("markdown"));
  fs::create_directory(dir / "folder.json");
  EXPECT_EQ(lesson_names(dir.string()), std::vector<std::string>{"good"});
  std::map<std::string, std::string> bad;
  for (const auto& [name, why] : damaged_lessons(dir.string())) bad[name] = why;
  EXPECT_EQ(bad.size(), 6u);
  EXPECT_NE(bad["no_text"].find("no_text.md"), std::string::npos) << bad["no_text"];
  EXPECT_NE(bad["cut"].find("not valid JSON"), std::string::npos) << bad["cut"];
  for (const auto& [name, why] : bad) EXPECT_FALSE(why.empty()) << name;
  EXPECT_FALSE(load_lesson(dir.string(), "../good"));
  EXPECT_FALSE(load_lesson(dir.string(), ""));
  fs::remove(dir / "glossary.md");
  const auto l = load_lesson(dir.string(), "good");
  ASSERT_FALSE(l);
  EXPECT_NE(l.error().text().find("glossary.md"), std::string::npos) << l.error().text();
  EXPECT_TRUE(lesson_names((dir / "none").string()).empty());
  fs::remove_all(dir);
}

}  // namespace
}  // namespace nautilus::gui
