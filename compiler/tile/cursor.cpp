// Reading text piece by piece.
#include "compiler/tile/cursor.h"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <limits>

namespace nautilus::tile {
namespace {

bool name_char(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) || c == '_' || c == '.' || c == '\'';
}

}  // namespace

void Cursor::space() {
  while (at_ < s_.size() && std::isspace(static_cast<unsigned char>(s_[at_]))) ++at_;
}

void Cursor::fail(std::string why) {
  if (!failed()) error_ = std::move(why);
}

std::string Cursor::place(const std::string& file) const {
  int line = 1, column = 1;
  for (size_t i = 0; i < at_ && i < s_.size(); ++i) {
    column = s_[i] == '\n' ? 1 : column + 1;
    line += s_[i] == '\n';
  }
  return (file.empty() ? "line " : file + ":") + std::to_string(line) + ":" +
         std::to_string(column);
}

bool Cursor::at_end() {
  space();
  return at_ >= s_.size();
}

bool Cursor::peek(std::string_view t) {
  space();
  return s_.substr(at_, t.size()) == t;
}

bool Cursor::take(std::string_view t) {
  if (failed() || !peek(t)) return false;
  at_ += t.size();
  return true;
}

void Cursor::expect(std::string_view t) {
  if (!take(t)) fail("expected '" + std::string(t) + "'");
}

bool Cursor::peek_word(std::string_view w) {
  return peek(w) && !(at_ + w.size() < s_.size() && name_char(s_[at_ + w.size()]));
}

bool Cursor::word(std::string_view w) {
  if (failed() || !peek_word(w)) return false;
  at_ += w.size();
  return true;
}

void Cursor::expect_word(std::string_view w) {
  if (!word(w)) fail("expected '" + std::string(w) + "'");
}

std::string Cursor::name() {
  space();
  std::string out;
  if (failed()) return out;
  if (at_ < s_.size() && s_[at_] == '`') {
    for (++at_; at_ < s_.size() && s_[at_] != '`'; ++at_) {
      if (s_[at_] == '\\' && at_ + 1 < s_.size()) ++at_;
      out += s_[at_];
    }
    if (at_ >= s_.size())
      fail("unterminated name");
    else
      ++at_;
    return out;
  }
  while (at_ < s_.size() && name_char(s_[at_])) out += s_[at_++];
  if (out.empty()) fail("expected a name");
  return out;
}

std::string Cursor::quoted() {
  space();
  std::string out;
  expect("\"");
  if (failed()) return out;
  for (; at_ < s_.size() && s_[at_] != '"'; ++at_) {
    if (s_[at_] == '\\' && at_ + 1 < s_.size()) {
      ++at_;
      out += s_[at_] == 'n' ? '\n' : s_[at_];
    } else {
      out += s_[at_];
    }
  }
  expect("\"");
  return out;
}

int64_t Cursor::integer() {
  space();
  int64_t v = 0;
  auto r = std::from_chars(s_.data() + at_, s_.data() + s_.size(), v);
  if (r.ec != std::errc()) {
    fail("expected an integer");
    return 0;
  }
  at_ = size_t(r.ptr - s_.data());
  return v;
}

double Cursor::number() {
  if (word("nan")) return std::numeric_limits<double>::quiet_NaN();
  if (word("inf")) return std::numeric_limits<double>::infinity();
  if (peek("-inf")) {
    take("-inf");
    return -std::numeric_limits<double>::infinity();
  }
  space();
  double v = 0;
  auto r = std::from_chars(s_.data() + at_, s_.data() + s_.size(), v);
  if (r.ec != std::errc()) {
    fail("expected a number");
    return 0;
  }
  at_ = size_t(r.ptr - s_.data());
  return v;
}

std::string_view Cursor::until(std::string_view stops) {
  const size_t first = at_;
  int depth = 0;
  bool quoted = false;
  for (; at_ < s_.size(); ++at_) {
    const char c = s_[at_];
    if (quoted) {
      if (c == '\\')
        ++at_;
      else if (c == '`')
        quoted = false;
      continue;
    }
    if (c == '`') {
      quoted = true;
      continue;
    }
    if (depth == 0 && stops.find(c) != std::string_view::npos) break;
    depth += (c == '(') - (c == ')');
  }
  at_ = std::min(at_, s_.size());
  if (at_ == s_.size()) fail("unexpected end");
  return s_.substr(first, at_ - first);
}

IndexExpr Cursor::index(std::string_view stops) {
  if (failed()) return {};
  auto e = parse_index(until(stops));
  if (failed()) return {};
  if (!e) {
    fail("index expression: " + e.error().why);
    return {};
  }
  return *e;
}

Cond Cursor::condition() {
  expect("(");
  if (failed()) return {};
  auto c = parse_cond(until(")"));
  if (failed()) return {};
  if (!c) {
    fail("condition: " + c.error().why);
    return {};
  }
  expect(")");
  return *c;
}

}  // namespace nautilus::tile
