// Numbers by their names in words, and texts that quote them.
#include <algorithm>

#include "gui/models/lesson.h"

namespace nautilus::gui {

std::string to_string(const LessonNumber& n) {
  std::string out = n.what;
  if (n.of != "start" || !n.over.empty()) out += " of " + n.of;
  if (!n.over.empty()) out += " over " + n.over;
  for (auto& [name, value] : n.knobs) out += " at " + name + "=" + std::to_string(value);
  for (const std::string& t : n.times) out += " times " + t;
  if (!n.unit.empty()) out += " as " + n.unit;
  return out;
}

// "bytes.hbm of tiled over start at stages=1".
Expected<LessonNumber> number_from_words(const std::string& words) {
  const Refusal refusal{"read a number's name", "", "'" + words + "' is none",
                        "such as 'bytes.hbm of tiled over start at stages=1'"};
  LessonNumber n;
  std::vector<std::string> parts;
  size_t at = 0;
  while (at < words.size()) {
    const size_t end = std::min(words.find(' ', at), words.size());
    if (end > at) parts.push_back(words.substr(at, end - at));
    at = end + 1;
  }
  if (parts.empty() || parts.size() % 2 == 0) return refusal;
  n.what = parts[0];
  for (size_t k = 1; k + 1 < parts.size(); k += 2) {
    if (parts[k] == "of") {
      n.of = parts[k + 1];
    } else if (parts[k] == "over") {
      n.over = parts[k + 1];
    } else if (parts[k] == "times") {
      n.times.push_back(parts[k + 1]);
    } else if (parts[k] == "as") {
      n.unit = parts[k + 1];
    } else if (const size_t eq = parts[k + 1].find('=');
               parts[k] == "at" && eq != std::string::npos) {
      const std::string digits = parts[k + 1].substr(eq + 1);
      if (digits.empty() || digits.size() > 9 ||
          digits.find_first_not_of("0123456789") != std::string::npos)
        return refusal;
      n.knobs[parts[k + 1].substr(0, eq)] = std::stoll(digits);
    } else {
      return refusal;
    }
  }
  return n;
}

std::string filled(const std::string& markdown,
                   const std::function<std::string(const LessonNumber&)>& value) {
  std::string out;
  size_t at = 0;
  for (;;) {
    const size_t open = markdown.find("{{", at);
    const size_t close = open == std::string::npos ? open : markdown.find("}}", open);
    if (close == std::string::npos) return out + markdown.substr(at);
    out += markdown.substr(at, open - at);
    const auto n = number_from_words(markdown.substr(open + 2, close - open - 2));
    out += n ? value(*n) : markdown.substr(open, close + 2 - open);
    at = close + 2;
  }
}

std::vector<LessonNumber> quoted(const std::string& markdown) {
  std::vector<LessonNumber> out;
  filled(markdown, [&](const LessonNumber& n) {
    out.push_back(n);
    return "";
  });
  return out;
}

std::vector<LessonNumber> quoted(const LessonStep& step) {
  std::string all = step.text + step.after;
  if (step.question) {
    all += step.question->text;
    for (const LessonQuestion::Choice& c : step.question->choices) all += c.text;
  }
  return gui::quoted(all);
}

}  // namespace nautilus::gui
