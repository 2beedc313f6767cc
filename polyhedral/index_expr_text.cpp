// Text form of index expressions and conditions.
#include <cctype>
#include <limits>

#include "polyhedral/index_expr.h"

namespace nautilus {
namespace {

using Kind = IndexExpr::Kind;

bool name_start(char c) { return std::isalpha(static_cast<unsigned char>(c)) || c == '_'; }
bool name_char(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) || c == '_' || c == '.' || c == '\'';
}
bool reserved(std::string_view s) {
  return s == "floor" || s == "mod" || s == "min" || s == "max" || s == "and" || s == "or" ||
         s == "true" || s == "false";
}

// Names that are not plain identifiers are printed between backquotes.
std::string quoted(const std::string& name) {
  bool plain = !name.empty() && name_start(name[0]) && !reserved(name);
  for (char c : name) plain = plain && name_char(c);
  if (plain) return name;
  std::string out = "`";
  for (char c : name) {
    if (c == '`' || c == '\\') out += '\\';
    out += c;
  }
  return out + "`";
}

std::string text(const IndexExpr& e);
std::string magnitude_text(int64_t c) {
  return c < 0 ? std::to_string(uint64_t(0) - uint64_t(c)) : std::to_string(c);
}

std::string text(const IndexExpr& e) {
  auto in_parens = [](const IndexExpr& a) {
    return a.kind() == Kind::Add || (a.kind() == Kind::Mul && a.constant() < 0) ||
                   (a.is_const() && a.constant() < 0)
               ? "(" + text(a) + ")"
               : text(a);
  };
  switch (e.kind()) {
    case Kind::Const:
      return std::to_string(e.constant());
    case Kind::Var:
      return quoted(e.name());
    case Kind::Add: {
      std::string s;
      for (const IndexExpr& a : e.args()) {
        bool negative = (a.kind() == Kind::Mul || a.is_const()) && a.constant() < 0;
        if (!s.empty())
          s += negative ? " - " : " + ";
        else if (negative)
          s += "-";
        if (!negative)
          s += text(a);
        else if (a.is_const())
          s += magnitude_text(a.constant());
        else if (a.constant() == -1)
          s += in_parens(a.args()[0]);
        else
          s += magnitude_text(a.constant()) + "*" + in_parens(a.args()[0]);
      }
      return s;
    }
    case Kind::Mul:
      return (e.constant() == -1 ? "-" : std::to_string(e.constant()) + "*") +
             in_parens(e.args()[0]);
    case Kind::FloorDiv:
      return "floor(" + in_parens(e.args()[0]) + "/" + std::to_string(e.constant()) + ")";
    case Kind::Mod:
      return "mod(" + text(e.args()[0]) + ", " + std::to_string(e.constant()) + ")";
    case Kind::Min:
      return "min(" + text(e.args()[0]) + ", " + text(e.args()[1]) + ")";
    case Kind::Max:
      return "max(" + text(e.args()[0]) + ", " + text(e.args()[1]) + ")";
  }
  return "0";
}

// lhs <= rhs: negative terms on the left; a negative constant only if nothing else stands there.
std::string text(const Cond::Atom& a) {
  IndexExpr left, right;
  int64_t constant = 0;
  auto place = [&](const IndexExpr& t) {
    if (t.is_const())
      constant = t.constant();
    else if (t.kind() == Kind::Mul && t.constant() < 0)
      left = left + t * -1;
    else
      right = right + t;
  };
  if (a.expr.kind() == Kind::Add)
    for (const IndexExpr& t : a.expr.args()) place(t);
  else
    place(a.expr);
  if (constant < 0 && left.is_const())
    left = left + IndexExpr(constant) * -1;
  else
    right = right + IndexExpr(constant);
  return text(left) + (a.equality ? " = " : " <= ") + text(right);
}

// Recursive descent; the first error stops everything.
class IndexParser {
 public:
  explicit IndexParser(std::string_view s) : s_(s) {}

  Expected<IndexExpr> whole_index() {
    IndexExpr e = sum();
    end();
    if (failed()) return refusal("index expression");
    return e;
  }
  Expected<Cond> whole_cond() {
    Cond c;
    do {
      Cond::Conj conj;
      bool never = false;
      do {
        if (word("true")) continue;
        if (word("false"))
          never = true;
        else
          comparison(conj);
      } while (!failed() && word("and"));
      if (!never) c.any.push_back(std::move(conj));
    } while (!failed() && word("or"));
    end();
    if (failed()) return refusal("condition");
    return c;
  }

 private:
  static constexpr int kMaxDepth = 200, kMaxTerms = 1000;
  std::string_view s_;
  size_t at_ = 0;
  int depth_ = 0;
  std::string error_;

  bool failed() const { return !error_.empty(); }
  void fail(const std::string& why) {
    if (error_.empty()) error_ = why;
  }
  Refusal refusal(const std::string& what) const {
    return Refusal{"read " + what, "column " + std::to_string(at_ + 1), error_, ""};
  }
  void space() {
    while (at_ < s_.size() && std::isspace(static_cast<unsigned char>(s_[at_]))) ++at_;
  }
  bool peek(char c) {
    space();
    return at_ < s_.size() && s_[at_] == c;
  }
  bool take(char c) {
    if (!peek(c)) return false;
    ++at_;
    return true;
  }
  void expect(char c) {
    if (!take(c)) fail(std::string("expected '") + c + "'");
  }
  void end() {
    space();
    if (at_ != s_.size()) fail("unexpected text");
  }
  // Takes this word if it stands here as a whole name.
  bool word(std::string_view w) {
    space();
    if (s_.substr(at_, w.size()) != w) return false;
    if (at_ + w.size() < s_.size() && name_char(s_[at_ + w.size()])) return false;
    at_ += w.size();
    return true;
  }
  int64_t integer() {
    space();
    bool negative = take('-');
    space();
    uint64_t v = 0;
    size_t first = at_;
    const uint64_t limit = uint64_t(std::numeric_limits<int64_t>::max()) + (negative ? 1 : 0);
    for (; at_ < s_.size() && std::isdigit(static_cast<unsigned char>(s_[at_])); ++at_) {
      uint64_t d = uint64_t(s_[at_] - '0');
      if (v > (limit - d) / 10) {
        fail("integer out of range");
        return 0;
      }
      v = v * 10 + d;
    }
    if (at_ == first) fail("expected an integer");
    return negative ? int64_t(uint64_t(0) - v) : int64_t(v);
  }
  int64_t positive() {
    int64_t d = integer();
    if (!failed() && d <= 0) fail("expected a positive integer");
    return failed() ? 1 : d;
  }
  IndexExpr sum() {
    IndexExpr e = term();
    for (int n = 0; !failed(); ++n) {
      if (n >= kMaxTerms)
        fail("too many terms");
      else if (take('+'))
        e = e + term();
      else if (take('-'))
        e = e - term();
      else
        break;
    }
    return e;
  }
  IndexExpr term() {
    IndexExpr e = factor();
    while (!failed() && take('*')) {
      IndexExpr f = factor();
      if (f.is_const())
        e = e * f.constant();
      else if (e.is_const())
        e = f * e.constant();
      else
        fail("a product of two variables is not affine");
    }
    return e;
  }
  IndexExpr factor() {
    space();
    if (failed() || at_ >= s_.size()) {
      fail("unexpected end");
      return {};
    }
    if (depth_ >= kMaxDepth) {
      fail("nested too deeply");
      return {};
    }
    ++depth_;
    IndexExpr e = unguarded_factor();
    --depth_;
    return e;
  }
  IndexExpr unguarded_factor() {
    char c = s_[at_];
    if (std::isdigit(static_cast<unsigned char>(c))) return integer();
    if (c == '-') {
      if (at_ + 1 < s_.size() && std::isdigit(static_cast<unsigned char>(s_[at_ + 1])))
        return integer();
      ++at_;
      return factor() * -1;
    }
    if (take('(')) {
      IndexExpr e = sum();
      expect(')');
      return e;
    }
    if (c == '`') return IndexExpr::var(quoted_name());
    if (!name_start(c)) {
      fail("expected a number, a name or '('");
      return {};
    }
    size_t first = at_;
    while (at_ < s_.size() && name_char(s_[at_])) ++at_;
    std::string name(s_.substr(first, at_ - first));
    if (!reserved(name)) return IndexExpr::var(std::move(name));
    return call(name);
  }
  std::string quoted_name() {
    std::string name;
    for (++at_; at_ < s_.size(); ++at_) {
      if (s_[at_] == '`') {
        ++at_;
        return name;
      }
      if (s_[at_] == '\\' && at_ + 1 < s_.size()) ++at_;
      name += s_[at_];
    }
    fail("unterminated name");
    return name;
  }
  IndexExpr call(const std::string& name) {
    if (name != "floor" && name != "mod" && name != "min" && name != "max") {
      fail("unexpected word '" + name + "'");
      return {};
    }
    expect('(');
    if (failed()) return {};
    IndexExpr result;
    if (name == "floor") {
      IndexExpr a = term();
      expect('/');
      int64_t d = failed() ? 1 : positive();
      if (!failed()) result = IndexExpr::floordiv(a, d);
    } else if (name == "mod") {
      IndexExpr a = sum();
      expect(',');
      int64_t d = failed() ? 1 : positive();
      if (!failed()) result = IndexExpr::mod(a, d);
    } else {
      IndexExpr a = sum();
      expect(',');
      IndexExpr b = failed() ? IndexExpr() : sum();
      if (!failed()) result = name == "min" ? IndexExpr::min(a, b) : IndexExpr::max(a, b);
    }
    expect(')');
    return result;
  }
  // a <= b, a < b, a >= b, a > b, a = b, a == b, and chains such as 0 <= j < n.
  void comparison(Cond::Conj& out) {
    IndexExpr a = sum();
    bool any = false;
    while (!failed()) {
      bool less = peek('<'), greater = !less && peek('>'), equal = !less && !greater && peek('=');
      if (!less && !greater && !equal) break;
      ++at_;
      bool or_equal = at_ < s_.size() && s_[at_] == '=';
      if (or_equal) ++at_;
      IndexExpr b = sum();
      if (failed()) return;
      IndexExpr d = greater ? a - b : b - a;
      if (equal)
        out.push_back({d, true});
      else
        out.push_back({or_equal ? d : d - IndexExpr(1), false});
      a = b;
      any = true;
    }
    if (!any) fail("expected a comparison");
  }
};

}  // namespace

std::string to_string(const IndexExpr& e) { return text(e); }

std::string to_string(const Cond& c) {
  if (c.any.empty()) return "false";
  std::string s;
  for (const Cond::Conj& conj : c.any) {
    if (!s.empty()) s += " or ";
    if (conj.empty()) s += "true";
    for (size_t i = 0; i < conj.size(); ++i) s += (i ? " and " : "") + text(conj[i]);
  }
  return s;
}

Expected<IndexExpr> parse_index(std::string_view text) { return IndexParser(text).whole_index(); }
Expected<Cond> parse_cond(std::string_view text) { return IndexParser(text).whole_cond(); }

}  // namespace nautilus
