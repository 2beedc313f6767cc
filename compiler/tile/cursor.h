// Characters, names, numbers and delimited pieces of a text that is being parsed. The first error
// sticks: from then on everything reads as empty, so a parser need only look at the end.
#pragma once

#include <string>
#include <string_view>

#include "polyhedral/index_expr.h"

namespace nautilus::tile {

class Cursor {
 public:
  explicit Cursor(std::string_view s) : s_(s) {}

  bool failed() const { return !error_.empty(); }
  const std::string& error() const { return error_; }
  void fail(std::string why);                        // kept if it is the first
  std::string place(const std::string& file) const;  // "file:line:column" of what comes next

  bool at_end();
  // Space before a token is skipped. Words end where a name would.
  bool peek(std::string_view token);
  bool take(std::string_view token);
  void expect(std::string_view token);
  bool peek_word(std::string_view word);
  bool word(std::string_view word);
  void expect_word(std::string_view word);

  std::string name();    // an identifier, or any name between backquotes
  std::string quoted();  // "..." with \" \\ \n
  int64_t integer();
  double number();  // also nan, inf, -inf
  // Text up to (not including) the first of `stops` outside parentheses and backquotes.
  std::string_view until(std::string_view stops);
  IndexExpr index(std::string_view stops);
  Cond condition();  // in parentheses

 private:
  std::string_view s_;
  size_t at_ = 0;
  std::string error_;
  void space();
};

}  // namespace nautilus::tile
