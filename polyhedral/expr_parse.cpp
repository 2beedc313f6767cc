// Recursive-descent reader of the text form. Takes arbitrary bytes; recursion and result depth are
// bounded.
#include <charconv>
#include <cmath>
#include <limits>

#include "polyhedral/expr.h"

namespace nautilus {
namespace {

std::string in_quotes(std::string_view s) {
  std::string out = "'";
  for (char c : s.substr(0, 24)) {
    const auto u = static_cast<unsigned char>(c);
    constexpr char hex[] = "0123456789abcdef";
    if (u >= 0x20 && u < 0x7f) {
      out += c;
    } else {
      out += std::string("\\x") + hex[u >> 4] + hex[u & 15];
    }
  }
  return out + "'";
}

bool name_head(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }
bool digit(char c) { return c >= '0' && c <= '9'; }

constexpr uint32_t kMaxBrackets = 300;

class ExprParser {
 public:
  explicit ExprParser(std::string_view text) : text_(text) {}

  Expected<Expr> run() {
    Expr e = disjunction();
    skip_space();
    if (!failed_ && at_ != text_.size()) fail("expected an operator or the end, found " + found());
    if (failed_) return refusal_;
    return e;
  }

 private:
  std::string_view text_;
  size_t at_ = 0;
  uint32_t nesting_ = 0, brackets_ = 0;
  bool failed_ = false;
  Refusal refusal_;

  // After the first failure every rule returns this at once; the value is never used.
  Expr fail(std::string why, std::string suggest = "") {
    if (!failed_) {
      refusal_ = {"read expression", "column " + std::to_string(at_ + 1), std::move(why),
                  std::move(suggest)};
      failed_ = true;
    }
    return Expr::constant(0);
  }

  std::string found() const {
    return at_ < text_.size() ? in_quotes(text_.substr(at_, 1))
                              : std::string("the end of the text");
  }

  void skip_space() {
    while (at_ < text_.size() &&
           (text_[at_] == ' ' || text_[at_] == '\t' || text_[at_] == '\n' || text_[at_] == '\r'))
      ++at_;
  }

  bool eat(std::string_view token) {
    skip_space();
    if (text_.substr(at_, token.size()) != token) return false;
    at_ += token.size();
    return true;
  }

  Expr limited(Expr e) {
    if (!failed_ && e->depth > kMaxExprDepth)
      return fail("the expression is nested deeper than " + std::to_string(kMaxExprDepth),
                  "split it into several definitions");
    return e;
  }

  Expr binary(Op op, Expr a, Expr b) {
    if (failed_) return a;
    return limited(Expr::make(op, {std::move(a), std::move(b)}));
  }

  // The rule inside brackets: one level takes eight stack frames, so it has a limit of its own.
  Expr disjunction() {
    if (brackets_ > kMaxBrackets)
      return fail("brackets are nested deeper than " + std::to_string(kMaxBrackets),
                  "split it into several definitions");
    ++brackets_;
    Expr e = conjunction();
    while (!failed_ && eat("||")) e = binary(Op::Or, e, conjunction());
    --brackets_;
    return e;
  }

  Expr conjunction() {
    Expr e = comparison();
    while (!failed_ && eat("&&")) e = binary(Op::And, e, comparison());
    return e;
  }

  Expr comparison() {
    Expr e = sum();
    if (failed_) return e;
    if (eat("<=")) return binary(Op::Le, e, sum());
    if (eat(">=")) return swapped(Op::Le, e, sum());
    if (eat("==")) return binary(Op::Eq, e, sum());
    if (eat("!=")) return binary(Op::Ne, e, sum());
    if (eat("<")) return binary(Op::Lt, e, sum());
    if (eat(">")) return swapped(Op::Lt, e, sum());
    return e;
  }

  Expr swapped(Op op, Expr a, Expr b) { return binary(op, std::move(b), std::move(a)); }

  Expr sum() {
    Expr e = product();
    while (!failed_) {
      if (eat("+")) {
        e = binary(Op::Add, e, product());
      } else if (eat("-")) {
        e = binary(Op::Sub, e, product());
      } else {
        break;
      }
    }
    return e;
  }

  Expr product() {
    Expr e = unary();
    while (!failed_) {
      if (eat("*")) {
        e = binary(Op::Mul, e, unary());
      } else if (eat("/")) {
        e = binary(Op::Div, e, unary());
      } else {
        break;
      }
    }
    return e;
  }

  // "-2" is a constant, "-(2)" and "-x" negate.
  Expr unary() {
    if (nesting_ >= kMaxExprDepth)
      return fail("the expression is nested deeper than " + std::to_string(kMaxExprDepth),
                  "split it into several definitions");
    ++nesting_;
    Expr e = unary_inner();
    --nesting_;
    return e;
  }

  Expr unary_inner() {
    if (!eat("-")) return primary();
    skip_space();
    if (at_ < text_.size() && (digit(text_[at_]) || text_[at_] == '.')) return number(true);
    if (keyword("inf") || keyword("nan")) return number(true);
    Expr e = unary();
    return failed_ ? e : limited(-e);
  }

  bool keyword(std::string_view word) const {
    if (text_.substr(at_, word.size()) != word) return false;
    const size_t end = at_ + word.size();
    return end >= text_.size() || !(name_head(text_[end]) || digit(text_[end]) ||
                                    text_[end] == '\'' || text_[end] == '.' || text_[end] == '(');
  }

  Expr primary() {
    skip_space();
    if (failed_) return Expr::constant(0);
    if (at_ >= text_.size()) return fail("expected a value, found the end of the text");
    const char c = text_[at_];
    if (c == '(') return parenthesized();
    if (digit(c) || c == '.' || keyword("inf") || keyword("nan")) return number(false);
    if (c == '$' || c == '#') return numbered(c);
    if (c == '@') {
      ++at_;
      std::string n = name();
      return failed_ ? Expr::constant(0) : Expr::param(std::move(n));
    }
    if (name_head(c)) return named();
    if (c == '`') {
      std::string n = name();
      const Type t = type_suffix();
      return failed_ ? Expr::constant(0) : Expr::var(std::move(n), t);
    }
    return fail("expected a value, found " + found());
  }

  Expr parenthesized() {
    ++at_;
    Expr e = disjunction();
    if (!failed_ && !eat(")")) return fail("expected ')', found " + found());
    return e;
  }

  // Decimal or 0x hexadecimal floating point, inf or nan, then an optional type.
  Expr number(bool negative) {
    double v = 0;
    if (keyword("inf") || keyword("nan")) {
      v = text_[at_] == 'i' ? std::numeric_limits<double>::infinity()
                            : std::numeric_limits<double>::quiet_NaN();
      at_ += 3;
    } else {
      const bool hex = text_.substr(at_, 2) == "0x";
      const char* first = text_.data() + at_ + (hex ? 2 : 0);
      const auto format = hex ? std::chars_format::hex : std::chars_format::general;
      const auto r = std::from_chars(first, text_.data() + text_.size(), v, format);
      if (r.ec == std::errc::result_out_of_range) return fail("the number does not fit a double");
      if (r.ec != std::errc()) return fail("expected a number, found " + found());
      at_ = static_cast<size_t>(r.ptr - text_.data());
    }
    const Type t = type_suffix();
    return failed_ ? Expr::constant(0) : Expr::constant(negative ? -v : v, t);
  }

  Expr numbered(char kind) {
    ++at_;
    int k = 0;
    const auto r = std::from_chars(text_.data() + at_, text_.data() + text_.size(), k);
    if (r.ec != std::errc() || k < 0)
      return fail("expected a number after '" + std::string(1, kind) + "'");
    at_ = static_cast<size_t>(r.ptr - text_.data());
    if (kind == '#') return Expr::index(k);
    const Type t = type_suffix();
    return failed_ ? Expr::constant(0) : Expr::read(k, t);
  }

  std::string identifier() {
    const size_t first = at_;
    while (at_ < text_.size() &&
           (name_head(text_[at_]) || digit(text_[at_]) || text_[at_] == '\'' || text_[at_] == '.'))
      ++at_;
    return std::string(text_.substr(first, at_ - first));
  }

  std::string name() {
    if (at_ < text_.size() && name_head(text_[at_])) return identifier();
    if (at_ >= text_.size() || text_[at_] != '`') {
      fail("expected a name, found " + found());
      return "";
    }
    std::string out;
    for (++at_; at_ < text_.size() && text_[at_] != '`'; ++at_) {
      if (text_[at_] == '\\' && at_ + 1 < text_.size()) ++at_;
      out += text_[at_];
    }
    if (at_ >= text_.size()) {
      fail("expected '`' after a name, found the end of the text");
    } else {
      ++at_;
    }
    return out;
  }

  Type type_suffix() {
    if (failed_ || at_ >= text_.size() || text_[at_] != ':') return Type::F32;
    ++at_;
    const size_t first = at_;
    const std::string word = identifier();
    if (auto t = type_from_name(word)) return *t;
    at_ = first;
    fail("there is no type " + in_quotes(word), "bool i8 i32 e4m3 e5m2 f16 bf16 f32 f64");
    return Type::F32;
  }

  // A variable, or a call of a function or cast when '(' follows.
  Expr named() {
    const size_t first = at_;
    std::string word = identifier();
    if (at_ >= text_.size() || text_[at_] != '(') {
      const Type t = type_suffix();
      return failed_ ? Expr::constant(0) : Expr::var(std::move(word), t);
    }
    const auto cast_to = type_from_name(word);
    const auto op = op_from_name(word);
    if (!cast_to && (!op || op_arity(*op) == 0 || *op == Op::Cast)) {
      at_ = first;
      return fail("there is no function " + in_quotes(word),
                  "exp, sqrt, max, select, ... or a type as a cast");
    }
    ++at_;
    std::vector<Expr> args;
    do {
      args.push_back(disjunction());
    } while (!failed_ && eat(","));
    if (!failed_ && !eat(")")) return fail("expected ')' or ',', found " + found());
    if (failed_) return args[0];
    const size_t want = cast_to ? 1 : static_cast<size_t>(op_arity(*op));
    if (args.size() != want)
      return fail(word + " takes " + std::to_string(want) + " arguments, not " +
                  std::to_string(args.size()));
    return limited(cast_to ? Expr::cast(args[0], *cast_to) : Expr::make(*op, std::move(args)));
  }
};

}  // namespace

Expected<Expr> parse_expr(std::string_view text) { return ExprParser(text).run(); }

}  // namespace nautilus
