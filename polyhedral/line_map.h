// Texts with what each of their lines came from: what a viewer needs to show the same thing in
// several texts.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace nautilus {

struct LineOrigin {
  std::string statement;  // "" if none
  int node = -1;          // of the schedule tree; -1: none
  bool operator==(const LineOrigin&) const = default;
};
using LineMap = std::vector<LineOrigin>;  // one a line

struct MappedLines {
  std::string text;
  LineMap map;
};

// A text that grows; every line that ends while `at` is in force gets that origin.
class MappedText {
 public:
  MappedText& operator+=(const std::string& s) {
    for (const char c : s)
      if (c == '\n') lines_.push_back(now_);
    text_ += s;
    return *this;
  }
  void at(LineOrigin o = {}) { now_ = std::move(o); }
  MappedLines take() && { return {std::move(text_), std::move(lines_)}; }

 private:
  std::string text_;
  LineMap lines_;
  LineOrigin now_;
};

namespace poly {
struct Loop;
struct Schedule;
MappedLines to_lines(const Schedule& s);                     // to_text(s)
MappedLines to_lines(const std::shared_ptr<const Loop>& l);  // to_text(l)
}  // namespace poly

}  // namespace nautilus
