#include "gui/models/lesson.h"

#include <algorithm>
#include <filesystem>
#include <set>

#include "autosched/file.h"
#include "polyhedral/json_text.h"
#include "polyhedral/transforms/registry.h"

namespace nautilus::gui {
namespace {

using nlohmann::json;

// What is wrong with a lesson file, found while it is read.
struct BadLesson {
  std::string where, why;
};
[[noreturn]] void bad(const std::string& where, const std::string& why) {
  throw BadLesson{where, why};
}

void only(const json& j, const std::string& where, std::initializer_list<const char*> keys) {
  if (!j.is_object()) bad(where, "this is no object");
  for (auto& [key, value] : j.items())
    if (std::none_of(keys.begin(), keys.end(), [&](const char* k) { return key == k; }))
      bad(where, "there is no field '" + key + "'");
}

std::string text_at(const json& j, const char* key, const std::string& where, bool needed = true) {
  if (!j.contains(key)) {
    if (needed) bad(where, std::string("'") + key + "' is missing");
    return "";
  }
  if (!j[key].is_string()) bad(where, std::string("'") + key + "' is no text");
  return j[key].get<std::string>();
}

template <class T>
T number_at(const json& j, const char* key, const std::string& where, T otherwise, T low, T high) {
  if (!j.contains(key)) return otherwise;
  const bool whole = std::is_integral_v<T>;
  if (whole ? !j[key].is_number_integer() : !j[key].is_number())
    bad(where, std::string("'") + key + "' is no number");
  const double v = j[key].get<double>();
  if (!(v >= static_cast<double>(low) && v <= static_cast<double>(high)))
    bad(where, std::string("'") + key + "' is out of range");
  return j[key].get<T>();
}

std::vector<std::string> texts_at(const json& j, const char* key, const std::string& where) {
  std::vector<std::string> out;
  if (!j.contains(key)) return out;
  if (!j[key].is_array()) bad(where, std::string("'") + key + "' is no list");
  for (const json& t : j[key]) {
    if (!t.is_string()) bad(where, std::string("'") + key + "' holds more than texts");
    out.push_back(t.get<std::string>());
  }
  return out;
}

std::map<std::string, int64_t> sizes_at(const json& j, const char* key, const std::string& where) {
  std::map<std::string, int64_t> out;
  if (!j.contains(key)) return out;
  if (!j[key].is_object()) bad(where, std::string("'") + key + "' is no object");
  for (auto& [name, value] : j[key].items()) {
    if (!value.is_number_integer()) bad(where, "'" + name + "' is no whole number");
    if (value.is_number_unsigned() && value.get<uint64_t>() > INT64_MAX)
      bad(where, "'" + name + "' is out of range");
    out[name] = value.get<int64_t>();
  }
  return out;
}

LessonNumber number_from(const json& j, const std::string& where) {
  if (j.is_string()) {
    auto n = number_from_words(j.get<std::string>());
    if (!n) bad(where, n.error().why);
    return *n;
  }
  only(j, where, {"number", "of", "over", "knobs"});
  LessonNumber n;
  n.what = text_at(j, "number", where);
  n.of = j.contains("of") ? text_at(j, "of", where) : "start";
  n.over = text_at(j, "over", where, false);
  n.knobs = sizes_at(j, "knobs", where);
  return n;
}

LessonQuestion question_from(const json& j, const std::string& where) {
  only(j, where, {"text", "kind", "unit", "answer", "tolerance", "choices"});
  LessonQuestion q;
  q.text = text_at(j, "text", where);
  q.unit = text_at(j, "unit", where, false);
  const std::string kind = text_at(j, "kind", where);
  const std::pair<const char*, LessonQuestion::Kind> kinds[] = {
      {"number", LessonQuestion::Kind::Number},
      {"verdict", LessonQuestion::Kind::Verdict},
      {"largest", LessonQuestion::Kind::Largest},
      {"smallest", LessonQuestion::Kind::Smallest},
      {"named", LessonQuestion::Kind::Named}};
  const auto found = std::find_if(std::begin(kinds), std::end(kinds),
                                  [&](const auto& k) { return kind == k.first; });
  if (found == std::end(kinds)) bad(where, "there is no kind of question '" + kind + "'");
  q.kind = found->second;
  q.tolerance = number_at(j, "tolerance", where, 0.0, 0.0, 10.0);
  using Kind = LessonQuestion::Kind;
  if (q.kind == Kind::Number || q.kind == Kind::Named) {
    if (!j.contains("answer")) bad(where, "'answer' is missing: what is to be computed");
    if (j["answer"].is_number()) bad(where, "'answer' is a number: say what is to be computed");
    q.answer = number_from(j["answer"], where);
  }
  if (q.kind == Kind::Verdict) {
    for (const char* v : {"legal", "repaired", "illegal"}) q.choices.push_back({v, v, {}});
    return q;
  }
  if (q.kind == Kind::Number) return q;
  if (!j.contains("choices") || !j["choices"].is_array() || j["choices"].size() < 2)
    bad(where, "'choices' needs two or more");
  for (const json& c : j["choices"]) {
    LessonQuestion::Choice choice;
    only(c, where, {"text", "word", "number"});
    choice.text = text_at(c, "text", where);
    choice.word = text_at(c, "word", where, q.kind == Kind::Named);
    if (q.kind != Kind::Named) {
      if (!c.contains("number")) bad(where, "a choice has no 'number'");
      choice.number = number_from(c["number"], where);
    }
    q.choices.push_back(std::move(choice));
  }
  return q;
}

LessonTransform transform_from(const json& j, const std::string& where, const std::string& last) {
  only(j, where, {"transform", "params", "free", "from", "expect", "says"});
  LessonTransform t;
  t.name = text_at(j, "transform", where);
  const poly::TransformInfo* info = poly::transform(t.name);
  if (!info) bad(where, "there is no transform '" + t.name + "'");
  t.params = j.value("params", json::object());
  if (!t.params.is_object()) bad(where, "'params' is no object");
  const auto known = [&](const std::string& name) {
    if (std::none_of(info->params.begin(), info->params.end(),
                     [&](const poly::ParamInfo& p) { return p.name == name; }))
      bad(where, t.name + " has no parameter '" + name + "'");
  };
  for (auto& [name, value] : t.params.items()) known(name);
  t.free = texts_at(j, "free", where);
  for (const std::string& name : t.free) known(name);
  t.from = j.contains("from") ? text_at(j, "from", where) : last;
  t.expect = text_at(j, "expect", where);
  if (t.expect != "legal" && t.expect != "repaired" && t.expect != "illegal")
    bad(where, "there is no verdict '" + t.expect + "'");
  t.says = text_at(j, "says", where, false);
  return t;
}

// "## id: Title" begins the text of a step.
struct Section {
  std::string id, title, text;
};
std::vector<Section> sections(const std::string& markdown) {
  std::vector<Section> out;
  size_t at = 0;
  while (at < markdown.size()) {
    size_t end = markdown.find('\n', at);
    if (end == std::string::npos) end = markdown.size();
    const std::string line = markdown.substr(at, end - at);
    at = end + 1;
    if (line.starts_with("## ")) {
      const size_t colon = line.find(": ");
      if (colon == std::string::npos)
        out.push_back({line.substr(3), line.substr(3), ""});
      else
        out.push_back({line.substr(3, colon - 3), line.substr(colon + 2), ""});
    } else if (!out.empty()) {
      out.back().text += line + "\n";
    }
  }
  return out;
}

void check_links(const std::string& text, const std::string& where,
                 const std::vector<GlossaryEntry>& glossary) {
  constexpr std::string_view kLink = "](glossary:";
  for (size_t at = text.find(kLink); at != std::string::npos; at = text.find(kLink, at + 1)) {
    const size_t from = at + kLink.size(), to = text.find(')', from);
    const std::string term =
        text.substr(from, to == std::string::npos ? std::string::npos : to - from);
    if (std::none_of(glossary.begin(), glossary.end(),
                     [&](const GlossaryEntry& e) { return e.term == term; }))
      bad(where, "the glossary has no entry '" + term + "'");
  }
}

// Every "{{...}}" names a number, of a schedule that is there by then.
void check_quotes(const std::string& text, const std::string& where,
                  const std::set<std::string>& results) {
  for (size_t at = text.find("{{"); at != std::string::npos; at = text.find("{{", at + 2)) {
    const size_t end = text.find("}}", at);
    if (end == std::string::npos) bad(where, "a '{{' is not closed");
    const auto n = number_from_words(text.substr(at + 2, end - at - 2));
    if (!n) bad(where, n.error().why);
    for (const std::string& step : {n->of, n->over})
      if (!step.empty() && !results.contains(step))
        bad(where, "it quotes '" + to_string(*n) + "' before there is such a schedule");
  }
}

// The Markdown of the steps, with what is said after them.
void read_text(Lesson& l, const std::string& markdown, const std::vector<GlossaryEntry>& glossary) {
  constexpr std::string_view kAfter = "### After\n";
  for (const Section& part : sections(markdown)) {
    const int k = l.step(part.id);
    if (k < 0) bad("the text", "section '" + part.id + "' belongs to no step");
    LessonStep& s = l.steps[static_cast<size_t>(k)];
    if (!s.text.empty()) bad("the text", "there are two sections '" + part.id + "'");
    const size_t after = part.text.find(kAfter);
    s.title = part.title;
    s.text = part.text.substr(0, after);
    if (after != std::string::npos) s.after = part.text.substr(after + kAfter.size());
  }
  std::set<std::string> results{"start"};
  if (l.plans > 0) results.insert("best");
  for (const LessonStep& s : l.steps) {
    const std::string where = "the text of step '" + s.id + "'";
    if (s.text.find_first_not_of(" \n") == std::string::npos) bad(where, "it is missing");
    if (s.transform && s.transform->expect != "illegal") results.insert(s.id);
    for (const std::string& text : {s.text, s.after}) {
      check_links(text, where, glossary);
      check_quotes(text, where, results);
    }
    if (!s.question) continue;
    check_quotes(s.question->text, "the question of step '" + s.id + "'", results);
    for (const LessonQuestion::Choice& c : s.question->choices)
      check_quotes(c.text, "a choice of step '" + s.id + "'", results);
  }
}

Lesson read(const std::string& name, const json& j, const std::string& markdown,
            const std::vector<GlossaryEntry>& glossary) {
  only(j, "the lesson",
       {"nautilus_lesson", "title", "about", "order", "minutes", "kernel", "sizes", "machine",
        "plans", "locked", "steps"});
  if (number_at(j, "nautilus_lesson", "the lesson", 0, 0, 1'000'000) != 1)
    bad("the lesson", "'nautilus_lesson' is not 1: written for another version, or no lesson");
  Lesson l;
  l.name = name;
  l.title = text_at(j, "title", "the lesson");
  l.about = text_at(j, "about", "the lesson");
  l.kernel = text_at(j, "kernel", "the lesson");
  l.order = number_at(j, "order", "the lesson", 0, 0, 1000);
  l.minutes = number_at(j, "minutes", "the lesson", 0, 0, 1000);
  l.machine = j.contains("machine") ? text_at(j, "machine", "the lesson") : "h200";
  l.sizes = sizes_at(j, "sizes", "the lesson");
  for (auto& [size, value] : l.sizes)
    if (value < 1 || value > 1'000'000'000)
      bad("the lesson", "size '" + size + "' is out of range");
  l.plans = number_at(j, "plans", "the lesson", 0, 0, 20'000);
  l.locked = texts_at(j, "locked", "the lesson");
  for (const std::string& what : l.locked)
    if (what != "sizes" && what != "machine")
      bad("the lesson", "'" + what + "' cannot be locked: sizes and machine can");
  if (!j.contains("steps") || !j["steps"].is_array() || j["steps"].empty())
    bad("the lesson", "it has no steps");
  std::string last = "start";
  std::set<std::string> results{"start"};
  if (l.plans > 0) results.insert("best");
  const auto refers = [&](const std::string& step, const std::string& where) {
    if (!results.contains(step))
      bad(where, "'" + step + "' is no step before this one that has a schedule" +
                     (step == "best" ? " ('plans' is 0, so there is no search)" : ""));
  };
  const auto number = [&](const LessonNumber& n, const std::string& where) {
    refers(n.of, where);
    if (!n.over.empty()) refers(n.over, where);
  };
  for (const json& s : j["steps"]) {
    LessonStep step;
    step.id = s.is_object() ? text_at(s, "id", "a step") : "";
    const std::string where = "step '" + step.id + "'";
    only(s, where, {"id", "view", "statement", "select", "ask", "do"});
    if (step.id.empty() || step.id == "start" || step.id == "best" || l.step(step.id) >= 0)
      bad(where, "its id is empty, reserved or used twice");
    step.view = text_at(s, "view", where, false);
    const auto& views = lesson_views();
    if (!step.view.empty() && std::find(views.begin(), views.end(), step.view) == views.end())
      bad(where, "there is no view '" + step.view + "'");
    step.statement = text_at(s, "statement", where, false);
    if (s.contains("do")) step.transform = transform_from(s["do"], where, last);
    if (step.transform) {
      refers(step.transform->from, where);
      if (step.transform->expect != "illegal") {
        results.insert(step.id);
        last = step.id;
      }
    }
    step.select = text_at(s, "select", where, false);
    if (!step.select.empty()) refers(step.select, where);
    if (s.contains("ask")) step.question = question_from(s["ask"], where);
    if (step.question) {
      const LessonQuestion& q = *step.question;
      if (q.kind == LessonQuestion::Kind::Verdict && !step.transform)
        bad(where, "a question for a verdict needs a transform");
      if (!q.answer.what.empty()) number(q.answer, where);
      for (const LessonQuestion::Choice& c : q.choices)
        if (!c.number.what.empty()) number(c.number, where);
    }
    l.steps.push_back(std::move(step));
  }
  read_text(l, markdown, glossary);
  return l;
}

}  // namespace

int Lesson::step(const std::string& id) const {
  for (size_t k = 0; k < steps.size(); ++k)
    if (steps[k].id == id) return static_cast<int>(k);
  return -1;
}

const std::vector<std::string>& lesson_views() {
  static const std::vector<std::string> all{"tree", "roofline", "schedule", "why",    "iteration",
                                            "code", "table",    "parallel", "budget", "compare"};
  return all;
}

std::string lessons_dir() { return sched::corpus_dir() + "/lessons"; }

Expected<Lesson> lesson_from(const std::string& name, const json& j, const std::string& markdown,
                             const std::vector<GlossaryEntry>& glossary) {
  try {
    return read(name, j, markdown, glossary);
  } catch (const BadLesson& b) {
    return Refusal{"read the lesson " + name, b.where, b.why, ""};
  } catch (const json::exception& e) {
    return Refusal{"read the lesson " + name, "", e.what(), ""};
  }
}

Expected<std::vector<GlossaryEntry>> load_glossary(const std::string& dir) {
  const Expected<std::string> text = sched::read_file(dir + "/glossary.md");
  if (!text) return text.error();
  std::vector<GlossaryEntry> out;
  for (Section& s : sections(*text)) out.push_back({std::move(s.id), std::move(s.text)});
  return out;
}

Expected<Lesson> load_lesson(const std::string& dir, const std::string& name) {
  if (name.empty() || name.find('/') != std::string::npos)
    return Refusal{"read a lesson", "", "'" + name + "' is no name of a lesson", ""};
  const Expected<std::string> text = sched::read_file(dir + "/" + name + ".json");
  if (!text) return text.error();
  const json j = poly::read_json(*text);
  if (j.is_discarded())
    return Refusal{"read the lesson " + name, dir + "/" + name + ".json", "it is not valid JSON",
                   ""};
  const Expected<std::string> markdown = sched::read_file(dir + "/" + name + ".md");
  if (!markdown) return markdown.error();
  const auto glossary = load_glossary(dir);
  if (!glossary) return glossary.error();
  return lesson_from(name, j, *markdown, *glossary);
}

namespace {

std::vector<std::string> lesson_files(const std::string& dir) {
  std::vector<std::string> out;
  std::error_code none;
  for (const auto& e : std::filesystem::directory_iterator(dir, none))
    if (e.path().extension() == ".json") out.push_back(e.path().stem().string());
  std::sort(out.begin(), out.end());
  return out;
}

}  // namespace

std::vector<std::string> lesson_names(const std::string& dir) {
  std::vector<std::pair<int, std::string>> found;
  for (const std::string& name : lesson_files(dir))
    if (const auto l = load_lesson(dir, name)) found.emplace_back(l->order, name);
  std::sort(found.begin(), found.end());
  std::vector<std::string> out;
  for (auto& [order, name] : found) out.push_back(name);
  return out;
}

std::vector<std::pair<std::string, std::string>> damaged_lessons(const std::string& dir) {
  std::vector<std::pair<std::string, std::string>> out;
  for (const std::string& name : lesson_files(dir))
    if (const auto l = load_lesson(dir, name); !l) out.emplace_back(name, l.error().text());
  return out;
}

}  // namespace nautilus::gui
